#include "hal/pool/index.h"

void pool_index_add(pool_index_t *index, pool_block_t *block)
{
  const uint32_t class = pool_class(block->size);
  pool_block_t *first = index->first[class];
  block->index = index;
  block->previous = NULL;
  block->next = first;
  if (first)
    first->previous = block;
  index->first[class] = block;
  index->bits[class / 64] |= 1ull << class % 64;
  index->bytes += block->size;
}

void pool_index_remove(pool_block_t *block)
{
  pool_index_t *index = block->index;
  const uint32_t class = pool_class(block->size);
  if (block->next)
    block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else if (!(index->first[class] = block->next))
    index->bits[class / 64] &= ~(1ull << class % 64);
  block->index = NULL;
  index->bytes -= block->size;
}

pool_block_t *pool_index_find(const pool_index_t *index, uint64_t size)
{
  const uint32_t class = pool_class(size);
  uint64_t bits = index->bits[class / 64] & ~0ull << class % 64;
  for (uint32_t word = class / 64;; bits = index->bits[word]) {
    if (bits)
      return index->first[word * 64 + (uint32_t)__builtin_ctzll(bits)];
    if (++word == POOL_WORDS)
      return NULL;
  }
}
