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

/* The share that the clock runs at; while the share is 0, what it was before. */
static inline uint64_t node_clock_share(const region_node_t *node)
{
  uint64_t share = node_load(&node->share);
  return share ? share : node_load(&node->tat_share);
}

/* What the clock says: it stands while the share is 0, so that nothing is paid by waiting. */
static inline uint64_t node_clock(const region_node_t *node, uint64_t now)
{
  uint64_t stopped = node_load(&node->stopped_at);
  return stopped && stopped < now ? stopped : now;
}

/* Charges device time that began at `start`. */
static inline void node_charge(region_node_t *node, uint64_t now, uint64_t start, uint64_t ns)
{
  if (node_load(&node->share) >= REGION_SHARE_ONE)
    return;
  uint64_t cost = node_cost(node_clock_share(node), ns), seen = node_load(&node->tat), next;
  start = node_clock(node, start);
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
  if (node_load(&node->share) >= REGION_SHARE_ONE || ns == 0)
    return;
  uint64_t cost = node_cost(node_clock_share(node), ns), seen = node_load(&node->tat), next;
  do
    next = seen > cost ? seen - cost : 0;
  while (!atomic_compare_exchange_weak_explicit(&node->tat, &seen, next, memory_order_relaxed,
                                                memory_order_relaxed));
}

/* How many submissions may be in flight at once, whatever they turn out to take: 1 / (1 - share).
 *
 * How long a submission will run is not known before it has run; only what is in flight can exceed
 * what has been paid. With n submissions of any length L in flight, which take n * L of the device,
 * the level earns share * n * L meanwhile. All but one of them are covered by that when n * L <=
 * share * n * L + L. So no estimate, and no past, is needed to keep what limit.h promises: a kernel
 * that was short for a million times may be long from now on. */
static inline uint64_t node_most_in_flight(uint64_t share)
{
  if (share >= REGION_SHARE_ONE)
    return UINT64_MAX;
  /* Shares are rounded down; 90 % means 10, not 9. */
  return (REGION_SHARE_ONE + (REGION_SHARE_ONE >> 12)) / (REGION_SHARE_ONE - share);
}

/* What is in flight at a level. */
typedef struct node_flight {
  uint64_t submissions;
  uint64_t ns;      /* estimated */
  uint64_t running; /* ns that have been running and are not charged yet */
} node_flight_t;

/* Up to when the level has paid, with what is running counted as far as it has run. */
static inline uint64_t node_paid(const region_node_t *node, uint64_t now, uint64_t running)
{
  uint64_t tat = node_tat(node, now), began = running < now ? now - running : 0;
  uint64_t paid = (tat > began ? tat : began) + node_cost(node_load(&node->share), running);
  return paid > now ? paid : now;
}

/* Device time that has been used and is not paid for yet. */
static inline uint64_t node_debt(const region_node_t *node, uint64_t now)
{
  uint64_t tat = node_tat(node, now), clock = node_clock(node, now);
  return tat > clock ? node_device_time(node_clock_share(node), tat - clock) : 0;
}

/* May more go after what is in flight? As in ITU-T I.371, what is to go is not counted itself, so
 * that a kernel longer than the burst may go, too, and the next one may queue up after it in time.
 * False: `*retry` is the earliest time at which it may, if nothing in flight is charged before; now
 * or earlier when only a charge can change the answer. */
static inline bool node_admits(const region_node_t *node, uint64_t now, const node_flight_t *flight,
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
  uint64_t burst = node_burst(node), paid = node_paid(node, now, flight->running);
  uint64_t rest = flight->ns > flight->running ? flight->ns - flight->running : 0;
  uint64_t ahead = node_cost(share, rest);
  if (flight->submissions >= node_most_in_flight(share))
    return false;
  if (paid + ahead <= now + burst)
    return true;
  if (ahead <= burst)
    *retry = paid + ahead - burst;
  else
    *retry = paid > burst ? paid - burst : 0;
  return false;
}

#endif
