/* Paying for what has run.
 *
 * A process pays for the union of its queues' dispatches. Where other processes ran at the same
 * time it pays its part: an instant that n processes covered costs each 1/n. Who covered what is
 * known only when dispatches have finished, and they finish in any order; so whoever comes later
 * pays 1/n and gives each of those who had paid 1/(n-1) the difference back. Intervals carry
 * numbers from one counter of the device, so that of two processes exactly one is the later. */
#include "queue/limit/limiter.h"
#include "queue/limit/node.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OVERLAPS = 64 };

/* A time in which another member's dispatch ran beside ours. */
typedef struct overlap {
  uint32_t slot;
  interval_t time;
} overlap_t;

typedef struct overlaps {
  overlap_t items[MAX_OVERLAPS];
  uint32_t count;
  uint64_t cuts[2 * MAX_OVERLAPS + 2]; /* where somebody begins or ends, ascending */
  uint32_t cut_count;
} overlaps_t;

/* ---- Whose intervals overlap ---- */

static uint64_t publish(rawhal_limiter_t *limiter, interval_t piece)
{
  region_member_t *me = limiter->me;
  uint64_t sequence = atomic_fetch_add(&limiter->device->interval_sequence, 1) + 1;
  uint64_t count = atomic_load_explicit(&me->interval_count, memory_order_relaxed);
  region_interval_t *slot = &me->intervals[count % REGION_INTERVALS];
  atomic_store(&slot->sequence, 0);
  atomic_store(&slot->start, piece.start);
  atomic_store(&slot->end, piece.end);
  atomic_store(&slot->sequence, sequence);
  atomic_store(&me->interval_count, count + 1);
  return sequence;
}

/* Adds the intervals of one member that overlap `piece` and came before it. */
static void collect(const region_member_t *member, uint32_t slot, uint64_t sequence,
                    interval_t piece, overlaps_t *found)
{
  uint64_t count = atomic_load(&member->interval_count);
  for (uint64_t back = 1; back <= REGION_INTERVALS && back <= count; ++back) {
    const region_interval_t *at = &member->intervals[(count - back) % REGION_INTERVALS];
    uint64_t before = atomic_load(&at->sequence);
    interval_t time = {atomic_load(&at->start), atomic_load(&at->end)};
    if (before == 0 || before != atomic_load(&at->sequence) || before > sequence)
      continue;
    if (time.end <= piece.start) /* and all before it, or nearly so */
      break;
    if (time.start >= piece.end || time.start >= time.end)
      continue;
    if (found->count == MAX_OVERLAPS) /* then we pay more than our part, never less */
      return;
    found->items[found->count++] = (overlap_t){slot,
                                               {time.start > piece.start ? time.start : piece.start,
                                                time.end < piece.end ? time.end : piece.end}};
  }
}

static int by_value(const void *a, const void *b)
{
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static void collect_all(const rawhal_limiter_t *limiter, uint64_t sequence, interval_t piece,
                        overlaps_t *found)
{
  region_data_t *data = limiter->region.data;
  uint32_t count = region_member_count(data);
  found->count = 0;
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (slot != limiter->slot && region_state(atomic_load(&member->hot.state)) == REGION_LIVE &&
        node_load(&member->hot.active_at) != 0 &&
        atomic_load_explicit(&member->device, memory_order_relaxed) == limiter->device_index)
      collect(member, slot, sequence, piece, found);
  }
  found->cut_count = 0;
  found->cuts[found->cut_count++] = piece.start;
  found->cuts[found->cut_count++] = piece.end;
  for (uint32_t i = 0; i < found->count; ++i) {
    found->cuts[found->cut_count++] = found->items[i].time.start;
    found->cuts[found->cut_count++] = found->items[i].time.end;
  }
  if (found->count)
    qsort(found->cuts, found->cut_count, sizeof(*found->cuts), by_value);
}

/* ---- Dividing ---- */

/* Our part of a piece; `refunds[i]` is what the owner of item i gets back. */
static uint64_t divide(const overlaps_t *found, uint64_t refunds[MAX_OVERLAPS])
{
  uint64_t mine = 0;
  memset(refunds, 0, found->count * sizeof(*refunds));
  for (uint32_t cut = 0; cut + 1 < found->cut_count; ++cut) {
    uint64_t at = found->cuts[cut], length = found->cuts[cut + 1] - at;
    uint32_t covering[MAX_OVERLAPS], others = 0;
    for (uint32_t i = 0; length && i < found->count; ++i)
      if (found->items[i].time.start <= at && at < found->items[i].time.end)
        covering[others++] = i;
    mine += length / (others + 1);
    for (uint32_t i = 0; i < others; ++i)
      refunds[covering[i]] += length / ((uint64_t)others * (others + 1));
  }
  return mine;
}

