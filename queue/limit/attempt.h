/* Asking every level for a batch, once. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_ATTEMPT_H
#define RAWHAL_QUEUE_LIMIT_ATTEMPT_H

#include "queue/limit/limiter.h"

typedef struct refusal {
  region_level_t level; /* LEVEL_NONE: not refused */
  uint64_t retry;       /* 0: when something changes */
  const char *what;
  bool suspended;
} refusal_t;

/* Does any level limit the lease's device time? */
bool lease_has_share(const limit_lease_t *lease);

/* Takes all of a batch and fills the lease, or takes nothing and says who refused. Needs the lock
 * where a level has a share, or may get one meanwhile: without it, kernels never measured are
 * refused there. */
bool lease_attempt(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now, bool locked,
                   limit_grant_t *grant, refusal_t *refusal);

#endif
