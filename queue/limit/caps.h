/* What this process may have in flight, and how large a grid may be. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CAPS_H
#define RAWHAL_QUEUE_LIMIT_CAPS_H

#include "queue/limit/limiter.h"

/* QUOTA_EXCEEDED: what is asked for would never be admitted. Counted as a refusal for good. */
RAWHAL_CHECKED rawhal_status_t caps_check(rawhal_limiter_t *limiter, const limit_cost_t *cost,
                                          rawhal_error_t *error);

/* What of a batch is capped. */
flight_t caps_flight(const limit_cost_t *cost);

/* Counts what is capped in flight of the process, and answers NULL; or counts nothing, and answers
 * what there would be too much of. Needs no lock: flight_undo() takes it back. */
const char *caps_reserve(rawhal_limiter_t *limiter, const flight_t *flight);

/* Where a batch finds no room, leases give back what they have not spent, so that no batch waits
 * for that. The caller holds the lock. */
void caps_make_room(rawhal_limiter_t *limiter, const limit_cost_t *cost);
/* The same with what the asking lease holds alone: needs no lock. */
void caps_make_room_of(limit_lease_t *lease, const limit_cost_t *cost);

#endif
