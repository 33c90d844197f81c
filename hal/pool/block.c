#include "hal/pool/block.h"

/* The next chunk, all of whose descriptors are free. */
static bool grow(pool_blocks_t *blocks, const allocator_t *allocator)
{
  const uint32_t most = 1u << BLOCK_PLACE_BITS;
  uint32_t chunk = 0, size = BLOCK_FIRST_CHUNK;
  for (; chunk < BLOCK_CHUNKS; ++chunk, size = size < most ? 2 * size : most)
    if (!atomic_load_explicit(&blocks->sizes[chunk], memory_order_relaxed))
      break;
  pool_block_t *at = chunk < BLOCK_CHUNKS ? allocate_zeroed(allocator, size, sizeof(*at)) : NULL;
  if (!at)
    return false;
  for (uint32_t i = size; i-- > 0;) {
    at[i].number = at[i].last = (uint64_t)chunk << BLOCK_PLACE_BITS | i;
    if (at[i].last) /* 0 is none */
      pool_blocks_give(blocks, &at[i]);
  }
  atomic_store_explicit(&blocks->chunks[chunk], at, memory_order_release);
  atomic_store_explicit(&blocks->sizes[chunk], size, memory_order_release);
  return true;
}

bool pool_blocks_reserve(pool_blocks_t *blocks, uint32_t count, const allocator_t *allocator)
{
  while (blocks->free_count < count)
    if (!grow(blocks, allocator))
      return false;
  return true;
}

pool_block_t *pool_blocks_take(pool_blocks_t *blocks)
{
  pool_block_t *block = blocks->free;
  blocks->free = block->next;
  --blocks->free_count;
  return block;
}

void pool_blocks_give(pool_blocks_t *blocks, pool_block_t *block)
{
  block->next = blocks->free;
  blocks->free = block;
  ++blocks->free_count;
}

void pool_blocks_free(pool_blocks_t *blocks, const allocator_t *allocator)
{
  for (uint32_t i = 0; i < BLOCK_CHUNKS; ++i)
    allocate_free(allocator, atomic_load_explicit(&blocks->chunks[i], memory_order_relaxed));
}
