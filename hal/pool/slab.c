/* Slabs: taking them, within the budget and the quota, and giving them back. */
#include "hal/pool/internal.h"

#include "hal/buffer.h"
#include "queue/gate/memory.h"

#include <inttypes.h>

/* Rounded down to what memory is allocated in. */
static uint64_t whole(const rawhal_pool_t *pool, uint64_t size)
{
  return pool->granule ? size / pool->granule * pool->granule : size;
}

/* How large a slab for the request has to be. */
static uint64_t least_size(const rawhal_pool_t *pool, const pool_request_t *request)
{
  const uint64_t page = 4096; /* which slabs are aligned to */
  const uint64_t more = request->alignment > page ? request->alignment - page : 0;
  return memory_granules(pool->granule, request->size + more);
}

/* Reserves bytes of the budget: `least` or more, or 0 where it has less. */
static uint64_t budget_take(rawhal_pool_t *pool, uint64_t least)
{
  pthread_mutex_lock(&pool->lock);
  const uint64_t left = pool->budget - pool->reserved;
  uint64_t size = least > pool->slab_bytes ? least : pool->slab_bytes;
  if (size > left)
    size = least <= left ? whole(pool, left) : 0;
  pool->reserved += size;
  pthread_mutex_unlock(&pool->lock);
  return size;
}

static void budget_give(rawhal_pool_t *pool, uint64_t size)
{
  pthread_mutex_lock(&pool->lock);
  pool->reserved -= size;
  pthread_mutex_unlock(&pool->lock);
}

static void slab_free(rawhal_pool_t *pool, pool_slab_t *slab)
{
  if (pool->order)
    (void)pool->order(slab->address, slab->size, NULL, NULL);
  buffer_free_parted(slab->buffer);
  allocate_free(&pool->device->runtime->allocator, slab);
}

/* A slab of memory, with one block, which is in no index. */
static rawhal_status_t slab_new(rawhal_pool_t *pool, uint64_t size, pool_slab_t **result,
                                rawhal_error_t *error)
{
  pool_slab_t *slab = allocate_zeroed(&pool->device->runtime->allocator, 1, sizeof(*slab));
  if (!slab)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a pool's slab");
  rawhal_status_t status =
      buffer_allocate_parted(pool->device, pool->kind, size, pool->label, &slab->buffer, error);
  if (status != RAWHAL_OK) {
    allocate_free(&pool->device->runtime->allocator, slab);
    return status;
  }
  slab->address = (uint64_t)(uintptr_t)slab->buffer->memory;
  slab->host = slab->buffer->host;
  slab->size = size;
  *result = slab;
  return RAWHAL_OK;
}

/* What the request takes of a new slab. NULL: no memory for descriptors. */
static pool_block_t *slab_enter(rawhal_pool_t *pool, pool_slab_t *slab,
                                const pool_request_t *request)
{
  pool_block_t *block = NULL;
  pthread_mutex_lock(&pool->lock);
  if (pool_blocks_reserve(&pool->blocks, 3, &pool->device->runtime->allocator)) {
    block = pool_blocks_take(&pool->blocks);
    block->slab = slab;
    block->offset = block->ticket = 0;
    block->size = slab->size;
    block->index = NULL;
    block->lane = NULL;
    block->before = block->after = NULL;
    slab->first = block;
    slab->next = pool->slabs;
    pool->slabs = slab;
    ++pool->slab_count;
    if (pool->reserved > pool->peak_reserved)
      pool->peak_reserved = pool->reserved;
    block = pool_heap_carve(pool, block, &pool->index, NULL, request);
  }
  pthread_mutex_unlock(&pool->lock);
  return block;
}

static rawhal_status_t over_budget(rawhal_pool_t *pool, uint64_t bytes, rawhal_error_t *error)
{
  pthread_mutex_lock(&pool->lock);
  const uint64_t reserved = pool->reserved;
  pthread_mutex_unlock(&pool->lock);
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                     "%" PRIu64 " bytes asked for of the pool %s; of its budget of %" PRIu64
                     " bytes %" PRIu64 " are reserved, and %" PRIu64 " of these allocated",
                     bytes, pool_name(pool).text, pool->budget, reserved,
                     (uint64_t)atomic_load(&pool->used));
}

rawhal_status_t pool_slab_take(rawhal_pool_t *pool, const pool_request_t *request,
                               pool_block_t **block, rawhal_error_t *error)
{
  const uint64_t least = least_size(pool, request);
  for (;;) {
    uint64_t size = budget_take(pool, least);
    pool_slab_t *slab;
    rawhal_status_t status = size ? slab_new(pool, size, &slab, error) : RAWHAL_OUT_OF_MEMORY;
    /* A slab of the usual size is more than is needed. */
    while ((status == RAWHAL_OUT_OF_MEMORY || status == RAWHAL_QUOTA_EXCEEDED) && size > least) {
      const uint64_t half = whole(pool, size / 2), smaller = half > least ? half : least;
      budget_give(pool, size - smaller);
      size = smaller;
      status = slab_new(pool, size, &slab, error);
    }
    if (status == RAWHAL_OK && (*block = slab_enter(pool, slab, request)))
      return RAWHAL_OK;
    if (status == RAWHAL_OK) {
      slab_free(pool, slab);
      status = rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a pool's blocks");
    }
    if (size)
      budget_give(pool, size);
    else
      status = over_budget(pool, request->size, error);
    /* Slabs that nothing is allocated of are too small, each by itself. */
    if ((status != RAWHAL_OUT_OF_MEMORY && status != RAWHAL_QUOTA_EXCEEDED) ||
        !pool_slabs_trim(pool, 0))
      return status;
  }
}

/* The next that nothing is allocated of, taken out; NULL: none, or no more are reserved. */
static pool_slab_t *slab_leave(rawhal_pool_t *pool, uint64_t keep)
{
  pthread_mutex_lock(&pool->lock);
  pool_slab_t **at = &pool->slabs, *slab = NULL;
  if (pool->reserved > keep)
    while (*at && !((*at)->first->index == &pool->index && !(*at)->first->after))
      at = &(*at)->next;
  if (pool->reserved > keep && *at) {
    slab = *at;
    *at = slab->next;
    --pool->slab_count;
    pool_heap_remove(slab->first);
    pool_blocks_give(&pool->blocks, slab->first);
  }
  pthread_mutex_unlock(&pool->lock);
  return slab;
}

uint64_t pool_slabs_trim(rawhal_pool_t *pool, uint64_t keep)
{
  uint64_t bytes = 0;
  pool_slab_t *slab;
  while ((slab = slab_leave(pool, keep))) {
    const uint64_t size = slab->size;
    slab_free(pool, slab);
    budget_give(pool, size); /* which others may take when the memory is there */
    bytes += size;
  }
  return bytes;
}

void pool_slabs_free(rawhal_pool_t *pool)
{
  for (pool_slab_t *slab = pool->slabs, *next; slab; slab = next) {
    next = slab->next;
    slab_free(pool, slab);
  }
  pool->slabs = NULL;
}
