/* What has been reached, what has failed, and who is told. */
#include "queue/timeline/place.h"
#include "queue/wait.h"

#include "base/error.h"

#include <inttypes.h>

/* ---- Reaching ---- */

void semaphore_raise(rawhal_semaphore_t *semaphore, uint64_t value)
{
  if (value <= semaphore->value)
    return;
  semaphore->value = value;
  for (timepoint_t *point; (point = semaphore->first) && point->value <= value;) {
    point_release(point);
    point_end(point, false);
  }
}

/* ---- Failing ---- */

rawhal_status_t semaphore_cause(const rawhal_semaphore_t *semaphore, rawhal_error_t *error)
{
  char name[SEMAPHORE_NAME_BYTES];
  rawhal_status_t status =
      rawhal_fail(error, semaphore->cause.status, "%s never reaches %" PRIu64 ": %s",
                  semaphore_name(semaphore, name), semaphore->fails_at, semaphore->cause.message);
  if (error)
    error->hsa_status = semaphore->cause.hsa_status;
  return status;
}

static bool is_spoilt(const timeline_step_t *step)
{
  uint64_t spoilt = atomic_load_explicit(&step->queue->timeline.spoilt, memory_order_relaxed);
  return spoilt && step->ticket >= spoilt;
}

/* The cause is told as it is: through how many queues it came says nothing of it. */
static void spoil(rawhal_queue_t *queue, uint64_t ticket, const rawhal_error_t *cause)
{
  queue_timeline_t *timeline = &queue->timeline;
  uint64_t spoilt = atomic_load_explicit(&timeline->spoilt, memory_order_relaxed);
  if (spoilt && spoilt <= ticket)
    return;
  if (!spoilt)
    timeline->cause = *cause;
  atomic_store_explicit(&timeline->spoilt, ticket, memory_order_release);
  if (timeline->spreads)
    return;
  timeline->spreads = true;
  timeline->next_spoilt = timelines.spoilt;
  timelines.spoilt = queue;
}

/* Whoever waits is spoilt before it is let go. What a packet is still going to release waits for
 * that, so that it begins after the work before, as it would have. */
static void point_fail(timepoint_t *point, const rawhal_error_t *cause)
{
  for (const timeline_step_t *wait = point->waits; wait; wait = wait->next_wait)
    spoil(wait->queue, wait->ticket, cause);
  if (!point->signaller)
    point_release(point);
  point_end(point, true);
}

static void fail_from(rawhal_semaphore_t *semaphore, uint64_t value, const rawhal_error_t *cause)
{
  if (value == 0 || semaphore_fails(semaphore, value)) /* 0: there is none beyond what it has */
    return;
  semaphore->fails_at = value;
  semaphore->cause = *cause;
  for (timepoint_t *point; (point = semaphore->last) && point->value >= value;)
    point_fail(point, &semaphore->cause);
}

/* What queues that are spoilt were to signal, and so on. */
static void spread(void)
{
  for (rawhal_queue_t *queue; (queue = timelines.spoilt);) {
    queue_timeline_t *timeline = &queue->timeline;
    timelines.spoilt = timeline->next_spoilt;
    timeline->spreads = false;
    for (const timeline_step_t *step = timeline->first; step; step = step->next)
      if (step->signals && is_spoilt(step) && step->point->semaphore)
        semaphore_fail_at(step->point->semaphore, step->point->value, &timeline->cause);
  }
}

void semaphore_fail_at(rawhal_semaphore_t *semaphore, uint64_t value, const rawhal_error_t *cause)
{
  if (value <= semaphore->value)
    return;
  uint64_t comes = semaphore->value; /* yet */
  for (const timepoint_t *point = semaphore->first; point && point->value < value;
       point = point->next)
    if (point->signaller && !is_spoilt(point->signaller))
      comes = point->value;
  fail_from(semaphore, comes + 1, cause);
}

void semaphore_fail_now(rawhal_semaphore_t *semaphore, const rawhal_error_t *cause)
{
  fail_from(semaphore, semaphore->value + 1, cause);
  spread();
}

/* ---- Queues ---- */

