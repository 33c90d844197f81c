/* One level's clock: the generic cell rate algorithm (ITU-T I.371, virtual scheduling) in device
 * time. Internal; header only.
 *
 * `tat` is the time up to which the level has paid. A kernel that took d ns moves it by d / share,
 * from no earlier than the kernel's start; a dispatch is admitted while `tat`, with what is in
 * flight added by estimate, is no further ahead of now than the burst. The long-run share is exact
 * by construction: nothing is sampled, nothing is tuned. */
#ifndef RAWHAL_QUEUE_LIMIT_NODE_H
#define RAWHAL_QUEUE_LIMIT_NODE_H

#include "queue/limit/region.h"

/* What no honest clock exceeds: a day ahead. More is damage, and counts as now. */
#define NODE_MAX_DEBT_NS 86400000000000ull

static inline uint64_t node_load(const _Atomic uint64_t *word)
{
  return atomic_load_explicit(word, memory_order_relaxed);
}

static inline bool node_is_limited(const region_node_t *node)
{
  return node_load(&node->share) < REGION_SHARE_ONE;
}

static inline uint64_t node_tat(const region_node_t *node, uint64_t now)
{
  uint64_t tat = node_load(&node->tat);
  return tat > now && tat - now > NODE_MAX_DEBT_NS ? now : tat;
}

static inline uint64_t node_burst(const region_node_t *node)
{
  uint64_t burst = node_load(&node->burst);
  return burst < NODE_MAX_DEBT_NS ? burst : NODE_MAX_DEBT_NS;
}

/* Time on the level's clock of `ns` on the device. A share of 0 never gets there. */
static inline uint64_t node_cost(uint64_t share, uint64_t ns)
{
  if (share >= REGION_SHARE_ONE)
    return ns;
  if (ns > UINT64_MAX >> 2)
    ns = UINT64_MAX >> 2;
  if (share == 0)
    return ns ? NODE_MAX_DEBT_NS : 0;
  unsigned __int128 cost = ((unsigned __int128)ns << 32) / share;
  return cost < NODE_MAX_DEBT_NS ? (uint64_t)cost : NODE_MAX_DEBT_NS;
}

/* Device time of `ns` on the level's clock. */
static inline uint64_t node_device_time(uint64_t share, uint64_t ns)
{
  return share >= REGION_SHARE_ONE ? ns : (uint64_t)((unsigned __int128)ns * share >> 32);
}

/* Charges device time that began at `start`. */
static inline void node_charge(region_node_t *node, uint64_t now, uint64_t start, uint64_t ns)
{
  uint64_t share = node_load(&node->share);
  if (share >= REGION_SHARE_ONE)
    return;
  uint64_t cost = node_cost(share, ns), seen = node_load(&node->tat), next;
  do {
    uint64_t tat = seen > now && seen - now > NODE_MAX_DEBT_NS ? now : seen;
    next = (tat > start ? tat : start) + cost;
    if (next > now && next - now > NODE_MAX_DEBT_NS)
      next = now + NODE_MAX_DEBT_NS;
  } while (!atomic_compare_exchange_weak_explicit(&node->tat, &seen, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

/* Takes back device time that was charged. */
static inline void node_refund(region_node_t *node, uint64_t ns)
{
  uint64_t share = node_load(&node->share);
  if (share >= REGION_SHARE_ONE || ns == 0)
    return;
  uint64_t cost = node_cost(share, ns), seen = node_load(&node->tat), next;
  do
    next = seen > cost ? seen - cost : 0;
  while (!atomic_compare_exchange_weak_explicit(&node->tat, &seen, next, memory_order_relaxed,
                                                memory_order_relaxed));
}

/* May more go behind `open` ns in flight? As in ITU-T I.371, what is to go is not counted itself,
 * so that a kernel longer than the burst may go, too, and the next one may queue behind it in time.
 * False: `*retry` is the earliest time at which it may, if nothing in flight is charged before; now
 * or earlier when only a charge can change the answer. */
static inline bool node_admits(const region_node_t *node, uint64_t now, uint64_t open,
                               uint64_t *retry)
{
  uint64_t share = node_load(&node->share);
  *retry = 0;
  if (share >= REGION_SHARE_ONE)
    return true;
  if (share == 0) {
    *retry = now + NODE_MAX_DEBT_NS;
    return false;
  }
  uint64_t burst = node_burst(node), tat = node_tat(node, now);
  uint64_t ahead = node_cost(share, open);
  if ((tat > now ? tat : now) + ahead <= now + burst)
    return true;
  if (ahead <= burst)
    *retry = tat + ahead - burst;
  else
    *retry = tat > burst ? tat - burst : 0;
  return false;
}

/* The same for dispatches a second, which are paid when they are admitted. */
static inline bool node_rate_admits(const region_node_t *node, uint64_t now, uint64_t *retry)
{
  uint64_t rate = node_load(&node->rate), burst = node_burst(node),
           tat = node_load(&node->rate_tat);
  *retry = 0;
  if (rate == RAWHAL_UNLIMITED || (rate && (tat <= now + burst || tat - now > NODE_MAX_DEBT_NS)))
    return true;
  *retry = rate ? tat - burst : now + NODE_MAX_DEBT_NS;
  return false;
}

/* And pays. */
static inline bool node_rate_take(region_node_t *node, uint64_t now, uint64_t launches,
                                  uint64_t *retry)
{
  if (!node_rate_admits(node, now, retry))
    return false;
  uint64_t rate = node_load(&node->rate), burst = node_burst(node);
  if (rate == RAWHAL_UNLIMITED || rate == 0)
    return true; /* so since a moment ago */
  unsigned __int128 exact = (unsigned __int128)launches * 1000000000u / rate;
  uint64_t cost = exact < NODE_MAX_DEBT_NS ? (uint64_t)exact : NODE_MAX_DEBT_NS;
  uint64_t seen = node_load(&node->rate_tat), next;
  do {
    uint64_t tat = seen > now && seen - now > NODE_MAX_DEBT_NS ? now : seen;
    if (tat > now + burst) {
      *retry = tat - burst;
      return false;
    }
    next = (tat > now ? tat : now) + cost;
  } while (!atomic_compare_exchange_weak_explicit(&node->rate_tat, &seen, next,
                                                  memory_order_relaxed, memory_order_relaxed));
  return true;
}

static inline void node_rate_return(region_node_t *node, uint64_t launches)
{
  uint64_t rate = node_load(&node->rate);
  if (rate == RAWHAL_UNLIMITED || rate == 0 || launches == 0)
    return;
  uint64_t cost = launches * 1000000000u / rate, seen = node_load(&node->rate_tat), next;
  do
    next = seen > cost ? seen - cost : 0;
  while (!atomic_compare_exchange_weak_explicit(&node->rate_tat, &seen, next, memory_order_relaxed,
                                                memory_order_relaxed));
}

#endif
