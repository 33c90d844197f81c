/* Memory in queue order: what a program calls. */
#include "hal/pool/internal.h"

#include "hal/kinds.h"
#include "hal/runtime.h"
#include "queue/follow.h"
#include "queue/gate/memory.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/sized.h"
#include "base/thread.h"
#include "debug/label.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLAB_BYTES     (UINT64_C(64) << 20)
#define MOST_BYTES     (UINT64_C(1) << (POOL_SIZE_BITS - 1))
#define MOST_ALIGNMENT (UINT64_C(2) << 20)
#define BLOCK_ID_STEP  (UINT64_C(1) << BLOCK_NUMBER_BITS)
#define NO_BUDGET      UINT64_MAX

/* ---- Making pools ---- */

static rawhal_status_t choose_sizes(rawhal_pool_t *pool, const rawhal_pool_options_t *options,
                                    rawhal_error_t *error)
{
  pool->budget = options->budget_bytes ? options->budget_bytes : NO_BUDGET;
  const uint64_t usual = SLAB_BYTES < pool->budget ? SLAB_BYTES : pool->budget;
  const uint64_t slab = options->slab_bytes ? options->slab_bytes : usual;
  if (slab > pool->budget || slab > MOST_BYTES)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "slabs of %" PRIu64 " bytes are larger than the most, %" PRIu64, slab,
                       pool->budget < MOST_BYTES ? pool->budget : MOST_BYTES);
  pool->slab_bytes = memory_granules(pool->granule, slab);
  return RAWHAL_OK;
}

/* Whether softgpu is to look who uses what was freed. */
static void order_find(rawhal_pool_t *pool)
{
  const softgpu_thunk_t *softgpu = pool->device->runtime->softgpu;
  uint64_t wanted = 0;
  pool->lanes_of = pool;
  if (!softgpu || !softgpu->option_get || !softgpu->tells.memory_order ||
      !softgpu->option_get("check_freed", &wanted) || !wanted)
    return;
  pool->order = softgpu->tells.memory_order;
  pool->lanes_of = &pool->order;
}

rawhal_status_t rawhal_pool_create(rawhal_device_t *device, const rawhal_pool_options_t *given,
                                   rawhal_pool_t **result, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "pool is NULL");
  *result = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_pool_options_t options;
  rawhal_status_t status = SIZED_TAKE(&options, given, label, error);
  if (status == RAWHAL_OK)
    status = runtime_check(error);
  memory_kind_t kind;
  if (status == RAWHAL_OK)
    status = kind_find(device, options.kind, &kind, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_pool_t *pool = allocate_zeroed(&device->runtime->allocator, 1, sizeof(*pool));
  if (!pool)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a pool");
  runtime_hold();
  pool->device = device;
  pool->kind = options.kind;
  pool->granule = kind.granule;
  label_copy(pool->label, rawhal_string(options.label ? options.label : "pool"));
  atomic_init(&pool->references, 1);
  pthread_mutex_init(&pool->lock, NULL);
  (void)condition_init(&pool->moved);
  order_find(pool);
  status = choose_sizes(pool, &options, error);
  if (status != RAWHAL_OK)
    pool_release(pool);
  else
    *result = pool;
  return status;
}

void rawhal_pool_destroy(rawhal_pool_t *pool)
{
  WITHOUT_CANCELLATION();
  if (!pool || runtime_check(NULL) != RAWHAL_OK)
    return;
  queue_followers_hold();
  pthread_mutex_lock(&pool->lock);
  pool_lanes_leave(pool);
  pool_lane_t *lanes = pool->lanes, *next;
  pool->lanes = NULL;
  pthread_mutex_unlock(&pool->lock);
  queue_followers_let();
  pool_slabs_free(pool);
  pool_blocks_free(&pool->blocks, &pool->device->runtime->allocator);
  for (; lanes; lanes = next) {
    next = lanes->next;
    pool_lane_release(lanes);
  }
  pool_release(pool);
}

/* ---- Allocating ---- */

static rawhal_status_t check_request(const rawhal_pool_t *pool, const rawhal_pool_request_t *given,
                                     rawhal_error_t *error)
{
  if (!pool)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "pool is NULL");
  if (given->bytes == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bytes is 0");
  if ((given->alignment & (given->alignment - 1)) || given->alignment > MOST_ALIGNMENT)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "an alignment of %" PRIu64 " is no power of two of at most %" PRIu64,
                       given->alignment, MOST_ALIGNMENT);
  if (given->flags & ~(uint32_t)RAWHAL_POOL_UNORDERED)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown flags 0x%x", given->flags);
  if (given->bytes > MOST_BYTES)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                       "%" PRIu64 " bytes asked for of the pool %s; no allocation has more "
                       "than %" PRIu64,
                       given->bytes, pool_name(pool).text, MOST_BYTES);
  return runtime_check(error);
}

