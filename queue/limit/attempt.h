/* Asking every level for a batch, once. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_ATTEMPT_H
#define RAWHAL_QUEUE_LIMIT_ATTEMPT_H

#include "queue/limit/levels.h"

/* Has this process had something in flight for so long that more may be admitted while it runs?
 * Unless it has finished, which is known only when it is reaped. */
static inline bool limiter_seems_stalled(const rawhal_limiter_t *limiter, uint64_t now)
{
  return running_for(&limiter->me->hot.running_since, now) >= LIMIT_STALL_NS;
}

/* Takes all of a batch and fills the lease, or takes nothing and says who refused. Without the
 * lock, kernels never measured are refused where a level has a share: their first run is what
 * others have to learn from. What has finished and is not charged yet counts as in flight, as it
 * was estimated and for as long as it may have run: where it is known to have ended more may be
 * admitted, never less. */
bool lease_attempt(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now, bool locked,
                   limit_grant_t *grant, refusal_t *refusal);

#endif
