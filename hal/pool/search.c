/* Allocating what no shelf has: all that is free, then a slab, then waiting for what is in use. */
#include "hal/pool/internal.h"

#include "base/clock.h"
#include "queue/follow.h"
#include "queue/wait.h"

#include <inttypes.h>

void pool_wake(rawhal_pool_t *pool)
{
  pthread_mutex_lock(&pool->lock);
  ++pool->moves;
  pthread_cond_broadcast(&pool->moved);
  pthread_mutex_unlock(&pool->lock);
}

/* ---- Waiting ---- */

/* Called by a thread of the queue's; the lane is there, but may have left. */
static void ended(void *context, rawhal_ticket_t ticket, const rawhal_error_t *result)
{
  pool_lane_t *lane = context;
  (void)ticket, (void)result;
  pthread_mutex_lock(&lane->pool->lock);
  lane->is_awaited = false;
  pthread_mutex_unlock(&lane->pool->lock);
  pool_wake(lane->pool);
  pool_lane_release(lane);
}

static bool is_alive(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_ALIVE;
}

/* What a lane has to wait for; 0: nothing. Tickets before the oldest block's may run longer than
 * that one, where dispatches overlap. */
static rawhal_ticket_t awaits(rawhal_pool_t *pool, pool_lane_t *lane)
{
  rawhal_ticket_t ticket = 0;
  pthread_mutex_lock(&pool->lock);
  if (lane->oldest && lane->oldest->ticket > lane->finished)
    ticket = lane->is_stuck ? lane->finished + 1 : lane->oldest->ticket;
  if (ticket && !lane->is_awaited) /* the next time it is the other */
    lane->is_stuck = !lane->is_stuck;
  pthread_mutex_unlock(&pool->lock);
  return ticket;
}

/* A callback comes when it has moved. False: none will. */
static bool await(rawhal_pool_t *pool, pool_lane_t *lane, rawhal_ticket_t ticket)
{
  pthread_mutex_lock(&pool->lock);
  const bool was = lane->is_awaited;
  lane->is_awaited = true;
  pthread_mutex_unlock(&pool->lock);
  if (was)
    return true;
  atomic_fetch_add(&lane->references, 1);
  if (rawhal_queue_on_complete(lane->queue, ticket, ended, lane, NULL) == RAWHAL_OK)
    return true;
  pthread_mutex_lock(&pool->lock);
  lane->is_awaited = false;
  pthread_mutex_unlock(&pool->lock);
  pool_lane_release(lane);
  return false;
}

/* Whether anything that was freed will be out of use by itself; where it is to `ask`, the queues
 * then say when. In a callback of a queue no other of it comes: then `*own` is the queue, and what
 * this thread is to wait for itself. */
static bool awaits_any(rawhal_pool_t *pool, bool ask, rawhal_queue_t **own, rawhal_ticket_t *ticket)
{
  bool any = false;
  *own = NULL;
  queue_followers_hold();
  for (pool_lane_t *lane = pool->lanes; lane; lane = lane->next) {
    const rawhal_ticket_t of_lane = awaits(pool, lane);
    if (!of_lane || !lane->queue || !is_alive(lane->queue))
      continue;
    const bool is_here = callbacks_are_here(lane->queue);
    if (is_here) {
      *own = lane->queue;
      *ticket = of_lane;
    }
    any |= !ask || is_here || await(pool, lane, of_lane);
  }
  queue_followers_let();
  return any;
}

/* Until something has moved since `moves`, or the deadline. */
static void sleep_until(rawhal_pool_t *pool, uint64_t moves, uint64_t deadline)
{
  pthread_mutex_lock(&pool->lock);
  while (pool->moves == moves && (deadline == RAWHAL_FOREVER || clock_now() < deadline))
    (void)clock_wait(&pool->moved, &pool->lock, deadline);
  pthread_mutex_unlock(&pool->lock);
}

static rawhal_status_t in_use(rawhal_pool_t *pool, const pool_request_t *request, uint64_t deadline,
                              rawhal_error_t *error)
{
  rawhal_pool_info_t info = {.size = sizeof(info)};
  rawhal_pool_info(pool, &info);
  const rawhal_status_t status = deadline ? RAWHAL_TIMED_OUT : RAWHAL_WOULD_BLOCK;
  return rawhal_fail(error, status,
                     "%" PRIu64 " bytes asked for of the pool %s; of %" PRIu64
                     " bytes reserved %" PRIu64 " are allocated, and %" PRIu64
                     " were freed, and may still be in use",
                     request->size, pool_name(pool).text, info.reserved_bytes, info.used_bytes,
                     info.waiting_bytes);
}

/* ---- Looking ---- */

/* `*moves`: as they were before. */
static pool_block_t *look(rawhal_pool_t *pool, const pool_request_t *request, bool settle,
                          uint64_t *moves, bool *lacks)
{
  pthread_mutex_lock(&pool->lock);
  if (settle)
    pool_lanes_settle(pool);
  else
    *moves = pool->moves;
  pool_block_t *block = pool_heap_find(pool, request, lacks);
  pthread_mutex_unlock(&pool->lock);
  return block;
}

static uint64_t reserved_now(rawhal_pool_t *pool)
{
  pthread_mutex_lock(&pool->lock);
  const uint64_t reserved = pool->reserved;
  pthread_mutex_unlock(&pool->lock);
  return reserved;
}

static rawhal_status_t search(rawhal_pool_t *pool, const pool_request_t *request, uint64_t deadline,
                              pool_block_t **block, rawhal_error_t *error)
{
  uint64_t reserved = UINT64_MAX; /* when a slab was refused */
  for (bool waits = true;;) {
    uint64_t moves;
    bool lacks;
    *block = look(pool, request, false, &moves, &lacks);
    if (!*block && !lacks) {
      pool_lanes_look(pool);
      *block = look(pool, request, true, &moves, &lacks);
    }
    if (*block)
      return RAWHAL_OK;
    if (lacks)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a pool's blocks");
    if (!waits || reserved_now(pool) < reserved) {
      const rawhal_status_t status = pool_slab_take(pool, request, block, error);
      if (!waits || (status != RAWHAL_OUT_OF_MEMORY && status != RAWHAL_QUOTA_EXCEEDED))
        return status;
      reserved = reserved_now(pool);
    }
    rawhal_queue_t *own;
    rawhal_ticket_t ticket;
    waits = awaits_any(pool, deadline != 0, &own, &ticket);
    if (waits && (deadline == 0 || (deadline != RAWHAL_FOREVER && clock_now() >= deadline)))
      return in_use(pool, request, deadline, error);
    if (waits && own)
      (void)!rawhal_queue_wait(own, ticket, deadline, NULL);
    else if (waits)
      sleep_until(pool, moves, deadline);
  }
}

rawhal_status_t pool_search(rawhal_pool_t *pool, const pool_request_t *request, uint64_t deadline,
                            pool_block_t **block, rawhal_error_t *error)
{
  atomic_fetch_add(&pool->waiters, 1);
  const rawhal_status_t status = search(pool, request, deadline, block, error);
  atomic_fetch_sub(&pool->waiters, 1);
  if (status == RAWHAL_OK) {
    pthread_mutex_lock(&pool->lock);
    ++pool->searched;
    pthread_mutex_unlock(&pool->lock);
  }
  return status;
}
