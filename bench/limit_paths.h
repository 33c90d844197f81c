/* The paths of queue/limit that are measured, in C: their inline functions use _Atomic. */
#ifndef BENCH_LIMIT_PATHS_H
#define BENCH_LIMIT_PATHS_H

#include "queue/limit.h"

typedef struct limit_lease limit_lease_t;

limit_lease_t *paths_lease(rawhal_limiter_t *limiter);
void paths_lease_destroy(limit_lease_t *lease);
/* Admits `count` dispatches of 10 ns one by one, as queues do; false when one is refused. */
bool paths_admit(limit_lease_t *lease, unsigned count);
/* What `count` submissions do about limits where there are none: as queue/submit.c asks. */
bool paths_unlimited(limit_lease_t *const *lease, unsigned count);
/* Ends the `count` dispatches admitted last. */
void paths_complete(limit_lease_t *lease, unsigned count);
/* What a clock shared by all, without leases, would cost: admission and charge at four levels. */
void paths_shared_clocks(unsigned count);
bool paths_memory(rawhal_limiter_t *limiter, unsigned count);

#endif
