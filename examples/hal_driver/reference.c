#include "model.h"

#include <math.h>

static void matmul(float *c, const float *a, const float *b, uint32_t rows, uint32_t n, uint32_t k)
{
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t column = 0; column < n; ++column) {
      double sum = 0;
      for (uint32_t i = 0; i < k; ++i)
        sum += (double)a[row * k + i] * (double)b[i * n + column];
      c[row * n + column] = (float)sum;
    }
}

static void softmax(float *out, const float *x, uint32_t rows, uint32_t n)
{
  for (uint32_t row = 0; row < rows; ++row, x += n, out += n) {
    double most = x[0], sum = 0;
    for (uint32_t i = 1; i < n; ++i)
      most = fmax(most, (double)x[i]);
    for (uint32_t i = 0; i < n; ++i)
      sum += exp2((double)x[i] - most);
    for (uint32_t i = 0; i < n; ++i)
      out[i] = (float)floor(256 * exp2((double)x[i] - most) / sum + 0.5);
  }
}

static void layernorm(float *out, const float *x, const float *weight, const float *bias,
                      uint32_t rows, uint32_t n)
{
  for (uint32_t row = 0; row < rows; ++row, x += n, out += n) {
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; ++i)
      sum += (double)x[i];
    const double mean = sum / n;
    for (uint32_t i = 0; i < n; ++i)
      squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    const double deviation = sqrt(squares / n + 0x1p-10);
    for (uint32_t i = 0; i < n; ++i)
      out[i] = (float)(((double)x[i] - mean) / deviation * (double)weight[i] + (double)bias[i]);
  }
}

void model_reference(const model_data_t *data, float *out)
{
  static float hidden[MODEL_ROWS * MODEL_COLUMNS], shares[MODEL_ROWS * MODEL_COLUMNS];
  matmul(hidden, data->x, data->w1, MODEL_ROWS, MODEL_COLUMNS, MODEL_INNER);
  softmax(shares, hidden, MODEL_ROWS, MODEL_COLUMNS);
  matmul(hidden, shares, data->w2, MODEL_ROWS, MODEL_COLUMNS, MODEL_COLUMNS);
  layernorm(out, hidden, data->weight, data->bias, MODEL_ROWS, MODEL_COLUMNS);
}
