/* Paying for what has run. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_CHARGE_H
#define RAWHAL_QUEUE_LIMIT_CHARGE_H

#include "queue/limit/limiter.h"

/* Is anything that has finished not charged yet? */
static inline bool limiter_owes(const rawhal_limiter_t *limiter)
{
  return limiter->pending_count || limiter->pending_estimate_ns;
}

/* Charges what has finished. The caller holds the lock. */
void limiter_charge(rawhal_limiter_t *limiter, uint64_t now);
/* Charges what a member that is dead or leaves had running. The caller is the member itself, or the
 * only one that may reclaim it. */
void charge_unfinished(region_data_t *data, uint32_t slot, uint64_t now);

#endif
