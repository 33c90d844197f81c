/* The input of a fuzz target, byte by byte: zeros behind its end. */
#ifndef RAWHAL_FUZZ_INPUT_H
#define RAWHAL_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

typedef struct input {
  const uint8_t *data;
  size_t size;
} input_t;

static inline uint8_t take(input_t *input)
{
  if (!input->size)
    return 0;
  --input->size;
  return *input->data++;
}

#endif
