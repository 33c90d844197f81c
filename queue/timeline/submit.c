/* Submissions that wait for values and signal them.
 *
 *   plan: check everything, find or make the timepoints -> room -> steps -> packets -> doorbell
 *
 * All of it under the lock, so that which signal a wait has found stays true. Room is not waited
 * for under it: without room the plan is dropped, and made anew when there is some. */
#include "queue/shared.h"
#include "queue/timeline/internal.h"
#include "queue/wait.h"

#include "base/error.h"

#include <inttypes.h>

/* What is asked for. */
typedef struct request {
  const rawhal_timepoint_t *waits, *signals;
  size_t wait_count, signal_count;
  hsa_signal_t foreign; /* waits for it, too, until it is at most `target`; 0: none */
  int64_t target;
} request_t;

typedef struct plan {
  timepoint_t *waits[RAWHAL_MAX_TIMEPOINTS], *signals[RAWHAL_MAX_TIMEPOINTS];
  uint32_t wait_count, signal_count, packets;
  bool passes; /* over a value that is waited for */
} plan_t;

/* ---- Checks ---- */

rawhal_status_t signal_check(const rawhal_semaphore_t *semaphore, uint64_t value,
                             rawhal_error_t *error)
{
  char name[SEMAPHORE_NAME_BYTES];
  if (semaphore_fails(semaphore, value))
    return semaphore_cause(semaphore, error);
  if (value <= semaphore->value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s cannot be signalled %" PRIu64 ": it has reached %" PRIu64,
                       semaphore_name(semaphore, name), value, semaphore->value);
  const timepoint_t *point = point_find(semaphore, value);
  if (point && point->signaller)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "%s cannot be signalled %" PRIu64 " twice: ticket %" PRIu64
                       " of queue %" PRIu64 " is going to do so",
                       semaphore_name(semaphore, name), value, point->signaller->ticket,
                       point->signaller->queue->id);
  return RAWHAL_OK;
}

