/* What this process may have in flight, and how large a grid may be. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CAPS_H
#define RAWHAL_QUEUE_LIMIT_CAPS_H

#include "queue/limit/limiter.h"

enum { CAPS = FLIGHT_NS - FLIGHT_DISPATCHES }; /* one for each kind between them */

typedef struct cap {
  rawhal_limit_t limit;
  flight_kind_t kind;
  const char *what;
  credit_kind_t credit; /* of what leases spend for it; CREDIT_KINDS: they hold nothing of it */
  uint64_t unit;        /* of the flight, in the credit */
} cap_t;

static const cap_t caps[CAPS] = {
    {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, FLIGHT_DISPATCHES, "dispatches in flight", CREDIT_LAUNCHES,
     1},
    {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, FLIGHT_WORKGROUPS, "work-groups in flight",
     CREDIT_WORKGROUPS, 1},
    {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, FLIGHT_KERNARG_BYTES, "kernarg bytes in flight", CREDIT_BLOCKS,
     CREDIT_BLOCK_BYTES},
};

/* QUOTA_EXCEEDED: what is asked for would never be admitted. Counted as a refusal for good. */
RAWHAL_CHECKED rawhal_status_t caps_check(limit_lease_t *lease, const limit_cost_t *cost,
                                          rawhal_error_t *error);

/* What of a batch is capped. */
static inline flight_t caps_flight(const limit_cost_t *cost)
{
  return (flight_t){{[FLIGHT_DISPATCHES] = cost->launches,
                     [FLIGHT_WORKGROUPS] = cost->workgroups,
                     [FLIGHT_KERNARG_BYTES] = cost->kernarg_bytes}};
}

/* All that a grant has in flight. */
static inline flight_t caps_granted(const limit_grant_t *grant)
{
  return (flight_t){{[FLIGHT_SUBMISSIONS] = grant->submissions,
                     [FLIGHT_DISPATCHES] = grant->launches,
                     [FLIGHT_WORKGROUPS] = grant->workgroups,
                     [FLIGHT_KERNARG_BYTES] = grant->kernarg_bytes,
                     [FLIGHT_NS] = grant->estimate_ns,
                     [FLIGHT_PROBES] = grant->probe}};
}

/* Counts what is capped in flight of the process, and answers NULL; or counts nothing, and answers
 * what there would be too much of. Needs no lock: flight_undo() takes it back. */
const char *caps_reserve(rawhal_limiter_t *limiter, const flight_t *flight);

/* Where a batch finds no room, leases give back what they have not spent, so that no batch waits
 * for that. The caller holds the lock, or gives back what one lease holds alone. */
void caps_make_room(rawhal_limiter_t *limiter, limit_lease_t *only, const limit_cost_t *cost);

#endif
