/* What a completion does, besides what admission.h says of it. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_COMPLETE_H
#define RAWHAL_QUEUE_LIMIT_COMPLETE_H

#include "queue/limit/limiter.h"

/* Charges what has finished. The caller holds the lock. */
void limiter_charge(rawhal_limiter_t *limiter, uint64_t now);
/* Of a lease that goes: its time is charged, and nothing of it is in flight any more. The caller
 * holds the lock. */
void lease_end_all(limit_lease_t *lease);
/* Charges what a member that is dead or leaves had running. The caller is the member itself, or the
 * only one that may reclaim it. */
void charge_unfinished(region_data_t *data, uint32_t slot, uint64_t now);

/* Tells others what is in flight here, and since when something has been running; and those who
 * wait. The caller holds the lock. */
void limiter_tell(rawhal_limiter_t *limiter, uint64_t now);
/* Says that chances may have changed, and wakes sleeping threads. */
void limiter_signal(rawhal_limiter_t *limiter);
void limit_signal_node(const limit_clock_t *clock, region_node_t *node);
/* The lease's oldest runs since `at`, or since it is known to have begun. */
void lease_runs_since(limit_lease_t *lease, uint64_t at);

#endif
