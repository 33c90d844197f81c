/* Timepoints and steps: lists, and what is spare of them. */
#include "queue/timeline/internal.h"

#include "base/cancel.h"
#include "base/error.h"

/* The last that is below `value`; NULL: none is. Mostly that is the last of all. */
static timepoint_t *find_below(const rawhal_semaphore_t *semaphore, uint64_t value)
{
  timepoint_t *at = semaphore->last;
  while (at && at->value >= value)
    at = at->previous;
  return at;
}

static timepoint_t *after(const rawhal_semaphore_t *semaphore, const timepoint_t *below)
{
  return below ? below->next : semaphore->first;
}

timepoint_t *point_find(const rawhal_semaphore_t *semaphore, uint64_t value)
{
  timepoint_t *found = after(semaphore, find_below(semaphore, value));
  return found && found->value == value ? found : NULL;
}

/* One with a signal of 1, in no list. */
static rawhal_status_t point_take(timepoint_t **point, rawhal_error_t *error)
{
  const hsa_table_t *hsa = timelines.hsa;
  timepoint_t *made = timelines.spare_points;
  if (made) {
    timelines.spare_points = made->next;
    hsa->hsa_signal_store_screlease(made->signal, 1);
    *point = made;
    return RAWHAL_OK;
  }
  made = allocate_zeroed(timelines.allocator, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a value of a semaphore");
  WITHOUT_CANCELLATION();
  /* No thread sleeps on it: it needs none of the few interrupts that a device has. */
  hsa_status_t result =
      hsa->hsa_amd_signal_create(1, 0, NULL, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &made->signal);
  if (result != HSA_STATUS_SUCCESS) {
    allocate_free(timelines.allocator, made);
    return hsa_fail(hsa, result, error, "creating a signal for a value of a semaphore");
  }
  *point = made;
  return RAWHAL_OK;
}

rawhal_status_t point_make(rawhal_semaphore_t *semaphore, uint64_t value, timepoint_t **point,
                           rawhal_error_t *error)
{
  timepoint_t *below = find_below(semaphore, value), *next = after(semaphore, below), *made = NULL;
  *point = next;
  if (next && next->value == value)
    return RAWHAL_OK;
  *point = NULL;
  rawhal_status_t status = point_take(&made, error);
  if (status != RAWHAL_OK)
    return status;
  *made = (timepoint_t){.next = next,
                        .previous = below,
                        .semaphore = semaphore,
                        .value = value,
                        .signal = made->signal};
  *(below ? &below->next : &semaphore->first) = made;
  *(next ? &next->previous : &semaphore->last) = made;
  *point = made;
  return RAWHAL_OK;
}

void point_release(timepoint_t *point)
{
  if (point_signal(point) > 0)
    timelines.hsa->hsa_signal_store_screlease(point->signal, 0);
}

static void unlink_point(timepoint_t *point)
{
  rawhal_semaphore_t *semaphore = point->semaphore;
  *(point->previous ? &point->previous->next : &semaphore->first) = point->next;
  *(point->next ? &point->next->previous : &semaphore->last) = point->previous;
}

void point_put(timepoint_t *point)
{
  if (point->uses || point->exported)
    return;
  if (point->semaphore)
    unlink_point(point);
  point->next = timelines.spare_points;
  timelines.spare_points = point;
}

void point_leave(timepoint_t *point)
{
  if (point->left)
    return;
  point->left = true;
  ++point->uses;
  point->next_left = timelines.left_points;
  timelines.left_points = point;
}

void point_end(timepoint_t *point, bool failed)
{
  rawhal_semaphore_t *semaphore = point->semaphore;
  unlink_point(point);
  point->semaphore = NULL;
  point->waits = NULL;
  point->failed = failed;
  if (point->exported) {
    point->next = semaphore->exported;
    semaphore->exported = point;
  }
  point_put(point);
}

rawhal_status_t steps_reserve(size_t count, rawhal_error_t *error)
{
  const timeline_step_t *at = timelines.spare_steps;
  for (; at && count; at = at->next)
    --count;
  for (; count; --count) {
    timeline_step_t *made = allocate_zeroed(timelines.allocator, 1, sizeof(*made));
    if (!made)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a step of a timeline");
    made->next = timelines.spare_steps;
    timelines.spare_steps = made;
  }
  return RAWHAL_OK;
}

static void queue_enter(rawhal_queue_t *queue)
{
  queue_timeline_t *timeline = &queue->timeline;
  timeline->previous = NULL;
  timeline->next = timelines.queues;
  if (timelines.queues)
    timelines.queues->timeline.previous = queue;
  timelines.queues = queue;
}

static void queue_exit(rawhal_queue_t *queue)
{
  queue_timeline_t *timeline = &queue->timeline;
  *(timeline->previous ? &timeline->previous->timeline.next : &timelines.queues) = timeline->next;
  if (timeline->next)
    timeline->next->timeline.previous = timeline->previous;
}

void step_add(rawhal_queue_t *queue, uint64_t ticket, timepoint_t *point, bool signals)
{
  queue_timeline_t *timeline = &queue->timeline;
  timeline_step_t *step = timelines.spare_steps;
  timelines.spare_steps = step->next;
  *step = (timeline_step_t){.queue = queue, .point = point, .ticket = ticket, .signals = signals};
  ++point->uses;
  if (signals) {
    point->signaller = step;
  } else {
    step->next_wait = point->waits;
    point->waits = step;
  }
  if (!timeline->first)
    queue_enter(queue);
  *(timeline->first ? &timeline->last->next : &timeline->first) = step;
  timeline->last = step;
}

void step_forget(timeline_step_t *step)
{
  for (timeline_step_t **at = &step->point->waits; *at; at = &(*at)->next_wait)
    if (*at == step) {
      *at = step->next_wait;
      break;
    }
}

void step_drop(rawhal_queue_t *queue)
{
  queue_timeline_t *timeline = &queue->timeline;
  timeline_step_t *step = timeline->first;
  timepoint_t *point = step->point;
  timeline->first = step->next;
  if (!timeline->first)
    queue_exit(queue);
  if (point->signaller == step)
    point->signaller = NULL;
  else
    step_forget(step);
  --point->uses;
  point_put(point);
  step->next = timelines.spare_steps;
  timelines.spare_steps = step;
}