static void count_used(rawhal_pool_t *pool, uint64_t size)
{
  const uint64_t used = atomic_fetch_add_explicit(&pool->used, size, memory_order_relaxed) + size;
  uint64_t peak = atomic_load_explicit(&pool->peak_used, memory_order_relaxed);
  while (__builtin_expect(used > peak, 0) &&
         !atomic_compare_exchange_weak_explicit(&pool->peak_used, &peak, used, memory_order_relaxed,
                                                memory_order_relaxed))
    continue;
}

/* The block is this thread's. `finished`: what the queue is known to have. */
static inline void hand_out(rawhal_pool_t *pool, uint64_t finished, pool_block_t *block,
                            uint64_t bytes, rawhal_pool_allocation_t *allocation)
{
  const uint64_t id = block->last += BLOCK_ID_STEP;
  count_used(pool, block->size);
  block->bytes = bytes;
  allocation->address = block->address;
  allocation->host = block->host;
  allocation->buffer = block->buffer;
  allocation->offset = block->offset;
  allocation->bytes = bytes;
  allocation->after = block->ticket > finished ? block->ticket : 0;
  allocation->id = id;
  atomic_store_explicit(&block->live, id, memory_order_release);
}

/* Nothing is ordered behind what a dead queue was given. */
static inline bool is_alive(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_ALIVE;
}

/* Of a block that was just made. */
static void block_fill(pool_block_t *block)
{
  const pool_slab_t *slab = block->slab;
  block->class = pool_class(block->size);
  block->address = slab->address + block->offset;
  block->host = slab->host ? slab->host + block->offset : NULL;
  block->buffer = slab->buffer;
}

/* What the shelf has, if it lies right. */
static pool_block_t *take(rawhal_pool_t *pool, pool_lane_t *lane, uint32_t class,
                          uint64_t alignment)
{
  if (class >= POOL_SHELVES)
    return NULL;
  pool_block_t *block = shelf_take(&lane->shelves[class], &pool->blocks);
  if (block && alignment > POOL_UNIT && (block->address & (alignment - 1))) {
    shelf_put(&lane->shelves[class], block);
    return NULL;
  }
  if (block)
    atomic_fetch_add_explicit(&lane->reused, 1, memory_order_relaxed);
  return block;
}

static rawhal_status_t lane_of(rawhal_pool_t *pool, rawhal_queue_t *queue, pool_lane_t **lane,
                               rawhal_error_t *error)
{
  *lane = queue ? queue_followed(queue, pool->lanes_of) : NULL;
  return !queue || *lane ? RAWHAL_OK : pool_lane_make(pool, queue, lane, error);
}

static rawhal_status_t allocate_request(rawhal_pool_t *pool, rawhal_queue_t *queue,
                                        const rawhal_pool_request_t *given, uint64_t deadline,
                                        rawhal_pool_allocation_t *allocation, rawhal_error_t *error)
{
  pool_lane_t *lane;
  rawhal_status_t status = check_request(pool, given, error);
  if (status == RAWHAL_OK)
    status = lane_of(pool, queue, &lane, error);
  if (status != RAWHAL_OK)
    return status;
  const bool ordered = queue && !(given->flags & RAWHAL_POOL_UNORDERED) && is_alive(queue);
  const pool_request_t request = {.size = pool_round(given->bytes),
                                  .alignment =
                                      given->alignment > POOL_UNIT ? given->alignment : POOL_UNIT,
                                  .lane = ordered ? lane : NULL};
  pool_block_t *block = NULL;
  if (ordered)
    block = take(pool, lane, pool_class_above(given->bytes), given->alignment);
  if (!block) {
    status = pool_search(pool, &request, deadline, &block, error);
    if (status != RAWHAL_OK)
      return status;
    block_fill(block);
  }
  label_copy(block->label, rawhal_string(given->label));
  if (pool->order)
    (void)pool->order(block->address, block->size, NULL, NULL);
  hand_out(pool, queue ? ring_finished(&queue->ring) : 0, block, given->bytes, allocation);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_pool_allocate_with(rawhal_pool_t *pool, rawhal_queue_t *queue,
                                          const rawhal_pool_request_t *request, uint64_t deadline,
                                          rawhal_pool_allocation_t *allocation,
                                          rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!allocation)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "allocation is NULL");
  *allocation = (rawhal_pool_allocation_t){0};
  if (!request)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "request is NULL");
  rawhal_pool_request_t taken;
  const rawhal_status_t status = SIZED_TAKE(&taken, request, label, error);
  return status == RAWHAL_OK ? allocate_request(pool, queue, &taken, deadline, allocation, error)
                             : status;
}

