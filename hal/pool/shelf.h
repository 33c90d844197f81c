/* Shelves: what a queue has freed, as it was allocated, for the next of its class. Internal.
 *
 * A shelf is a stack of blocks that any thread may take from and put on without a lock: a word with
 * the number of the block on top and a count of changes, so that one that was taken and put back
 * meanwhile is not mistaken for what it was. Blocks are never given back to the host while there
 * is a pool, and whoever looks at the one below a top that is gone has only looked in vain. */
#ifndef RAWHAL_HAL_POOL_SHELF_H
#define RAWHAL_HAL_POOL_SHELF_H

#include "hal/pool/block.h"

#define SHELF_NUMBER ((UINT64_C(1) << BLOCK_NUMBER_BITS) - 1)

typedef _Atomic uint64_t pool_shelf_t;

/* The next change, with another number. */
static inline uint64_t shelf_next(uint64_t top, uint64_t number)
{
  return ((top | SHELF_NUMBER) + 1) | number;
}

/* Release: who takes the block sees what was written to it. */
static inline void shelf_put(pool_shelf_t *shelf, pool_block_t *block)
{
  uint64_t top = atomic_load_explicit(shelf, memory_order_relaxed);
  do
    atomic_store_explicit(&block->below, top & SHELF_NUMBER, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(shelf, &top, shelf_next(top, block->number)));
}

/* NULL: there is none. */
static inline pool_block_t *shelf_take(pool_shelf_t *shelf, pool_blocks_t *blocks)
{
  uint64_t top = atomic_load_explicit(shelf, memory_order_acquire);
  pool_block_t *block;
  do {
    if (!(top & SHELF_NUMBER))
      return NULL;
    block = pool_blocks_of(blocks, top);
  } while (!atomic_compare_exchange_weak(
      shelf, &top, shelf_next(top, atomic_load_explicit(&block->below, memory_order_relaxed))));
  return block;
}

/* All of them, one below the other; 0: there are none. */
static inline uint64_t shelf_clear(pool_shelf_t *shelf)
{
  uint64_t top = atomic_load_explicit(shelf, memory_order_acquire);
  while (top & SHELF_NUMBER && !atomic_compare_exchange_weak(shelf, &top, shelf_next(top, 0)))
    continue;
  return top & SHELF_NUMBER;
}

#endif
