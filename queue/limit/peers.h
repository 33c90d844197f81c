/* What other processes do on the device, as a process finds it before it admits. Internal.
 *
 * Turns are start-time fair queueing: of those that have work, the one served least for its weight
 * goes first; processes of a tenant among themselves, and tenants at the device. A process has work
 * if it waits, or has something in flight, or had until a moment ago: a process that waits for each
 * of its kernels before it submits the next would otherwise lose its turn at each of them. */
#ifndef RAWHAL_QUEUE_LIMIT_PEERS_H
#define RAWHAL_QUEUE_LIMIT_PEERS_H

#include "queue/limit/limiter.h"
#include "queue/limit/node.h"

typedef struct peers {
  node_flight_t tenant, device;    /* in flight, of others: of our tenant, and of all */
  uint32_t tenant_members;         /* with us */
  bool yield_tenant, yield_device; /* another there goes first */
  bool others_wait;                /* one of them does */
  /* Of those that are active, the least that was charged; UINT64_MAX: none is. */
  uint64_t least_served, least_tenant_served;
  uint64_t most_served, most_tenant_served; /* of all, who have work or not */
  bool tenant_active;                       /* another process of our tenant is */
} peers_t;

/* `mine`: ns we have in flight, without what is to be admitted. The caller holds the lock. */
void peers_read(const rawhal_limiter_t *limiter, uint64_t now, uint64_t mine, peers_t *peers);

/* What device time counts in turns: a weight of 100 is one. */
static inline uint64_t limit_for_weight(uint64_t ns, const region_member_t *member)
{
  const uint64_t weight = atomic_load_explicit(&member->weight, memory_order_relaxed);
  return ns * 100 / (weight ? weight : 1);
}

#endif
