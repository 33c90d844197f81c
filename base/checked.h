/* Arithmetic that says when it overflows. Internal; header only. Each returns false, and leaves the
 * result 0, on overflow. */
#ifndef RAWHAL_BASE_CHECKED_H
#define RAWHAL_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool checked_add_u64(uint64_t a, uint64_t b, uint64_t *sum)
{
  bool overflow = __builtin_add_overflow(a, b, sum);
  if (overflow)
    *sum = 0;
  return !overflow;
}

static inline bool checked_mul_u64(uint64_t a, uint64_t b, uint64_t *product)
{
  bool overflow = __builtin_mul_overflow(a, b, product);
  if (overflow)
    *product = 0;
  return !overflow;
}

/* Rounds up to a multiple of `alignment`, a power of two. */
static inline bool checked_align_u64(uint64_t value, uint64_t alignment, uint64_t *aligned)
{
  bool fits = checked_add_u64(value, alignment - 1, aligned);
  *aligned &= ~(alignment - 1);
  return fits;
}

/* Does [offset, offset + size) lie within `total` bytes? Never overflows. */
static inline bool range_within(uint64_t offset, uint64_t size, uint64_t total)
{
  return offset <= total && size <= total - offset;
}

static inline uint64_t least_u64(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

static inline bool is_power_of_two(uint64_t value)
{
  return value && !(value & (value - 1));
}

#endif
