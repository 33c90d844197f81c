/* Submissions that would wait for each other in a circle.
 *
 * A queue's steps come after all before them, and a wait for a value that somebody is to signal
 * comes after just that signal, as signals are reached in ascending order. A new submission can
 * only close a circle by what it signals, and only if somebody waits for that already. */
#include "queue/timeline/internal.h"

#include "base/error.h"

#include <inttypes.h>

typedef struct search {
  const rawhal_timepoint_t *signals;
  size_t signal_count;
  uint64_t visit;
  rawhal_queue_t *to_visit;
} search_t;

static bool is_signalled(const search_t *search, const rawhal_semaphore_t *semaphore,
                         uint64_t value)
{
  for (size_t i = 0; i < search->signal_count; ++i)
    if (search->signals[i].semaphore == semaphore && search->signals[i].value == value)
      return true;
  return false;
}

/* The queue's steps up to the ticket come before. */
static void visit(search_t *search, rawhal_queue_t *queue, uint64_t ticket)
{
  queue_timeline_t *timeline = &queue->timeline;
  if (timeline->visit == search->visit && timeline->visited >= ticket)
    return;
  timeline->visit = search->visit;
  timeline->visited = ticket;
  for (const rawhal_queue_t *at = search->to_visit; at; at = at->timeline.next_visit)
    if (at == queue)
      return;
  timeline->next_visit = search->to_visit;
  search->to_visit = queue;
}

static void visit_signaller(search_t *search, const timepoint_t *point)
{
  if (point && point->signaller)
    visit(search, point->signaller->queue, point->signaller->ticket);
}

static rawhal_status_t found(const rawhal_semaphore_t *semaphore, uint64_t value,
                             const timeline_step_t *waits, rawhal_error_t *error)
{
  char name[SEMAPHORE_NAME_BYTES];
  semaphore_name(semaphore, name);
  if (!waits)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "it would wait for %" PRIu64 " of %s, which it is itself to signal", value,
                       name);
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "a circle: it would come after ticket %" PRIu64 " of queue %" PRIu64
                     ", which waits for it to signal %" PRIu64 " of %s",
                     waits->ticket, waits->queue->id, value, name);
}

static rawhal_status_t visit_steps(search_t *search, rawhal_queue_t *queue, rawhal_error_t *error)
{
  for (const timeline_step_t *step = queue->timeline.first;
       step && step->ticket <= queue->timeline.visited; step = step->next) {
    const timepoint_t *point = step->point;
    if (step->signals || !point->semaphore)
      continue;
    if (is_signalled(search, point->semaphore, point->value))
      return found(point->semaphore, point->value, step, error);
    visit_signaller(search, point);
  }
  return RAWHAL_OK;
}

/* Whether anybody waits for what is to be signalled, or the submission itself. */
static bool may_close(const search_t *search, const rawhal_timepoint_t *waits, size_t wait_count)
{
  for (size_t i = 0; i < wait_count; ++i)
    if (is_signalled(search, waits[i].semaphore, waits[i].value))
      return true;
  for (size_t i = 0; i < search->signal_count; ++i) {
    const timepoint_t *point = point_find(search->signals[i].semaphore, search->signals[i].value);
    if (point && point->waits)
      return true;
  }
  return false;
}

rawhal_status_t circle_check(rawhal_queue_t *queue, const rawhal_timepoint_t *waits,
                             size_t wait_count, const rawhal_timepoint_t *signals,
                             size_t signal_count, rawhal_error_t *error)
{
  search_t search = {.signals = signals, .signal_count = signal_count};
  if (!may_close(&search, waits, wait_count))
    return RAWHAL_OK;
  search.visit = ++timelines.visits;
  for (size_t i = 0; i < wait_count; ++i) {
    if (is_signalled(&search, waits[i].semaphore, waits[i].value))
      return found(waits[i].semaphore, waits[i].value, NULL, error);
    if (waits[i].value > waits[i].semaphore->value)
      visit_signaller(&search, point_find(waits[i].semaphore, waits[i].value));
  }
  visit(&search, queue, UINT64_MAX);
  for (rawhal_queue_t *at; (at = search.to_visit);) {
    search.to_visit = at->timeline.next_visit;
    rawhal_status_t status = visit_steps(&search, at, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}