/* What is wrong, or not on the shelf. */
static __attribute__((noinline)) rawhal_status_t
allocate_anyhow(rawhal_pool_t *pool, rawhal_queue_t *queue, uint64_t bytes, uint64_t deadline,
                rawhal_pool_allocation_t *allocation, rawhal_error_t *error)
{
  const rawhal_pool_request_t request = {.size = sizeof(request), .bytes = bytes};
  return rawhal_pool_allocate_with(pool, queue, &request, deadline, allocation, error);
}

rawhal_status_t rawhal_pool_allocate(rawhal_pool_t *pool, rawhal_queue_t *queue, uint64_t bytes,
                                     uint64_t deadline, rawhal_pool_allocation_t *allocation,
                                     rawhal_error_t *error)
{
  const uint32_t class = pool_class_above(bytes);
  /* What most calls are: for memory that the queue has freed before. */
  if (__builtin_expect(queue && is_alive(queue) && pool && allocation && bytes - 1 < MOST_BYTES,
                       1)) {
    pool_lane_t *lane = queue_followed(queue, pool);
    pool_block_t *block = NULL;
    if (__builtin_expect(lane != NULL, 1) && __builtin_expect(class < POOL_SHELVES, 1))
      block = shelf_take(&lane->shelves[class], &pool->blocks);
    if (__builtin_expect(block != NULL, 1)) {
      atomic_fetch_add_explicit(&lane->reused, 1, memory_order_relaxed);
      block->label[0] = '\0';
      hand_out(pool, ring_finished(&queue->ring), block, bytes, allocation);
      return RAWHAL_OK;
    }
  }
  return allocate_anyhow(pool, queue, bytes, deadline, allocation, error);
}

/* ---- Freeing ---- */

static rawhal_status_t not_live(rawhal_pool_t *pool, uint64_t id, rawhal_error_t *error)
{
  const pool_block_t *block = pool_blocks_at(&pool->blocks, id);
  if (!block || id < BLOCK_ID_STEP || atomic_load(&block->live) == id)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "no allocation of the pool %s, but perhaps another pool's: id 0x%" PRIx64,
                       pool_name(pool).text, id);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "allocation 0x%" PRIx64 " of the pool %s has been freed already", id,
                     pool_name(pool).text);
}

/* In the pool's index, or the lane's. */
static void free_to(rawhal_pool_t *pool, pool_lane_t *lane, pool_block_t *block)
{
  atomic_fetch_sub_explicit(&pool->used, block->size, memory_order_relaxed);
  pthread_mutex_lock(&pool->lock);
  ++pool->left.freed;
  pool_heap_free(pool, block, lane ? &lane->index : &pool->index, lane);
  pthread_mutex_unlock(&pool->lock);
}

/* The allocation of this id ends, and its block is this thread's. */
static inline pool_block_t *end(rawhal_pool_t *pool, const rawhal_pool_allocation_t *given)
{
  uint64_t id = given->id;
  pool_block_t *block = pool_blocks_at(&pool->blocks, id);
  if (!block || id < BLOCK_ID_STEP || !atomic_compare_exchange_strong(&block->live, &id, 0))
    return NULL;
  if (__builtin_expect(block->address == given->address, 1))
    return block;
  atomic_store(&block->live, id);
  return NULL;
}

/* Behind all that the queue has been given. */
static inline void free_behind(rawhal_pool_t *pool, rawhal_queue_t *queue, pool_lane_t *lane,
                               pool_block_t *block)
{
  block->ticket = ring_last_ticket(&queue->ring);
  if (__builtin_expect(block->class < POOL_SHELVES, 1)) {
    atomic_fetch_sub_explicit(&pool->used, block->size, memory_order_relaxed);
    atomic_fetch_add_explicit(&lane->freed, 1, memory_order_relaxed);
    shelf_put(&lane->shelves[block->class], block);
    if (__builtin_expect(!atomic_load(&lane->is_shelved), 0))
      atomic_store(&lane->is_shelved, true);
  } else {
    free_to(pool, lane, block);
  }
  if (__builtin_expect(atomic_load(&pool->waiters), 0))
    pool_wake(pool);
}

