/* Deadlines, waiting, and giving back the room of what has finished. */
#include "queue/limited.h"

#include "base/error.h"

#include <sched.h>
#include <time.h>

static const uint64_t second_ns = 1000000000u;

uint64_t deadline_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

uint64_t rawhal_deadline_after(uint64_t nanoseconds)
{
  uint64_t now = deadline_now();
  return nanoseconds > RAWHAL_FOREVER - now ? RAWHAL_FOREVER : now + nanoseconds;
}

/* Sleeps until the slot's signal has reached `target` or the deadline has passed; may return early.
 * The runtime spins for a while itself before it blocks. */
static void slot_sleep(const rawhal_queue_t *queue, const queue_slot_t *slot, int64_t target,
                       uint64_t deadline)
{
  uint64_t ticks = UINT64_MAX;
  if (deadline != RAWHAL_FOREVER) {
    uint64_t now = deadline_now();
    if (now >= deadline)
      return;
    unsigned __int128 exact =
        (unsigned __int128)(deadline - now) * queue->device->timestamp_hz / second_ns + 1;
    ticks = exact < UINT64_MAX ? (uint64_t)exact : UINT64_MAX;
  }
  queue->device->hsa->hsa_signal_wait_scacquire(slot->signal, HSA_SIGNAL_CONDITION_LT, target + 1,
                                                ticks, HSA_WAIT_STATE_BLOCKED);
}

void queue_drain(rawhal_queue_t *queue)
{
  if (atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_FORKED)
    return; /* the lock may be another thread's, which is not here */
  pthread_mutex_lock(&queue->drain_lock);
  for (uint64_t ticket = ring_finished(&queue->ring) + 1;; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
      break;
    int64_t value = queue_slot_value(slot);
    if (value > atomic_load_explicit(&slot->target, memory_order_relaxed) ||
        queue_value_poisoned(value))
      break;
    if (queue->lease)
      limited_complete(queue, ticket, slot);
    ring_release(&queue->ring, slot->packets, slot->blocks);
  }
  pthread_mutex_unlock(&queue->drain_lock);
}

void queue_wait_for_room(rawhal_queue_t *queue, uint64_t deadline)
{
  uint64_t ticket = ring_finished(&queue->ring) + 1;
  const queue_slot_t *slot = queue_slot(queue, ticket);
  if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket) {
    sched_yield(); /* its submitter is between reserving and publishing */
    return;
  }
  int64_t target = atomic_load_explicit(&slot->target, memory_order_acquire);
  if (ring_finished(&queue->ring) < ticket) /* else the slot may be somebody else's by now */
    slot_sleep(queue, slot, target, deadline);
}

typedef enum progress { FINISHED, RUNNING, FAILED } progress_t;

/* Where a ticket that was given out stands; `target` is set when it is RUNNING. */
static progress_t ticket_progress(rawhal_queue_t *queue, uint64_t ticket, int64_t *target,
                                  rawhal_error_t *error)
{
  const queue_slot_t *slot = queue_slot(queue, ticket);
  uint64_t holder = atomic_load_explicit(&slot->ticket, memory_order_acquire);
  *target = atomic_load_explicit(&slot->target, memory_order_acquire);
  if (atomic_load_explicit(&queue->health, memory_order_relaxed) == QUEUE_FORKED)
    return queue_check(queue, error) == RAWHAL_OK ? RUNNING : FAILED;
  /* A slot is given to the next generation only after its ticket was counted as finished. */
  if (ring_finished(&queue->ring) >= ticket)
    return FINISHED;
  int64_t value = queue_slot_value(slot);
  if (queue_value_poisoned(value)) {
    if (queue_check(queue, error) == RAWHAL_OK)
      return RUNNING;
    return holder == ticket && slot->final <= *target ? FINISHED : FAILED;
  }
  return holder == ticket && value <= *target ? FINISHED : RUNNING;
}

static rawhal_status_t check_ticket(rawhal_queue_t *queue, uint64_t ticket, rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  uint64_t last = ring_last_ticket(&queue->ring);
  if (ticket == 0 || ticket > last)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "ticket %llu was never given out; the queue's last is %llu",
                       (unsigned long long)ticket, (unsigned long long)last);
  return RAWHAL_OK;
}

rawhal_status_t queue_dependency(rawhal_queue_t *queue, uint64_t ticket, hsa_signal_t *signal,
                                 int64_t *target, rawhal_error_t *error)
{
  rawhal_status_t status = check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  switch (ticket_progress(queue, ticket, target, error)) {
  case FINISHED:
    signal->handle = 0;
    break;
  case FAILED:
    return queue->cause.status;
  case RUNNING:
    *signal = queue_slot(queue, ticket)->signal;
  }
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_wait(rawhal_queue_t *queue, rawhal_ticket_t ticket, uint64_t deadline,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  for (;;) {
    int64_t target;
    switch (ticket_progress(queue, ticket, &target, error)) {
    case FINISHED:
      if (queue->lease) /* it is charged as soon as somebody knows */
        queue_drain(queue);
      return RAWHAL_OK;
    case FAILED:
      return queue->cause.status;
    case RUNNING:
      break;
    }
    if (deadline == 0)
      return rawhal_fail(error, RAWHAL_WOULD_BLOCK, "ticket %llu has not finished",
                         (unsigned long long)ticket);
    if (deadline != RAWHAL_FOREVER && deadline_now() >= deadline)
      return rawhal_fail(error, RAWHAL_TIMED_OUT,
                         "ticket %llu had not finished when the deadline passed",
                         (unsigned long long)ticket);
    slot_sleep(queue, queue_slot(queue, ticket), target, deadline);
  }
}

rawhal_status_t rawhal_queue_timing(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                    uint64_t *start_ns, uint64_t *end_ns, rawhal_error_t *error)
{
  if (!start_ns || !end_ns)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "start_ns or end_ns is NULL");
  *start_ns = *end_ns = 0;
  rawhal_status_t status = rawhal_queue_wait(queue, ticket, 0, error);
  if (status != RAWHAL_OK)
    return status;
  const queue_slot_t *slot = queue_slot(queue, ticket);
  hsa_amd_profiling_dispatch_time_t time = {0};
  hsa_status_t result = queue->device->hsa->hsa_amd_profiling_get_dispatch_time(
      queue->device->agent, slot->signal, &time);
  /* The device overwrites the times only after a later submission took the slot and its ticket. */
  if (atomic_load(&slot->ticket) != ticket)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "the times of ticket %llu were overwritten by later submissions",
                       (unsigned long long)ticket);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(queue->device->hsa, result, error, "reading dispatch times");
  unsigned __int128 hz = queue->device->timestamp_hz;
  *start_ns = (uint64_t)((unsigned __int128)time.start * second_ns / hz);
  *end_ns = (uint64_t)((unsigned __int128)time.end * second_ns / hz);
  return RAWHAL_OK;
}
