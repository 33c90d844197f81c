/* Deadlines, waiting, and giving back the room of what has finished. */
#include "queue/wait.h"

#include "queue/submit.h"
#include "queue/timeline/timeline.h"
#include "queue/times.h"
#include "queue/transfer.h"

#include "base/cancel.h"
#include "base/error.h"
#include "debug/door/ticket.h"

#include <sched.h>

uint64_t rawhal_deadline_after(uint64_t nanoseconds)
{
  uint64_t now = clock_now();
  return nanoseconds > RAWHAL_FOREVER - now ? RAWHAL_FOREVER : now + nanoseconds;
}

uint64_t deadline_ticks(uint64_t nanoseconds, uint64_t hz)
{
  unsigned __int128 exact = (unsigned __int128)nanoseconds * hz / CLOCK_SECOND + 1;
  return exact < UINT64_MAX ? (uint64_t)exact : UINT64_MAX;
}

bool queue_slot_claim(rawhal_queue_t *queue, queue_slot_t *slot)
{
  pthread_mutex_lock(&queue->sleep_lock);
  bool claimed = !slot->slept_on;
  slot->slept_on = true;
  pthread_mutex_unlock(&queue->sleep_lock);
  return claimed;
}

void queue_slot_leave(rawhal_queue_t *queue, queue_slot_t *slot)
{
  pthread_mutex_lock(&queue->sleep_lock);
  slot->slept_on = false;
  pthread_cond_broadcast(&queue->woken);
  pthread_mutex_unlock(&queue->sleep_lock);
  timeline_notice();
}

/* Sleeps until the thread that sleeps on the slot no longer does, or the deadline. */
static void slot_follow(rawhal_queue_t *queue, const queue_slot_t *slot, uint64_t deadline)
{
  pthread_mutex_lock(&queue->sleep_lock);
  if (slot->slept_on)
    (void)clock_wait(&queue->woken, &queue->sleep_lock, deadline);
  pthread_mutex_unlock(&queue->sleep_lock);
}

/* Sleeps until the slot's signal has reached `target` or the deadline has passed; may return early.
 * The runtime spins for a while itself before it blocks. */
static void slot_sleep(rawhal_queue_t *queue, queue_slot_t *slot, int64_t target, uint64_t deadline)
{
  WITHOUT_CANCELLATION(); /* of all that waits for the device; others would lose the slot */
  uint64_t ticks = UINT64_MAX;
  if (deadline != RAWHAL_FOREVER) {
    uint64_t now = clock_now();
    if (now >= deadline)
      return;
    ticks = deadline_ticks(deadline - now, queue->device->timestamp_hz);
  }
  if (!queue_slot_claim(queue, slot)) {
    slot_follow(queue, slot, deadline);
    return;
  }
  queue->device->hsa->hsa_signal_wait_scacquire(slot->signal, HSA_SIGNAL_CONDITION_LT, target + 1,
                                                ticks, HSA_WAIT_STATE_BLOCKED);
  queue_slot_leave(queue, slot);
  callbacks_notice(queue);
}

/* Has the slot's submission finished? */
static bool is_finished(rawhal_queue_t *queue, const queue_slot_t *slot, uint64_t ticket)
{
  if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
    return false;
  int64_t value = queue_slot_value(slot);
  if (queue_value_poisoned(value)) {
    (void)!queue_check(queue, NULL); /* until what it had come to is written down */
    value = slot->final;
  }
  return value <= atomic_load_explicit(&slot->target, memory_order_relaxed);
}

/* The oldest that have finished; true: there may be more. The caller holds drain_lock. */
static bool drain_some(rawhal_queue_t *queue)
{
  const uint64_t first = ring_finished(&queue->ring) + 1;
  uint64_t end = first;
  while (end < first + CHARGE_AT_ONCE && is_finished(queue, queue_slot(queue, end), end))
    ++end;
  if (queue->gate.lease)
    charge_finished(queue, first, end);
  for (uint64_t ticket = first; ticket < end; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    if (__builtin_expect((queue_traits(slot) & TRAIT_TRANSFERS), 0))
      transfer_finish(queue, slot);
    if (tell_wants(RAWHAL_EVENT_COMPLETE))
      tell_ticket(RAWHAL_EVENT_COMPLETE, queue->id, ticket, 0, 0, 0);
    ring_release(&queue->ring, slot->packets, slot->blocks);
  }
  return end == first + CHARGE_AT_ONCE;
}

void queue_drain(rawhal_queue_t *queue)
{
  if (atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_FORKED)
    return; /* the lock may be another thread's, which is not here */
  pthread_mutex_lock(&queue->drain_lock);
  while (drain_some(queue))
    continue;
  pthread_mutex_unlock(&queue->drain_lock);
}

void queue_settle(rawhal_queue_t *queue, uint64_t at)
{
  if (queue->gate.lease)
    queue_drain(queue);
  pthread_mutex_lock(&queue->drain_lock);
  if (queue->gate.lease)
    charge_rest(queue, at);
  pthread_mutex_unlock(&queue->drain_lock);
}

static void reap(void *context)
{
  rawhal_queue_t *queue = context;
  if (queue_check(queue, NULL) == RAWHAL_OK)
    queue_drain(queue);
  else
    queue_settle(queue, atomic_load(&queue->died_at));
}