static bool is_fair(const region_tenant_t *tenant)
{
  return atomic_load_explicit(&tenant->charging, memory_order_relaxed) != RAWHAL_CHARGING_WALL;
}

static void signal_node(const rawhal_limiter_t *limiter, region_node_t *node)
{
  atomic_fetch_add(&node->event, 1);
  if (atomic_exchange(&node->waiting, 0))
    limiter->clock->wake(limiter->clock->context, &node->event);
}

static void refund(rawhal_limiter_t *limiter, uint32_t slot, uint64_t at, uint64_t ns)
{
  region_data_t *data = limiter->region.data;
  region_member_t *member = &data->members[slot];
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  node_refund(&limiter->device->node, ns);
  usage_take(&limiter->device->usage, at, ns);
  if (!tenant || !is_fair(tenant))
    return;
  node_refund(&tenant->node, ns);
  node_refund(&member->node, ns);
  signal_node(limiter, &tenant->node); /* it may go sooner than it thought */
  usage_take(&tenant->usage, at, ns);
  usage_take(&member->usage, at, ns);
  uint64_t weight = atomic_load_explicit(&member->weight, memory_order_relaxed);
  atomic_fetch_add_explicit(&member->hot.refund, ns * 100 / (weight ? weight : 1),
                            memory_order_relaxed);
}

/* Returns what it costs us. */
static uint64_t charge_piece(rawhal_limiter_t *limiter, uint64_t now, interval_t piece)
{
  region_member_t *me = limiter->me;
  uint64_t wall = piece.end - piece.start, part = wall;
  uint64_t start = piece.start + (uint64_t)limiter->clock_offset;
  uint64_t end = start + wall;
  if (limiter->region.fd >= 0) {
    overlaps_t found;
    uint64_t refunds[MAX_OVERLAPS];
    collect_all(limiter, publish(limiter, piece), piece, &found);
    if (found.count) {
      part = divide(&found, refunds);
      for (uint32_t i = 0; i < found.count; ++i)
        refund(limiter, found.items[i].slot, end, refunds[i]);
    }
  }
  uint64_t ns = is_fair(limiter->tenant) ? part : wall;
  node_charge(&limiter->device->node, now, start, part);
  node_charge(&limiter->tenant->node, now, start, ns);
  node_charge(&me->node, now, start, ns);
  usage_add(&limiter->device->usage, end, part);
  usage_add(&limiter->tenant->usage, end, ns);
  usage_add(&me->usage, end, ns);
  uint64_t weight = atomic_load_explicit(&me->weight, memory_order_relaxed);
  atomic_fetch_add_explicit(&me->hot.served, ns * 100 / (weight ? weight : 1),
                            memory_order_relaxed);
  limiter_count(limiter, COUNTER_GPU_NS, ns);
  limiter_count(limiter, COUNTER_BUSY_NS, wall);
  return ns;
}

void limiter_signal(rawhal_limiter_t *limiter)
{
  signal_node(limiter, &limiter->tenant->node);
  if (node_is_limited(&limiter->device->node))
    signal_node(limiter, &limiter->device->node);
}

/* What others see of us. Should this process be stopped, they stop counting what it had in flight
 * some time after it must have ended. */
void limiter_publish_open(rawhal_limiter_t *limiter, uint64_t now)
{
  region_hot_t *hot = &limiter->me->hot;
  uint64_t patience = 4 * limiter->open_ns + 50000000u;
  atomic_store_explicit(&hot->fresh_until, now + patience, memory_order_relaxed);
  atomic_store_explicit(&hot->active_at, now, memory_order_relaxed);
  atomic_store_explicit(&hot->open, limiter->open_ns, memory_order_seq_cst);
}

/* Dispatches that run beside others, ours or other processes', cost less than they take. Estimates
 * are of what is to be paid, or too little would be let in flight to keep the device busy. */
static void learn_part(rawhal_limiter_t *limiter, uint64_t charged, uint64_t wall)
{
  uint64_t part = LIMIT_WHOLE;
  if (charged < wall)
    part = (uint64_t)((unsigned __int128)charged * LIMIT_WHOLE / wall);
  limiter->charged_part = (uint32_t)((7 * (uint64_t)limiter->charged_part + part) / 8);
}

void limiter_charge(rawhal_limiter_t *limiter, uint64_t now)
{
  if (!limiter->pending_count && !limiter->pending_estimate_ns)
    return;
  uint64_t charged = 0;
  for (uint32_t i = 0; i < limiter->pending_count; ++i)
    charged += charge_piece(limiter, now, limiter->pending[i]);
  if (limiter->pending_wall_ns)
    learn_part(limiter, charged, limiter->pending_wall_ns);
  limiter->pending_wall_ns = 0;
  limiter->open_ns -= limiter->pending_estimate_ns;
  limiter->pending_count = 0;
  limiter->pending_ns = 0;
  limiter->pending_estimate_ns = 0;
  limiter_publish_open(limiter, now);
  limiter_signal(limiter);
}