/* Without the lock. */
static rawhal_status_t check_all(const rawhal_timepoint_t *points, size_t count, const char *what,
                                 rawhal_error_t *error)
{
  if (count > RAWHAL_MAX_TIMEPOINTS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%zu %ss, a submission takes at most %d", count,
                       what, RAWHAL_MAX_TIMEPOINTS);
  if (!points && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%ss is NULL", what);
  for (size_t i = 0; i < count; ++i) {
    rawhal_status_t status = semaphore_check(points[i].semaphore, error);
    if (status != RAWHAL_OK)
      return rawhal_fail_of(error, status, "%s %zu", what, i);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_waits(const request_t *request, rawhal_error_t *error)
{
  for (size_t i = 0; i < request->wait_count; ++i) {
    const rawhal_timepoint_t *wait = &request->waits[i];
    if (semaphore_fails(wait->semaphore, wait->value))
      return rawhal_fail_of(error, semaphore_cause(wait->semaphore, error), "wait %zu", i);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_signals(const request_t *request, rawhal_error_t *error)
{
  for (size_t i = 0; i < request->signal_count; ++i) {
    const rawhal_timepoint_t *signal = &request->signals[i];
    rawhal_status_t status = signal_check(signal->semaphore, signal->value, error);
    if (status != RAWHAL_OK)
      return rawhal_fail_of(error, status, "signal %zu", i);
    for (size_t j = 0; j < i; ++j)
      if (request->signals[j].semaphore == signal->semaphore)
        return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                           "signals %zu and %zu are of the same semaphore", j, i);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_request(rawhal_queue_t *queue, const request_t *request,
                                     rawhal_error_t *error)
{
  if (queue->timeline.dead) {
    if (error)
      *error = queue->cause;
    return queue->cause.status;
  }
  rawhal_status_t status = timeline_check(queue, ring_last_ticket(&queue->ring) + 1, error);
  if (status == RAWHAL_OK)
    status = check_waits(request, error);
  if (status == RAWHAL_OK)
    status = check_signals(request, error);
  if (status == RAWHAL_OK && request->signal_count)
    status = circle_check(queue, request->waits, request->wait_count, request->signals,
                          request->signal_count, error);
  return status;
}

/* ---- Values that are passed over ---- */

bool point_precedes(const timepoint_t *point, const rawhal_queue_t *queue, uint64_t ticket)
{
  for (const timeline_step_t *wait = point->waits; wait; wait = wait->next_wait)
    if (wait->queue == queue && wait->ticket <= ticket)
      return true;
  return false;
}

static bool is_among(const timepoint_t *point, timepoint_t *const *points, uint32_t count)
{
  for (uint32_t i = 0; i < count; ++i)
    if (points[i] == point)
      return true;
  return false;
}

/* Of those that the plan waits for `among` are going to precede, too. */
static bool passes_over(const timepoint_t *point, const rawhal_queue_t *queue, uint64_t ticket,
                        timepoint_t *const *among, uint32_t count)
{
  for (const timepoint_t *below = point->previous; below && !below->signaller;
       below = below->previous)
    if ((below->waits || below->exported) && !point_precedes(below, queue, ticket) &&
        !is_among(below, among, count))
      return true;
  return false;
}

const timepoint_t *point_passing(const rawhal_semaphore_t *semaphore)
{
  for (const timepoint_t *point = semaphore->first; point; point = point->next)
    if (point->signaller &&
        passes_over(point, point->signaller->queue, point->signaller->ticket, NULL, 0))
      return point;
  return NULL;
}

/* Would there be such a value, if the plan were carried out? */
static bool plan_passes(const plan_t *plan, const rawhal_queue_t *queue)
{
  for (uint32_t i = 0; i < plan->wait_count; ++i) {
    const timepoint_t *wait = plan->waits[i], *next = wait;
    while (next && !next->signaller && !is_among(next, plan->signals, plan->signal_count))
      next = next->next;
    if (next && next != wait && next->signaller &&
        !point_precedes(wait, next->signaller->queue, next->signaller->ticket))
      return true;
  }
  for (uint32_t i = 0; i < plan->signal_count; ++i)
    if (passes_over(plan->signals[i], queue, UINT64_MAX, plan->waits, plan->wait_count))
      return true;
  return false;
}

/* ---- The plan ---- */

static void plan_drop(plan_t *plan)
{
  for (uint32_t i = 0; i < plan->wait_count; ++i)
    point_put(plan->waits[i]);
  for (uint32_t i = 0; i < plan->signal_count; ++i)
    point_put(plan->signals[i]);
}

/* What is there of it so far is the plan's, whatever this returns. */
static rawhal_status_t plan_points(const request_t *request, plan_t *plan, rawhal_error_t *error)
{
  for (size_t i = 0; i < request->wait_count; ++i) {
    const rawhal_timepoint_t *wait = &request->waits[i];
    timepoint_t *point;
    if (wait->value <= wait->semaphore->value)
      continue;
    rawhal_status_t status = point_make(wait->semaphore, wait->value, &point, error);
    if (status != RAWHAL_OK)
      return status;
    if (!is_among(point, plan->waits, plan->wait_count))
      plan->waits[plan->wait_count++] = point;
  }
  for (size_t i = 0; i < request->signal_count; ++i) {
    const rawhal_timepoint_t *signal = &request->signals[i];
    timepoint_t **point = &plan->signals[plan->signal_count];
    rawhal_status_t status = point_make(signal->semaphore, signal->value, point, error);
    if (status != RAWHAL_OK)
      return status;
    ++plan->signal_count;
  }
  return RAWHAL_OK;
}

/* The last packet that waits may signal, and so does each after it; all signal something, the last
 * one that the submission has finished. */
static uint32_t packets_of(uint32_t waits, uint32_t signals)
{
  return waits ? waits + signals : signals + 1;
}

static rawhal_status_t plan_make(rawhal_queue_t *queue, const request_t *request, plan_t *plan,
                                 rawhal_error_t *error)
{
  rawhal_status_t status = check_request(queue, request, error);
  if (status == RAWHAL_OK)
    status = plan_points(request, plan, error);
  if (status != RAWHAL_OK)
    return status;
  plan->packets = packets_of(plan->wait_count + (request->foreign.handle != 0), plan->signal_count);
  if (plan->packets > queue->ring.packets)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "it takes %" PRIu32 " packets, the queue has %" PRIu32, plan->packets,
                       queue->ring.packets);
  status = steps_reserve(plan->wait_count + plan->signal_count, error);
  plan->passes = status == RAWHAL_OK && plan_passes(plan, queue);
  if (__builtin_expect(plan->passes, 0))
    status = timelines_thread(queue->device, error);
  return status;
}

/* ---- Submitting ---- */

static void packet_write(rawhal_queue_t *queue, const request_t *request, const plan_t *plan,
                         const ring_reservation_t *reserved, hsa_signal_t finished, uint32_t i)
{
  void *slot = packet_slot(queue, reserved->packet + i);
  uint32_t foreign = request->foreign.handle != 0, waits = plan->wait_count + foreign;
  uint32_t first = plan->packets - plan->signal_count - 1; /* that signals */
  hsa_signal_t completion = {0};
  if (i >= first)
    completion = i - first < plan->signal_count ? plan->signals[i - first]->signal : finished;
  if (i >= waits) {
    packet_put_barrier(slot, completion);
    return;
  }
  if (i < foreign)
    packet_write_barrier_value(slot, request->foreign, request->target, completion);
  else
    packet_write_barrier_value(slot, plan->waits[i - foreign]->signal, 0, completion);
  packet_publish(slot, packet_header_barrier_value());
}

static void plan_submit(rawhal_queue_t *queue, const request_t *request, const plan_t *plan,
                        const ring_reservation_t *reserved)
{
  for (uint32_t i = 0; i < plan->wait_count; ++i)
    step_add(queue, reserved->ticket, plan->waits[i], false);
  for (uint32_t i = 0; i < plan->signal_count; ++i)
    step_add(queue, reserved->ticket, plan->signals[i], true);
  for (uint32_t i = 0; i < plan->packets; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  hsa_signal_t finished =
      submit_begin(queue, reserved, &(submission_t){.packets = plan->packets, .signals = 1});
  for (uint32_t i = plan->packets; i-- > 0;) /* the first comes last */
    packet_write(queue, request, plan, reserved, finished, i);
  submit_ring(queue, reserved, plan->packets);
}

/* The caller holds the lock. `*placed` false with OK: there is no room. */
static rawhal_status_t place(rawhal_queue_t *queue, const request_t *request, bool *placed,
                             ring_reservation_t *reserved, rawhal_error_t *error)
{
  plan_t plan; /* of which only what is counted is set */
  plan.wait_count = plan.signal_count = 0;
  timelines_settle();
  rawhal_status_t status = plan_make(queue, request, &plan, error);
  *placed = status == RAWHAL_OK && submit_try(queue, plan.packets, reserved);
  if (!*placed) {
    plan_drop(&plan);
    return status;
  }
  plan_submit(queue, request, &plan, reserved);
  if (atomic_load(&queue->health) == QUEUE_DEAD) /* it may have died before these were there */
    timelines_settle();
  if (__builtin_expect(plan.passes, 0))
    timelines_wake();
  else if (plan.signal_count)
    timelines_changed();
  return RAWHAL_OK;
}

static rawhal_status_t place_until(rawhal_queue_t *queue, const request_t *request,
                                   uint64_t deadline, ring_reservation_t *reserved,
                                   rawhal_error_t *error)
{
  for (bool again = false, placed;; again = true) {
    rawhal_status_t status = queue_check(queue, error);
    if (status != RAWHAL_OK)
      return status;
    timelines_lock();
    status = place(queue, request, &placed, reserved, error);
    timelines_unlock();
    if (placed || status != RAWHAL_OK)
      return status;
    queue_drain(queue); /* which may make room */
    if (!again)
      continue;
    if (deadline == 0)
      return rawhal_fail(error, RAWHAL_WOULD_BLOCK, "no room for the packets now");
    if (deadline != RAWHAL_FOREVER && clock_now() >= deadline)
      return rawhal_fail(error, RAWHAL_TIMED_OUT, "no room for the packets before the deadline");
    submit_wait_for_room(queue, deadline);
  }
}

static rawhal_status_t submit(rawhal_queue_t *queue, const request_t *request, uint64_t deadline,
                              rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  ring_reservation_t reserved;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = check_all(request->waits, request->wait_count, "wait", error);
  if (status == RAWHAL_OK)
    status = check_all(request->signals, request->signal_count, "signal", error);
  if (status == RAWHAL_OK)
    status = place_until(queue, request, deadline, &reserved, error);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket;
  return status;
}

rawhal_status_t rawhal_queue_timeline(rawhal_queue_t *queue, const rawhal_timepoint_t *waits,
                                      size_t wait_count, const rawhal_timepoint_t *signals,
                                      size_t signal_count, uint64_t deadline,
                                      rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  const request_t request = {
      .waits = waits, .signals = signals, .wait_count = wait_count, .signal_count = signal_count};
  return submit(queue, &request, deadline, ticket, error);
}

rawhal_status_t rawhal_semaphore_import(rawhal_semaphore_t *semaphore, uint64_t value,
                                        rawhal_queue_t *queue, uint64_t hsa_signal,
                                        int64_t signal_value, uint64_t deadline,
                                        rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!hsa_signal || signal_value == INT64_MAX)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       hsa_signal ? "the condition holds for every value of the signal"
                                  : "the signal is 0");
  const rawhal_timepoint_t signal = {semaphore, value};
  const request_t request = {
      .signals = &signal, .signal_count = 1, .foreign = {hsa_signal}, .target = signal_value};
  return submit(queue, &request, deadline, ticket, error);
}
