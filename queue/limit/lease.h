/* What leases hold in advance. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_LEASE_H
#define RAWHAL_QUEUE_LIMIT_LEASE_H

#include "queue/limit/peers.h"

/* Tells a lease which caps there are. The caller holds leases_lock. */
void limiter_set_caps(const rawhal_limiter_t *limiter, limit_lease_t *lease);

/* Gives back what dispatches have paid of the tenant's rate. */
void lease_return_launches(limit_lease_t *lease, uint64_t launches);

/* A lease gives back what it has not spent. */
void lease_return_credit(limit_lease_t *lease);

/* Fills it for batches to come, when they are short and none waits. `last`: what is capped
 * of the one that was admitted now, which was estimated to take `last_ns`. */
void lease_refill(limit_lease_t *lease, uint64_t now, const flight_t *last, uint64_t last_ns,
                  peers_t *peers);

#endif
