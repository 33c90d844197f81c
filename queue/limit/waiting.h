/* Admissions that wait. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_WAITING_H
#define RAWHAL_QUEUE_LIMIT_WAITING_H

#include "queue/limit/admit.h"

/* limit_admit_slow()'s way with the lock, until the deadline. */
RAWHAL_CHECKED rawhal_status_t admit_in_turn(limit_lease_t *lease, const limit_cost_t *cost,
                                             uint64_t deadline, limit_grant_t *grant,
                                             rawhal_error_t *error);

/* Tells others that we wait, and for what; or that no thread here does. */
void publish_wait(rawhal_limiter_t *limiter, uint64_t now, const refusal_t *refusal,
                  uint64_t until);

/* Counts the wait that is over, if there was one. */
void lease_admitted(limit_lease_t *lease);

#endif