/* A limit holds it back. */
static void sleep_until(void *context, uint64_t until)
{
  const rawhal_queue_t *queue = context;
  const uint64_t began = tell_wants(RAWHAL_EVENT_THROTTLE) ? clock_now() : 0;
  queue_wait_for_room(context, until);
  if (began)
    tell_event((rawhal_event_t){
        .type = RAWHAL_EVENT_THROTTLE, .queue_id = queue->id, .nanoseconds = clock_now() - began});
}

limit_queue_t queue_reached(rawhal_queue_t *queue)
{
  return (limit_queue_t){queue, reap, sleep_until};
}

void queue_wait_for_room(rawhal_queue_t *queue, uint64_t deadline)
{
  uint64_t ticket = ring_finished(&queue->ring) + 1;
  queue_slot_t *slot = queue_slot(queue, ticket);
  if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket) {
    sched_yield(); /* its submitter is between reserving and publishing */
    return;
  }
  int64_t target = atomic_load_explicit(&slot->target, memory_order_acquire);
  if (ring_finished(&queue->ring) < ticket) /* else the slot may be another ticket's by now */
    slot_sleep(queue, slot, target, deadline);
}

queue_progress_t queue_progress(rawhal_queue_t *queue, uint64_t ticket, int64_t *target,
                                rawhal_error_t *error)
{
  const queue_slot_t *slot = queue_slot(queue, ticket);
  uint64_t holder = atomic_load_explicit(&slot->ticket, memory_order_acquire);
  *target = atomic_load_explicit(&slot->target, memory_order_acquire);
  if (atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_FORKED)
    return queue_check(queue, error) == RAWHAL_OK ? QUEUE_RUNNING : QUEUE_FAILED;
  /* A slot is given to the next generation only after its ticket was counted as finished. */
  if (ring_finished(&queue->ring) >= ticket)
    return QUEUE_FINISHED;
  int64_t value = queue_slot_value(slot);
  if (queue_value_poisoned(value)) {
    if (queue_check(queue, NULL) == RAWHAL_OK)
      return QUEUE_RUNNING;
    if (holder == ticket && slot->final <= *target)
      return QUEUE_FINISHED;
    (void)!queue_check(queue, error);
    return QUEUE_FAILED;
  }
  return holder == ticket && value <= *target ? QUEUE_FINISHED : QUEUE_RUNNING;
}

rawhal_status_t queue_check_ticket(rawhal_queue_t *queue, uint64_t ticket, rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  uint64_t last = ring_last_ticket(&queue->ring);
  if (ticket == 0 || ticket > last)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "ticket %llu was never issued; the queue's last is %llu",
                       (unsigned long long)ticket, (unsigned long long)last);
  return RAWHAL_OK;
}

rawhal_status_t queue_dependency(rawhal_queue_t *queue, uint64_t ticket, hsa_signal_t *signal,
                                 int64_t *target, rawhal_error_t *error)
{
  rawhal_status_t status = queue_check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  switch (queue_progress(queue, ticket, target, error)) {
  case QUEUE_FINISHED:
    signal->handle = 0;
    break;
  case QUEUE_FAILED:
    return queue->cause.status;
  case QUEUE_RUNNING:
    *signal = queue_slot(queue, ticket)->signal;
  }
  return RAWHAL_OK;
}

rawhal_status_t queue_check_result(rawhal_queue_t *queue, uint64_t ticket, rawhal_error_t *error)
{
  rawhal_status_t status = timeline_check(queue, ticket, error);
  if (__builtin_expect(status != RAWHAL_OK, 0))
    return status;
  bool failed = false;
  for (uint64_t part = ticket - parts_before(queue_traits(queue_slot(queue, ticket)));
       part <= ticket; ++part) {
    const queue_slot_t *slot = queue_slot(queue, part);
    failed |= (queue_traits(slot) & TRAIT_TRANSFERS) && transfer_failed(queue, slot) &&
              queue_slot_kept(queue, part);
  }
  if (__builtin_expect(!failed, 1))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_DEVICE_LOST, "the device failed to carry out a copy");
}

rawhal_status_t rawhal_queue_wait(rawhal_queue_t *queue, rawhal_ticket_t ticket, uint64_t deadline,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = queue_check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  for (;;) {
    int64_t target;
    switch (queue_progress(queue, ticket, &target, error)) {
    case QUEUE_FINISHED:
      if (queue->gate.lease || transfers_to_deliver(queue)) /* charged as soon as a thread knows */
        queue_drain(queue);
      return queue_check_result(queue, ticket, error);
    case QUEUE_FAILED:
      return queue->cause.status;
    case QUEUE_RUNNING:
      break;
    }
    if (deadline == 0)
      return rawhal_fail(error, RAWHAL_WOULD_BLOCK, "ticket %llu has not finished",
                         (unsigned long long)ticket);
    if (deadline != RAWHAL_FOREVER && clock_now() >= deadline)
      return rawhal_fail(error, RAWHAL_TIMED_OUT,
                         "ticket %llu had not finished when the deadline passed",
                         (unsigned long long)ticket);
    slot_sleep(queue, queue_slot(queue, ticket), target, deadline);
  }
}