/* By its own signal: the ticket's falls later. */
static void step_pass(const timeline_step_t *step)
{
  timepoint_t *point = step->point;
  if (step->signals && point->semaphore)
    semaphore_raise(point->semaphore, point->value);
}

/* Nothing of the queue happens any more: for `cause` what it was to signal fails. */
static void steps_fail(rawhal_queue_t *queue, const rawhal_error_t *cause)
{
  queue_timeline_t *timeline = &queue->timeline;
  for (timeline_step_t *step = timeline->first; step; step = step->next) {
    timepoint_t *point = step->point;
    if (!step->signals)
      step_forget(step);
    else if (point_signal(point) <= 0)
      step_pass(step);
    else
      point->signaller = NULL;
    if (step->signals && point->failed)
      point_release(point);
  }
  for (const timeline_step_t *step = timeline->first; step; step = step->next)
    if (step->signals && step->point->semaphore)
      semaphore_fail_at(step->point->semaphore, step->point->value, cause);
  spread();
}

static void die(rawhal_queue_t *queue, const rawhal_error_t *cause)
{
  queue->timeline.dead = true;
  steps_fail(queue, cause);
}

static void settle(rawhal_queue_t *queue)
{
  queue_timeline_t *timeline = &queue->timeline;
  for (const timeline_step_t *step = timeline->first; step && point_signal(step->point) <= 0;
       step = step->next)
    step_pass(step);
  while (timeline->first && !timeline->dead) {
    int64_t target;
    rawhal_error_t cause;
    queue_progress_t progress = queue_progress(queue, timeline->first->ticket, &target, &cause);
    if (progress == QUEUE_RUNNING)
      break;
    if (progress == QUEUE_FAILED) {
      die(queue, &cause);
      break;
    }
    step_pass(timeline->first);
    step_drop(queue);
  }
}

void timelines_settle(void)
{
  for (rawhal_queue_t *queue = timelines.queues, *next; queue; queue = next) {
    next = queue->timeline.next;
    settle(queue);
  }
  if (timelines.notices)
    notices_serve();
}

void timeline_fail(rawhal_queue_t *queue, uint64_t first, uint64_t last,
                   const rawhal_error_t *cause)
{
  timelines_lock();
  timelines_settle();
  for (const timeline_step_t *step = queue->timeline.first; step && step->ticket <= last;
       step = step->next)
    if (step->signals && step->ticket >= first && step->point->semaphore)
      semaphore_fail_at(step->point->semaphore, step->point->value, cause);
  spread();
  timelines_changed();
  timelines_unlock();
}

void timeline_died(void)
{
  timelines_lock();
  timelines_settle();
  timelines_changed();
  timelines_unlock();
}

void timeline_leave(rawhal_queue_t *queue, bool ended)
{
  queue_timeline_t *timeline = &queue->timeline;
  rawhal_error_t cause;
  (void)!rawhal_fail(&cause, RAWHAL_DEVICE_LOST, "the queue that was to signal it was destroyed");
  timelines_open();
  timelines_lock();
  timeline->leaving = true;
  for (uint64_t sleep = timelines.sleeps; timelines.sleeping && timelines.sleeps == sleep;) {
    timelines_wake();
    (void)clock_wait(&timelines.changed, &timelines.lock, UINT64_MAX);
  }
  timelines_settle();
  if (timeline->first && !timeline->dead)
    die(queue, &cause);
  while (timeline->first) {
    if (!ended)
      point_leave(timeline->first->point);
    step_drop(queue);
  }
  timelines_changed();
  timelines_trim();
}

rawhal_status_t timeline_spoilt(rawhal_queue_t *queue, uint64_t ticket, rawhal_error_t *error)
{
  const rawhal_error_t *cause = &queue->timeline.cause;
  rawhal_status_t status = rawhal_fail(
      error, cause->status,
      "ticket %" PRIu64 " came after a wait for a value of a semaphore, at ticket %" PRIu64
      ", that failed: %s",
      ticket, atomic_load(&queue->timeline.spoilt), cause->message);
  if (error)
    error->hsa_status = cause->hsa_status;
  return status;
}
