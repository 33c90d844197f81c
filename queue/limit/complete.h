/* What has ended, besides what admission.h says of it. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_COMPLETE_H
#define RAWHAL_QUEUE_LIMIT_COMPLETE_H

#include "queue/limit/limiter.h"

/* Charges the time up to `until` in which a lease had something in flight and that is not charged
 * yet. */
void limiter_charge_running(rawhal_limiter_t *limiter, limit_lease_t *lease, uint64_t now,
                            uint64_t until);

#endif
