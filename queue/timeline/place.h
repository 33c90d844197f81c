/* Submissions that wait for values and signal them: checked and planned, then placed. Internal.
 *
 *   timeline_plan -> room -> timeline_submit, for each part
 *
 * All of it under the timelines' lock, so that which signal a wait has found stays true. A request
 * has one part, or those of a launch of several tickets, in which they come one after the other. */
#ifndef RAWHAL_QUEUE_TIMELINE_PLACE_H
#define RAWHAL_QUEUE_TIMELINE_PLACE_H

#include "queue/timeline/internal.h"

/* How many of a request's waits and signals are a part's. */
typedef struct timeline_part {
  uint32_t waits, signals;
} timeline_part_t;

enum { TIMELINE_PARTS = 2 * RAWHAL_MAX_TIMEPOINTS }; /* none is empty, but one alone may be */

typedef struct timeline_request {
  const rawhal_timepoint_t *waits, *signals; /* of all parts, in their order */
  const timeline_part_t *parts;
  uint32_t part_count;
  hsa_signal_t foreign; /* one part waits for it, too, until it is at most `target`; 0: none */
  int64_t target;
} timeline_request_t;

typedef struct timeline_plan {
  timepoint_t *waits[RAWHAL_MAX_TIMEPOINTS], *signals[RAWHAL_MAX_TIMEPOINTS];
  timeline_part_t parts[TIMELINE_PARTS]; /* of those: what has been reached is left out */
  uint32_t wait_count, signal_count;
  bool passes; /* over a value that is waited for */
} timeline_plan_t;

/* The last packet that waits may signal, and so does each after it; all signal something, the last
 * one that the submission has finished. */
static inline uint32_t timeline_packets(uint32_t waits, uint32_t signals)
{
  return waits ? waits + signals : signals + 1;
}

/* There are as many as there may be, and none is NULL or a parent's. Without the lock. */
RAWHAL_CHECKED rawhal_status_t timeline_check_points(const rawhal_timepoint_t *points, size_t count,
                                                     const char *what, rawhal_error_t *error);

/* Checks everything, and finds or makes the timepoints and steps; a plan that failed is dropped
 * already. */
RAWHAL_CHECKED rawhal_status_t timeline_plan(rawhal_queue_t *queue,
                                             const timeline_request_t *request,
                                             timeline_plan_t *plan, rawhal_error_t *error);
/* Without room. */
void timeline_drop(timeline_plan_t *plan);
/* The next part, from `at` on, which moves on: so many packets, of which those that it does not
 * need do nothing. */
void timeline_submit(rawhal_queue_t *queue, const timeline_request_t *request,
                     const timeline_plan_t *plan, timeline_part_t *at, uint32_t part,
                     uint32_t packets, const ring_reservation_t *reserved);
/* When all parts have been submitted. */
void timeline_placed(rawhal_queue_t *queue, const timeline_plan_t *plan);

/* What was to be done before the first of these tickets has not been, and the device has not come
 * to them: what they are to signal fails. Without the lock. */
void timeline_fail(rawhal_queue_t *queue, uint64_t first, uint64_t last,
                   const rawhal_error_t *cause);

#endif