/* What a fault of who uses it all the same says of it. */
static void tell_order(const rawhal_pool_t *pool, const rawhal_queue_t *queue,
                       const pool_block_t *block)
{
  char text[640];
  const cause_phrase_t name = cause_quoted(label_text(block->label));
  snprintf(text, sizeof(text),
           "allocation %s%sof %" PRIu64 " bytes of the pool %s, freed behind ticket %" PRIu64,
           name.text, *name.text ? " " : "", block->bytes, pool_name(pool).text,
           ring_last_ticket(&queue->ring));
  (void)pool->order(block->address, block->size, queue->hsa_queue, text);
}

/* What is wrong, for no queue, or the first time of one. */
static __attribute__((noinline)) rawhal_status_t
free_anyhow(rawhal_pool_t *pool, rawhal_queue_t *queue, const rawhal_pool_allocation_t *allocation,
            rawhal_error_t *error)
{
  if (!pool || !allocation)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", pool ? "allocation" : "pool");
  pool_lane_t *lane = NULL;
  rawhal_status_t status = runtime_check(error);
  if (status == RAWHAL_OK)
    status = lane_of(pool, queue, &lane, error);
  if (status != RAWHAL_OK)
    return status;
  pool_block_t *block = end(pool, allocation);
  if (!block)
    return not_live(pool, allocation->id, error);
  if (lane) {
    if (pool->order)
      tell_order(pool, queue, block);
    free_behind(pool, queue, lane, block);
  } else {
    free_to(pool, NULL, block);
    if (atomic_load(&pool->waiters))
      pool_wake(pool);
  }
  return RAWHAL_OK;
}

rawhal_status_t rawhal_pool_free(rawhal_pool_t *pool, rawhal_queue_t *queue,
                                 const rawhal_pool_allocation_t *allocation, rawhal_error_t *error)
{
  if (__builtin_expect(!queue || !is_alive(queue) || !pool || !allocation, 0))
    return free_anyhow(pool, queue, allocation, error);
  pool_lane_t *lane = queue_followed(queue, pool);
  if (__builtin_expect(!lane, 0))
    return free_anyhow(pool, queue, allocation, error);
  pool_block_t *block = end(pool, allocation);
  if (__builtin_expect(!block, 0))
    return not_live(pool, allocation->id, error);
  free_behind(pool, queue, lane, block);
  return RAWHAL_OK;
}

/* ---- The rest ---- */

uint64_t rawhal_pool_trim(rawhal_pool_t *pool, uint64_t keep_bytes)
{
  WITHOUT_CANCELLATION();
  if (!pool || runtime_check(NULL) != RAWHAL_OK)
    return 0;
  pool_lanes_look(pool);
  pthread_mutex_lock(&pool->lock);
  pool_lanes_settle(pool);
  pthread_mutex_unlock(&pool->lock);
  return pool_slabs_trim(pool, keep_bytes);
}

static void count_lanes(rawhal_pool_t *pool, rawhal_pool_info_t *info)
{
  uint64_t freed = pool->left.freed;
  for (pool_lane_t *lane = pool->lanes; lane; lane = lane->next) {
    freed += atomic_load(&lane->freed);
    info->reused_allocations += atomic_load(&lane->reused);
  }
  info->total_allocations = pool->searched + info->reused_allocations;
  info->allocations = info->total_allocations - freed;
}

void rawhal_pool_info(rawhal_pool_t *pool, rawhal_pool_info_t *info)
{
  rawhal_pool_info_t now = {0};
  if (pool && runtime_check(NULL) == RAWHAL_OK) {
    pthread_mutex_lock(&pool->lock);
    uint64_t slabs = 0;
    for (const pool_slab_t *slab = pool->slabs; slab; slab = slab->next)
      slabs += slab->size;
    now = (rawhal_pool_info_t){.reserved_bytes = slabs,
                               .used_bytes = atomic_load(&pool->used),
                               .peak_reserved_bytes = pool->peak_reserved,
                               .peak_used_bytes = atomic_load(&pool->peak_used),
                               .budget_bytes = pool->budget,
                               .slabs = pool->slab_count,
                               .reused_allocations = pool->left.reused};
    const uint64_t known = now.used_bytes + pool->index.bytes;
    now.waiting_bytes = slabs > known ? slabs - known : 0;
    count_lanes(pool, &now);
    pthread_mutex_unlock(&pool->lock);
  }
  sized_give(info, offsetof(rawhal_pool_info_t, reused_allocations) + sizeof(uint64_t), &now,
             sizeof(now));
}
