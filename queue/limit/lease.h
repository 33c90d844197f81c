/* What leases hold in advance. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_LEASE_H
#define RAWHAL_QUEUE_LIMIT_LEASE_H

#include "queue/limit/limiter.h"

/* Tells a lease which caps there are. The caller holds leases_lock. */
void limiter_set_caps(const rawhal_limiter_t *limiter, limit_lease_t *lease);

/* A lease gives back what it has not spent. */
void limiter_return_credit(rawhal_limiter_t *limiter, limit_lease_t *lease);

/* What it should get on top of what it has, as far as limits allow, if that will do for a few more
 * batches like the last, which was estimated to take `last_ns`; if not it is not worth taking.
 * `ns`: device time that it may hold. `members`: processes of the tenant. `room`: submissions that
 * may still go in flight. */
bool lease_wants(const limit_lease_t *lease, uint64_t ns, uint32_t members, uint64_t room,
                 const limit_cost_t *last, uint64_t last_ns, credit_t *more);

/* What of the process's flight `credit` is, whose time and submissions are counted elsewhere. */
flight_t credit_flight(const credit_t *credit);

/* Gives it `more`, which has been taken from the levels above. False: another thread has filled it
 * meanwhile, and both do not fit. */
bool lease_fill(limit_lease_t *lease, const credit_t *more);

#endif
