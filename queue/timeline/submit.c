/* Submissions that wait for values and signal them: place.h. Room is not waited for under the lock:
 * without room the plan is dropped, and made anew when there is some. */
#include "queue/graph/capture.h"
#include "queue/shared.h"
#include "queue/timeline/place.h"
#include "queue/wait.h"

#include "base/error.h"

#include <inttypes.h>

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

rawhal_status_t timeline_check_points(const rawhal_timepoint_t *points, size_t count,
                                      const char *what, rawhal_error_t *error)
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

static rawhal_status_t check_waits(const timeline_request_t *request, timeline_part_t at,
                                   uint32_t count, rawhal_error_t *error)
{
  for (uint32_t i = at.waits; i < at.waits + count; ++i) {
    const rawhal_timepoint_t *wait = &request->waits[i];
    if (semaphore_fails(wait->semaphore, wait->value))
      return rawhal_fail_of(error, semaphore_cause(wait->semaphore, error), "wait %u", i);
  }
  return RAWHAL_OK;
}

/* Whether one of a semaphore that has been signalled before in the request comes after that. */
static rawhal_status_t check_order(const timeline_request_t *request, timeline_part_t at,
                                   uint32_t which, rawhal_error_t *error)
{
  const rawhal_timepoint_t *signal = &request->signals[which];
  for (uint32_t i = 0; i < which; ++i) {
    const rawhal_timepoint_t *before = &request->signals[i];
    if (before->semaphore != signal->semaphore || (i < at.signals && before->value < signal->value))
      continue;
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       i < at.signals ? "signals %u and %u of the same semaphore do not ascend"
                                      : "signals %u and %u are of the same semaphore",
                       i, which);
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_signals(const timeline_request_t *request, timeline_part_t at,
                                     uint32_t count, rawhal_error_t *error)
{
  for (uint32_t i = at.signals; i < at.signals + count; ++i) {
    const rawhal_timepoint_t *signal = &request->signals[i];
    rawhal_status_t status = signal_check(signal->semaphore, signal->value, error);
    if (status != RAWHAL_OK)
      return rawhal_fail_of(error, status, "signal %u", i);
    status = check_order(request, at, i, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

static timeline_part_t after_part(timeline_part_t at, timeline_part_t part)
{
  return (timeline_part_t){at.waits + part.waits, at.signals + part.signals};
}

/* What a part signals comes after all that it and the parts before it wait for. */
static rawhal_status_t check_part(rawhal_queue_t *queue, const timeline_request_t *request,
                                  timeline_part_t at, timeline_part_t part, rawhal_error_t *error)
{
  rawhal_status_t status = check_waits(request, at, part.waits, error);
  if (status == RAWHAL_OK)
    status = check_signals(request, at, part.signals, error);
  if (status == RAWHAL_OK && part.signals)
    status = circle_check(queue, request->waits, at.waits + part.waits,
                          request->signals + at.signals, part.signals, error);
  return status;
}

static rawhal_status_t check_request(rawhal_queue_t *queue, const timeline_request_t *request,
                                     rawhal_error_t *error)
{
  if (queue->timeline.dead) {
    if (error)
      *error = queue->cause;
    return queue->cause.status;
  }
  timeline_part_t at = {0, 0};
  rawhal_status_t status = timeline_check(queue, ring_last_ticket(&queue->ring) + 1, error);
  for (uint32_t i = 0; status == RAWHAL_OK && i < request->part_count; ++i) {
    status = check_part(queue, request, at, request->parts[i], error);
    at = after_part(at, request->parts[i]);
  }
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

/* Of a part, which comes after what those before it signal, but not after what later ones do. */
static bool part_passes(const timeline_plan_t *plan, timeline_part_t at, timeline_part_t part,
                        const rawhal_queue_t *queue)
{
  const timeline_part_t end = after_part(at, part);
  for (uint32_t i = at.waits; i < end.waits; ++i) {
    const timepoint_t *wait = plan->waits[i], *next = wait;
    while (next && !next->signaller && !is_among(next, plan->signals, plan->signal_count))
      next = next->next;
    if (!next || next == wait)
      continue;
    if (next->signaller ? !point_precedes(wait, next->signaller->queue, next->signaller->ticket)
                        : is_among(next, plan->signals, at.signals))
      return true;
  }
  for (uint32_t i = at.signals; i < end.signals; ++i)
    if (passes_over(plan->signals[i], queue, UINT64_MAX, plan->waits, end.waits))
      return true;
  return false;
}

/* Would there be such a value, if the plan were carried out? */
static bool plan_passes(const timeline_plan_t *plan, uint32_t part_count,
                        const rawhal_queue_t *queue)
{
  timeline_part_t at = {0, 0};
  for (uint32_t i = 0; i < part_count; ++i) {
    if (part_passes(plan, at, plan->parts[i], queue))
      return true;
    at = after_part(at, plan->parts[i]);
  }
  return false;
}

/* ---- The plan ---- */

void timeline_drop(timeline_plan_t *plan)
{
  for (uint32_t i = 0; i < plan->wait_count; ++i)
    point_put(plan->waits[i]);
  for (uint32_t i = 0; i < plan->signal_count; ++i)
    if (!is_among(plan->signals[i], plan->waits, plan->wait_count)) /* one part signals it, and
                                                                       a later one waits for it */
      point_put(plan->signals[i]);
}

/* What is there of it so far is the plan's, whatever this returns. */
static rawhal_status_t plan_part(const timeline_request_t *request, timeline_part_t at,
                                 uint32_t which, timeline_plan_t *plan, rawhal_error_t *error)
{
  const timeline_part_t asked = request->parts[which], before = {plan->wait_count, 0};
  for (uint32_t i = 0; i < asked.waits; ++i) {
    const rawhal_timepoint_t *wait = &request->waits[at.waits + i];
    timepoint_t *point;
    if (wait->value <= wait->semaphore->value)
      continue;
    rawhal_status_t status = point_make(wait->semaphore, wait->value, &point, error);
    if (status != RAWHAL_OK)
      return status;
    if (!is_among(point, plan->waits, plan->wait_count))
      plan->waits[plan->wait_count++] = point;
  }
  for (uint32_t i = 0; i < asked.signals; ++i) {
    const rawhal_timepoint_t *signal = &request->signals[at.signals + i];
    timepoint_t **point = &plan->signals[plan->signal_count];
    rawhal_status_t status = point_make(signal->semaphore, signal->value, point, error);
    if (status != RAWHAL_OK)
      return status;
    ++plan->signal_count;
  }
  plan->parts[which] = (timeline_part_t){plan->wait_count - before.waits, asked.signals};
  return RAWHAL_OK;
}

static rawhal_status_t plan_points(const timeline_request_t *request, timeline_plan_t *plan,
                                   rawhal_error_t *error)
{
  timeline_part_t at = {0, 0};
  for (uint32_t i = 0; i < request->part_count; ++i) {
    rawhal_status_t status = plan_part(request, at, i, plan, error);
    if (status != RAWHAL_OK)
      return status;
    at = after_part(at, request->parts[i]);
  }
  return RAWHAL_OK;
}

rawhal_status_t timeline_plan(rawhal_queue_t *queue, const timeline_request_t *request,
                              timeline_plan_t *plan, rawhal_error_t *error)
{
  plan->wait_count = plan->signal_count = 0; /* what is counted is set, and nothing else */
  plan->passes = false;
  timelines_settle();
  rawhal_status_t status = check_request(queue, request, error);
  if (status == RAWHAL_OK)
    status = plan_points(request, plan, error);
  if (status == RAWHAL_OK)
    status = steps_reserve(plan->wait_count + plan->signal_count, error);
  if (status == RAWHAL_OK)
    plan->passes = plan_passes(plan, request->part_count, queue);
  if (__builtin_expect(plan->passes, 0))
    status = timelines_thread(queue->device, error);
  if (status != RAWHAL_OK)
    timeline_drop(plan);
  return status;
}

/* ---- Submitting ---- */

/* Of one part. */
typedef struct part {
  timepoint_t *const *waits, *const *signals;
  timeline_part_t counts;
  uint32_t packets;
  hsa_signal_t foreign, finished;
  int64_t target;
} part_t;

static void packet_write(void *slot, const part_t *part, uint32_t i)
{
  uint32_t foreign = part->foreign.handle != 0, waits = part->counts.waits + foreign;
  uint32_t first = part->packets - part->counts.signals - 1; /* that signals */
  hsa_signal_t completion = {0};
  if (i >= first)
    completion =
        i - first < part->counts.signals ? part->signals[i - first]->signal : part->finished;
  if (i >= waits) {
    packet_put_barrier(slot, completion);
    return;
  }
  if (i < foreign)
    packet_write_barrier_value(slot, part->foreign, part->target, completion);
  else
    packet_write_barrier_value(slot, part->waits[i - foreign]->signal, 0, completion);
  packet_publish(slot, packet_header_barrier_value());
}

void timeline_submit(rawhal_queue_t *queue, const timeline_request_t *request,
                     const timeline_plan_t *plan, timeline_part_t *at, uint32_t part,
                     uint32_t packets, const ring_reservation_t *reserved)
{
  part_t is = {.waits = plan->waits + at->waits,
               .signals = plan->signals + at->signals,
               .counts = plan->parts[part],
               .packets = packets,
               .foreign = request->foreign,
               .target = request->target};
  for (uint32_t i = 0; i < is.counts.waits; ++i)
    step_add(queue, reserved->ticket, is.waits[i], false);
  for (uint32_t i = 0; i < is.counts.signals; ++i)
    step_add(queue, reserved->ticket, is.signals[i], true);
  for (uint32_t i = 0; i < packets; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  is.finished = submit_begin(queue, reserved, &(submission_t){.packets = packets, .signals = 1});
  for (uint32_t i = packets; i-- > 0;) /* the first comes last */
    packet_write(packet_slot(queue, reserved->packet + i), &is, i);
  submit_ring(queue, reserved, packets);
  *at = after_part(*at, is.counts);
}

void timeline_placed(rawhal_queue_t *queue, const timeline_plan_t *plan)
{
  if (atomic_load(&queue->health) == QUEUE_DEAD) /* it may have died before these were there */
    timelines_settle();
  if (__builtin_expect(plan->passes, 0))
    timelines_wake();
  else if (plan->signal_count)
    timelines_changed();
}

/* The caller holds the lock. `*lacking` with OK: so many packets have no room; 0: all is done. What
 * launches call is part of it, which saves a tenth of the instructions. */
__attribute__((flatten)) static rawhal_status_t
place(rawhal_queue_t *queue, const timeline_request_t *request, uint32_t *lacking,
      ring_reservation_t *reserved, rawhal_error_t *error)
{
  timeline_plan_t plan;
  timeline_part_t at = {0, 0};
  *lacking = 0;
  rawhal_status_t status = timeline_plan(queue, request, &plan, error);
  if (status != RAWHAL_OK)
    return status;
  const uint32_t packets =
      timeline_packets(plan.wait_count + (request->foreign.handle != 0), plan.signal_count);
  if (packets > queue->ring.packets)
    status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "it takes %" PRIu32 " packets, the queue has %" PRIu32, packets,
                         queue->ring.packets);
  if (status == RAWHAL_OK && submit_try(queue, 1, packets, 0, reserved)) {
    timeline_submit(queue, request, &plan, &at, 0, packets, reserved);
    timeline_placed(queue, &plan);
    return RAWHAL_OK;
  }
  timeline_drop(&plan);
  *lacking = packets;
  return status;
}

static rawhal_status_t place_until(rawhal_queue_t *queue, const timeline_request_t *request,
                                   uint64_t deadline, ring_reservation_t *reserved,
                                   rawhal_error_t *error)
{
  for (bool again = false;; again = true) {
    uint32_t lacking;
    rawhal_status_t status = queue_check(queue, error);
    if (status != RAWHAL_OK)
      return status;
    timelines_lock();
    status = place(queue, request, &lacking, reserved, error);
    timelines_unlock();
    if (!lacking || status != RAWHAL_OK)
      return status;
    queue_drain(queue); /* which may make room */
    if (!again)
      continue;
    status = submit_no_room(lacking, 0, deadline, error);
    if (status != RAWHAL_OK)
      return status;
    submit_wait_for_room(queue, deadline);
  }
}

/* Of one part. */
static rawhal_status_t submit(rawhal_queue_t *queue, const timeline_request_t *request,
                              size_t wait_count, size_t signal_count, uint64_t deadline,
                              rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  ring_reservation_t reserved;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = timeline_check_points(request->waits, wait_count, "wait", error);
  if (status == RAWHAL_OK)
    status = timeline_check_points(request->signals, signal_count, "signal", error);
  if (status != RAWHAL_OK)
    return status;
  const timeline_part_t part = {(uint32_t)wait_count, (uint32_t)signal_count};
  timeline_request_t whole = *request;
  whole.parts = &part;
  whole.part_count = 1;
  status = place_until(queue, &whole, deadline, &reserved, error);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket;
  return status;
}

rawhal_status_t rawhal_queue_timeline(rawhal_queue_t *queue, const rawhal_timepoint_t *waits,
                                      size_t wait_count, const rawhal_timepoint_t *signals,
                                      size_t signal_count, uint64_t deadline,
                                      rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  rawhal_graph_t *captured = queue ? queue_captured(queue) : NULL;
  if (__builtin_expect(captured != NULL, 0)) {
    if (ticket)
      *ticket = 0;
    return wait_count || signal_count
               ? rawhal_graph_add_timeline(captured, waits, wait_count, signals, signal_count, NULL,
                                           NULL, RAWHAL_GRAPH_ALL, NULL, error)
               : rawhal_graph_add_barrier(captured, NULL, NULL, RAWHAL_GRAPH_ALL, NULL, error);
  }
  return submit(queue, &(timeline_request_t){.waits = waits, .signals = signals}, wait_count,
                signal_count, deadline, ticket, error);
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
  if (queue && queue_captured(queue))
    return capture_refuse("signals of the program's", error);
  const rawhal_timepoint_t signal = {semaphore, value};
  const timeline_request_t request = {
      .signals = &signal, .foreign = {hsa_signal}, .target = signal_value};
  return submit(queue, &request, 0, 1, deadline, ticket, error);
}