/* ---- Completion ---- */

/* The least delay between the end of a dispatch and our seeing it is taken for none. It may grow by
 * 100 ppm, in case the clocks drift. */
static void learn_clock_offset(rawhal_limiter_t *limiter, uint64_t now, uint64_t end)
{
  int64_t offset = (int64_t)(now - end);
  uint64_t age = now - limiter->clock_offset_at;
  if (limiter->clock_offset_at == 0 || offset < limiter->clock_offset + (int64_t)(age / 10000)) {
    limiter->clock_offset = offset;
    limiter->clock_offset_at = now;
  }
}

static void add_pending(rawhal_limiter_t *limiter, uint64_t now, interval_t time)
{
  if (limiter->pending_count + INTERVALS_PIECES > LIMIT_PENDING)
    limiter_charge(limiter, now);
  interval_t *pieces = &limiter->pending[limiter->pending_count];
  uint32_t count = interval_set_add(&limiter->paid, time, pieces);
  for (uint32_t i = 0; i < count; ++i)
    limiter->pending_ns += pieces[i].end - pieces[i].start;
  uint32_t last = limiter->pending_count;
  limiter->pending_count += count;
  /* One dispatch right after the other: one piece. */
  if (count && last && limiter->pending[last - 1].end == limiter->pending[last].start) {
    limiter->pending[last - 1].end = limiter->pending[last].end;
    memmove(&limiter->pending[last], &limiter->pending[last + 1],
            (count - 1) * sizeof(*limiter->pending));
    --limiter->pending_count;
  }
}

static void learn(rawhal_limiter_t *limiter, const limit_grant_t *grant, uint64_t ns)
{
  ns = (uint64_t)((unsigned __int128)ns * limiter->charged_part / LIMIT_WHOLE);
  uint64_t each = ns / (grant->units ? grant->units : 1);
  if (grant->key)
    estimate_learn(&limiter->estimates, grant->key, each);
  for (int i = 0; grant->probe && i < LIMIT_UNKNOWN_KEYS; ++i)
    if (limiter->probe_keys[i] && limiter->probe_keys[i] != grant->key)
      estimate_learn(&limiter->estimates, limiter->probe_keys[i], each);
  if (grant->probe)
    return;
  limiter_count(limiter, COUNTER_ESTIMATED_NS, grant->estimate_ns);
  limiter_count(limiter, COUNTER_ESTIMATE_ERROR_NS,
                ns > grant->estimate_ns ? ns - grant->estimate_ns : grant->estimate_ns - ns);
}

/* What a grant held and no longer holds, however it ended. */
static void settle(limit_lease_t *lease, const limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  lease->open_ns -= grant->estimate_ns;
  limiter->pending_estimate_ns += grant->estimate_ns;
  limit_flight_t flight = {grant->launches, grant->workgroups, grant->kernarg_bytes, grant->probe};
  flight_take(&lease->flight, &flight);
  flight_take(&limiter->flight, &flight);
}

void limit_complete(limit_lease_t *lease, const limit_grant_t *grant, uint64_t start, uint64_t end)
{
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter);
  if (start && end > start) {
    learn_clock_offset(limiter, now, end);
  } else {
    limiter_count(limiter, COUNTER_NO_TIMESTAMPS, 1);
    uint64_t since =
        grant->admitted_at ? grant->admitted_at : node_load(&limiter->me->hot.active_at);
    end = now - (uint64_t)limiter->clock_offset;
    start = since < now ? end - (now - since) : end - 1;
  }
  if (grant->launches > 1 && grant->admitted_at) {
    uint64_t begin = grant->admitted_at - (uint64_t)limiter->clock_offset;
    begin = begin > lease->last_end ? begin : lease->last_end;
    start = begin < start ? begin : start;
  }
  lease->last_end = end > lease->last_end ? end : lease->last_end;
  learn(limiter, grant, end - start);
  settle(lease, grant);
  limiter->pending_wall_ns += end - start;
  limiter_count(limiter, COUNTER_LAUNCHES, grant->launches);
  limiter_count(limiter, COUNTER_BATCHES, 1);
  node_charge(&lease->node, now, start + (uint64_t)limiter->clock_offset, end - start);
  add_pending(limiter, now, (interval_t){start, end});
  bool idle = lease_in_flight(lease) == 0;
  if (idle)
    limiter_return_credit(limiter, lease);
  if (idle || limiter->pending_ns >= LIMIT_CHARGE_NS)
    limiter_charge(limiter, now);
  pthread_mutex_unlock(&limiter->lock);
}

void limit_cancel(limit_lease_t *lease, const limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->lock);
  settle(lease, grant);
  node_rate_return(&limiter->tenant->node, grant->launches);
  limiter_charge(limiter, limiter_now(limiter));
  pthread_mutex_unlock(&limiter->lock);
}
