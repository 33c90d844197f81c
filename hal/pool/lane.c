/* What a pool has for each queue, and what becomes of it when the queue goes on, or goes. */
#include "hal/pool/internal.h"

#include "hal/runtime.h"
#include "queue/follow.h"
#include "queue/wait.h"

void pool_release(rawhal_pool_t *pool)
{
  if (atomic_fetch_sub(&pool->references, 1) != 1)
    return;
  pthread_mutex_destroy(&pool->lock);
  pthread_cond_destroy(&pool->moved);
  runtime_free(pool);
  runtime_release();
}

void pool_lane_release(pool_lane_t *lane)
{
  if (atomic_fetch_sub(&lane->references, 1) != 1)
    return;
  rawhal_pool_t *pool = lane->pool;
  runtime_free(lane);
  pool_release(pool);
}

/* ---- What has finished; the caller holds the pool's lock ---- */

/* A block leaves the lane: nothing uses it any more. */
static void give(pool_block_t *block)
{
  rawhal_pool_t *pool = block->lane->pool;
  pool_heap_remove(block);
  pool_heap_free(pool, block, &pool->index, NULL);
}

static void shelf_settle(pool_lane_t *lane, pool_shelf_t *shelf)
{
  rawhal_pool_t *pool = lane->pool;
  uint64_t number = shelf_clear(shelf);
  while (number) {
    pool_block_t *block = pool_blocks_of(&pool->blocks, number);
    number = atomic_load_explicit(&block->below, memory_order_relaxed);
    if (block->ticket <= lane->finished)
      pool_heap_free(pool, block, &pool->index, NULL);
    else
      pool_heap_free(pool, block, &lane->index, lane);
  }
}

/* Who puts something there says so afterwards: what is missed here, is not the next time. */
static void shelves_clear(pool_lane_t *lane)
{
  if (atomic_exchange(&lane->is_shelved, false))
    for (uint32_t class = 0; class < POOL_SHELVES; ++class)
      shelf_settle(lane, &lane->shelves[class]);
}

void pool_lanes_settle(rawhal_pool_t *pool)
{
  for (pool_lane_t *lane = pool->lanes; lane; lane = lane->next) {
    shelves_clear(lane);
    while (lane->oldest && lane->oldest->ticket <= lane->finished)
      give(lane->oldest);
  }
}

void pool_lanes_look(rawhal_pool_t *pool)
{
  queue_followers_hold();
  for (pool_lane_t *lane = pool->lanes; lane; lane = lane->next) {
    if (!lane->queue)
      continue;
    queue_drain(lane->queue);
    const uint64_t finished = ring_finished(&lane->queue->ring);
    pthread_mutex_lock(&pool->lock);
    lane->finished = finished;
    pthread_mutex_unlock(&pool->lock);
  }
  queue_followers_let();
}

/* ---- Coming and going ---- */

/* The queue is gone, and if it has `ended`, nothing of it runs any more. Else what it used stays
 * with the lane as long as the pool does. */
static void gone(void *what, bool ended)
{
  pool_lane_t *lane = what;
  rawhal_pool_t *pool = lane->pool;
  pthread_mutex_lock(&pool->lock);
  lane->queue = NULL;
  shelves_clear(lane);
  if (ended) {
    while (lane->oldest)
      give(lane->oldest);
    pool_lane_t **at = &pool->lanes;
    while (*at != lane)
      at = &(*at)->next;
    *at = lane->next;
    pool->left.reused += lane->reused;
    pool->left.freed += lane->freed;
  }
  ++pool->moves;
  pthread_cond_broadcast(&pool->moved);
  pthread_mutex_unlock(&pool->lock);
  if (ended)
    pool_lane_release(lane);
}

void pool_lanes_leave(rawhal_pool_t *pool)
{
  for (pool_lane_t *lane = pool->lanes; lane; lane = lane->next) {
    if (lane->queue)
      queue_unfollow(lane->queue, pool->lanes_of);
    lane->queue = NULL;
  }
}

static pool_lane_t *lane_new(rawhal_pool_t *pool, rawhal_queue_t *queue)
{
  pool_lane_t *lane = allocate_zeroed(&pool->device->runtime->allocator, 1, sizeof(*lane));
  if (!lane)
    return NULL;
  atomic_init(&lane->references, 1);
  lane->pool = pool;
  lane->queue = queue;
  atomic_fetch_add(&pool->references, 1);
  return lane;
}

/* Another thread may have been here before. The caller holds the followers. */
static bool enter(rawhal_pool_t *pool, pool_lane_t *lane)
{
  if (!queue_follow(lane->queue, pool->lanes_of, lane, gone))
    return false;
  pthread_mutex_lock(&pool->lock);
  lane->next = pool->lanes;
  pool->lanes = lane;
  pthread_mutex_unlock(&pool->lock);
  return true;
}

rawhal_status_t pool_lane_make(rawhal_pool_t *pool, rawhal_queue_t *queue, pool_lane_t **lane,
                               rawhal_error_t *error)
{
  if (queue->device != &pool->device->queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the queue belongs to a device other than the pool's");
  pool_lane_t *made = lane_new(pool, queue);
  queue_followers_hold();
  pool_lane_t *found = queue_followed(queue, pool->lanes_of);
  if (!found && made && enter(pool, made))
    found = made;
  queue_followers_let();
  if (made && found != made)
    pool_lane_release(made);
  *lane = found;
  return found ? RAWHAL_OK
               : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a queue's part of a pool");
}
