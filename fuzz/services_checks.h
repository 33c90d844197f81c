/* Input of the services' target, and its parts with a state: hostcalls and the heap. */
#ifndef RAWHAL_FUZZ_SERVICES_CHECKS_H
#define RAWHAL_FUZZ_SERVICES_CHECKS_H

#include <stddef.h>
#include <stdint.h>

#define CHECK(condition)                                                                           \
  do                                                                                               \
    if (!(condition))                                                                              \
      __builtin_trap();                                                                            \
  while (0)

/* Zeros stand behind its end. */
typedef struct input {
  const uint8_t *data;
  size_t size;
} input_t;

/* Takes up to `size` bytes off, and gives where they are. */
const uint8_t *take_bytes(input_t *input, size_t size);
uint8_t take(input_t *input);
/* Little-endian, `bytes` of them. */
uint64_t take_number(input_t *input, unsigned bytes);

/* Memory of just that size. */
void *copy_exactly(const void *bytes, size_t size);

void check_hostcalls(input_t *input);
void check_heap(input_t *input);

#endif
