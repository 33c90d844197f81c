/* Room in a queue's rings. */
#include "queue/shared.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"

#include <errno.h>

/* On the stack of a thread that waits. */
typedef struct room_waiter {
  struct room_waiter *next, *previous;
} room_waiter_t;

static void enter(queue_room_t *room, room_waiter_t *me)
{
  pthread_mutex_lock(&room->lock);
  *me = (room_waiter_t){NULL, room->last};
  *(room->last ? &room->last->next : &room->first) = me;
  room->last = me;
  atomic_fetch_add(&room->waiting, 1);
  pthread_mutex_unlock(&room->lock);
}

static void leave(queue_room_t *room, const room_waiter_t *me)
{
  pthread_mutex_lock(&room->lock);
  *(me->previous ? &me->previous->next : &room->first) = me->next;
  *(me->next ? &me->next->previous : &room->last) = me->previous;
  atomic_fetch_sub(&room->waiting, 1);
  pthread_cond_broadcast(&room->moved);
  pthread_mutex_unlock(&room->lock);
}

/* Is the thread the first of those that wait? Sleeps until it is, or until the deadline. */
static bool turn_comes(queue_room_t *room, const room_waiter_t *me, uint64_t deadline)
{
  int late = 0;
  WITHOUT_CANCELLATION(); /* `me` is on the stack */
  pthread_mutex_lock(&room->lock);
  while (room->first != me && late != ETIMEDOUT)
    late = clock_wait(&room->moved, &room->lock, deadline);
  bool first = room->first == me;
  pthread_mutex_unlock(&room->lock);
  return first;
}

static rawhal_status_t no_room(rawhal_status_t status, uint32_t packets, uint32_t blocks,
                               rawhal_error_t *error)
{
  return rawhal_fail(error, status, "no room for %u packets and %u kernarg blocks %s", packets,
                     blocks, status == RAWHAL_WOULD_BLOCK ? "now" : "before the deadline");
}

rawhal_status_t submit_no_room(uint32_t packets, uint32_t blocks, uint64_t deadline,
                               rawhal_error_t *error)
{
  if (deadline == 0)
    return no_room(RAWHAL_WOULD_BLOCK, packets, blocks, error);
  return deadline != RAWHAL_FOREVER && clock_now() >= deadline
             ? no_room(RAWHAL_TIMED_OUT, packets, blocks, error)
             : RAWHAL_OK;
}

/* Of the first that waits, or of one that may not. */
static rawhal_status_t reserve(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                               uint64_t deadline, ring_reservation_t *reserved,
                               rawhal_error_t *error)
{
  for (;;) {
    queue_drain(queue);
    rawhal_status_t status = queue_check(queue, error);
    if (status != RAWHAL_OK)
      return status;
    if (ring_reserve(&queue->ring, packets, blocks, reserved))
      return RAWHAL_OK;
    status = submit_no_room(packets, blocks, deadline, error);
    if (status != RAWHAL_OK)
      return status;
    queue_wait_for_room(queue, deadline);
  }
}

static rawhal_status_t reserve_waiting(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                                       uint64_t deadline, ring_reservation_t *reserved,
                                       rawhal_error_t *error)
{
  queue_room_t *room = &queue->room;
  bool alone = atomic_load_explicit(&room->waiting, memory_order_relaxed) == 0;
  if (deadline == 0)
    return alone ? reserve(queue, packets, blocks, 0, reserved, error)
                 : no_room(RAWHAL_WOULD_BLOCK, packets, blocks, error);
  room_waiter_t me;
  enter(room, &me);
  rawhal_status_t status = turn_comes(room, &me, deadline)
                               ? reserve(queue, packets, blocks, deadline, reserved, error)
                               : no_room(RAWHAL_TIMED_OUT, packets, blocks, error);
  leave(room, &me);
  return status;
}

void submit_wait_for_room(rawhal_queue_t *queue, uint64_t deadline)
{
  if (queue->shared)
    shared_nap();
  else
    queue_wait_for_room(queue, deadline);
}

/* Where no thread waits and there is room that is known of: without a lock. */
static bool reserve_at_once(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                            ring_reservation_t *reserved)
{
  bool alone = atomic_load_explicit(&queue->room.waiting, memory_order_relaxed) == 0;
  return __builtin_expect(alone && ring_reserve(&queue->ring, packets, blocks, reserved), 1);
}

/* Room in the program's queue is waited for before anything is reserved; a thread that is overtaken
 * after that leaves an empty ticket. */
static rawhal_status_t reserve_shared(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                                      uint64_t deadline, ring_reservation_t *reserved,
                                      rawhal_error_t *error)
{
  rawhal_status_t status = shared_await(queue, packets, deadline, error);
  if (status == RAWHAL_OK && !reserve_at_once(queue, packets, blocks, reserved))
    status = reserve_waiting(queue, packets, blocks, deadline, reserved, error);
  return status == RAWHAL_OK ? shared_reserve(queue, packets, blocks, deadline, reserved, error)
                             : status;
}

bool submit_try(rawhal_queue_t *queue, uint32_t tickets, uint32_t packets, uint32_t blocks,
                ring_reservation_t *reserved)
{
  return atomic_load_explicit(&queue->room.waiting, memory_order_relaxed) == 0 &&
         ring_reserve_several(&queue->ring, tickets, packets, blocks, reserved) &&
         (!queue->shared || shared_try(queue, tickets, packets, blocks, reserved));
}

rawhal_status_t submit_reserve(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                               uint64_t deadline, ring_reservation_t *reserved,
                               rawhal_error_t *error)
{
  if (__builtin_expect(queue->shared, 0))
    return reserve_shared(queue, packets, blocks, deadline, reserved, error);
  if (reserve_at_once(queue, packets, blocks, reserved))
    return RAWHAL_OK;
  return reserve_waiting(queue, packets, blocks, deadline, reserved, error);
}
