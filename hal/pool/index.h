/* Free blocks by size: a list for each class of sizes, and a bit for each list that has any.
 * Internal.
 *
 * Sizes are multiples of POOL_UNIT. A class has the sizes from its own up to the next one's, which
 * is at most an eighth more; what is asked for is rounded up to a class, so that any block of that
 * class or a higher one is large enough, and finding one takes as many steps as there are words of
 * bits. */
#ifndef RAWHAL_HAL_POOL_INDEX_H
#define RAWHAL_HAL_POOL_INDEX_H

#include "hal/pool/block.h"

enum {
  POOL_UNIT_BITS = 8,
  POOL_UNIT = 1 << POOL_UNIT_BITS,
  POOL_SIZE_BITS = 46, /* the most that may be asked for */
  POOL_CLASSES = (POOL_SIZE_BITS - POOL_UNIT_BITS - 1) * 8,
  POOL_WORDS = (POOL_CLASSES + 63) / 64,
};

struct pool_index {
  uint64_t bits[POOL_WORDS];
  pool_block_t *first[POOL_CLASSES];
  uint64_t bytes; /* of all its blocks */
};

/* The class of a size of at least a unit: the highest that is not above it. */
static inline uint32_t pool_class(uint64_t size)
{
  const uint64_t units = size >> POOL_UNIT_BITS;
  if (units < 16)
    return (uint32_t)units;
  const uint32_t log = 63u - (uint32_t)__builtin_clzll(units);
  return (log - 2) * 8 + (uint32_t)(units >> (log - 3) & 7);
}

/* That of what is asked for, at most 2^POOL_SIZE_BITS: the lowest that is not below it. */
static inline uint32_t pool_class_above(uint64_t bytes)
{
  const uint64_t units = (bytes + POOL_UNIT - 1) >> POOL_UNIT_BITS;
  const uint32_t shift = units < 16 ? 0 : 60u - (uint32_t)__builtin_clzll(units);
  return shift * 8 + (uint32_t)((units + (1ull << shift) - 1) >> shift);
}

static inline uint64_t pool_class_size(uint32_t class)
{
  const uint32_t shift = class < 16 ? 0 : class / 8 - 1;
  return ((uint64_t)(class - shift * 8) << shift) << POOL_UNIT_BITS;
}

/* What is asked for, rounded up to a class. */
static inline uint64_t pool_round(uint64_t bytes)
{
  return pool_class_size(pool_class_above(bytes));
}

/* The caller holds the pool's lock, here and below. */
void pool_index_add(pool_index_t *index, pool_block_t *block);
void pool_index_remove(pool_block_t *block); /* from the one that has it */
/* One of at least `size` bytes, which is a class's; NULL: there is none. It stays in the index. */
pool_block_t *pool_index_find(const pool_index_t *index, uint64_t size);

#endif
