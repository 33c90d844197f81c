/* What device time counts in turns. Internal; header only. */
#ifndef RAWHAL_QUEUE_LIMIT_WEIGHT_H
#define RAWHAL_QUEUE_LIMIT_WEIGHT_H

#include "queue/limit/region.h"

/* Where a weight of 100 is one. */
static inline uint64_t limit_for_weight(uint64_t ns, const region_member_t *member)
{
  const uint64_t weight = atomic_load_explicit(&member->weight, memory_order_relaxed);
  return ns * 100 / (weight ? weight : 1);
}

/* What counts of device time that is given back: no more than when it was charged, whatever the
 * weight was then. */
static inline uint64_t limit_back_for_weight(uint64_t ns, const region_member_t *member)
{
  const uint64_t most = atomic_load_explicit(&member->weight_most, memory_order_relaxed);
  const uint64_t now = limit_for_weight(ns, member);
  const uint64_t least = most ? ns * 100 / most : now;
  return least < now ? least : now;
}

/* What was charged less what was given back of it; both only grow. */
static inline uint64_t limit_net(const _Atomic uint64_t *charged, const _Atomic uint64_t *refund)
{
  uint64_t paid = atomic_load_explicit(charged, memory_order_relaxed);
  uint64_t back = atomic_load_explicit(refund, memory_order_relaxed);
  return paid > back ? paid - back : 0;
}

#endif
