/* A small captured model, and what it should compute:
 *
 *     out = layernorm(softmax(x * w1) * w2) * weight + bias
 *
 * Numbers are chosen so that every sum is exact: any order of additions gives the same bits. */
#ifndef EXAMPLE_MODEL_H
#define EXAMPLE_MODEL_H

#include <stdint.h>

enum { MODEL_ROWS = 64, MODEL_INNER = 16, MODEL_COLUMNS = 64 };

/* One step's input, and the weights. */
typedef struct model_data {
  float x[MODEL_ROWS * MODEL_INNER]; /* -1, 0 or 1, as w1 and w2 */
  float w1[MODEL_INNER * MODEL_COLUMNS];
  float w2[MODEL_COLUMNS * MODEL_COLUMNS];
  float weight[MODEL_COLUMNS]; /* powers of 2 */
  float bias[MODEL_COLUMNS];
} model_data_t;

/* `out` has MODEL_ROWS * MODEL_COLUMNS numbers. */
void model_reference(const model_data_t *data, float *out);

#endif
