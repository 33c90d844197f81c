/* Blocks that are free: dividing them, and joining neighbours. */
#include "hal/pool/internal.h"

static void line_enter(pool_lane_t *lane, pool_block_t *block)
{
  block->lane = lane;
  block->younger = NULL;
  block->older = lane->youngest;
  *(lane->youngest ? &lane->youngest->younger : &lane->oldest) = block;
  lane->youngest = block;
}

static void line_leave(pool_block_t *block)
{
  pool_lane_t *lane = block->lane;
  *(block->older ? &block->older->younger : &lane->oldest) = block->younger;
  *(block->younger ? &block->younger->older : &lane->youngest) = block->older;
  block->lane = NULL;
}

void pool_heap_remove(pool_block_t *block)
{
  pool_index_remove(block);
  if (block->lane)
    line_leave(block);
}

/* The second of two neighbours becomes part of the first. */
static void join(rawhal_pool_t *pool, pool_block_t *first, pool_block_t *second)
{
  first->size += second->size;
  first->ticket = second->ticket > first->ticket ? second->ticket : first->ticket;
  first->after = second->after;
  if (second->after)
    second->after->before = first;
  pool_blocks_give(&pool->blocks, second);
}

void pool_heap_free(rawhal_pool_t *pool, pool_block_t *block, pool_index_t *index,
                    pool_lane_t *lane)
{
  pool_block_t *before = block->before, *after = block->after;
  if (!lane)
    block->ticket = 0;
  if (after && after->index == index) {
    pool_heap_remove(after);
    join(pool, block, after);
  }
  if (before && before->index == index) {
    pool_heap_remove(before);
    join(pool, before, block);
    block = before;
  }
  pool_index_add(index, block);
  if (lane)
    line_enter(lane, block);
}

/* Divides a block that is in no index: the first `size` bytes stay its own. */
static pool_block_t *divide(rawhal_pool_t *pool, pool_block_t *block, uint64_t size)
{
  pool_block_t *rest = pool_blocks_take(&pool->blocks);
  rest->slab = block->slab;
  rest->offset = block->offset + size;
  rest->size = block->size - size;
  rest->ticket = block->ticket;
  rest->index = NULL;
  rest->lane = NULL;
  rest->before = block;
  rest->after = block->after;
  if (rest->after)
    rest->after->before = rest;
  block->after = rest;
  block->size = size;
  return rest;
}

pool_block_t *pool_heap_carve(rawhal_pool_t *pool, pool_block_t *block, pool_index_t *index,
                              pool_lane_t *lane, const pool_request_t *request)
{
  const uint64_t address = block->slab->address + block->offset;
  const uint64_t before = -address & (request->alignment - 1);
  if (before) {
    pool_block_t *rest = divide(pool, block, before);
    pool_heap_free(pool, block, index, lane);
    block = rest;
  }
  if (block->size > request->size)
    pool_heap_free(pool, divide(pool, block, request->size), index, lane);
  return block;
}

pool_block_t *pool_heap_find(rawhal_pool_t *pool, const pool_request_t *request, bool *lacks)
{
  pool_lane_t *lane = request->lane;
  /* The first that is found may lie so that this much is lost. */
  const uint64_t more = request->alignment > POOL_UNIT ? request->alignment - POOL_UNIT : 0;
  const uint64_t size = more ? pool_round(request->size + more) : request->size;
  pool_block_t *block = lane ? pool_index_find(&lane->index, size) : NULL;
  pool_index_t *index = block ? &lane->index : &pool->index;
  if (!block) {
    lane = NULL;
    block = pool_index_find(index, size);
  }
  *lacks = block && !pool_blocks_reserve(&pool->blocks, 2, &pool->device->runtime->allocator);
  if (!block || *lacks)
    return NULL;
  pool_heap_remove(block);
  return pool_heap_carve(pool, block, index, lane, request);
}
