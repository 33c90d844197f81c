/* What a completion does: its time is learned from, charged and no longer in flight, and those who
 * wait are told.
 *
 * A process pays for the union of its queues' dispatches. Where other processes ran at the same
 * time it pays its part: an instant that n processes covered costs each 1/n. Which process covered
 * what is known only when dispatches have finished, and they finish in any order; so the one that
 * comes later pays 1/n and gives each of those that had paid 1/(n-1) the difference back. Intervals
 * carry numbers from one counter of the device, so that of two processes exactly one is the later.
 */
#include "queue/limit/complete.h"

#include "queue/limit/admit.h"
#include "queue/limit/lease.h"
#include "queue/limit/overlap.h"
#include "queue/limit/usage.h"

#include <string.h>

/* ---- Telling the others ---- */

void limit_signal_node(const limit_clock_t *clock, region_node_t *node)
{
  atomic_fetch_add(&node->event, 1);
  if (atomic_exchange(&node->waiting, 0))
    clock->wake(clock->context, &node->event);
}

void limiter_signal(rawhal_limiter_t *limiter)
{
  limit_signal_node(limiter->clock, &limiter->tenant->node);
  if (node_is_limited(&limiter->device->node))
    limit_signal_node(limiter->clock, &limiter->device->node);
}

/* Since when something in flight can have been running; 0: nothing is. */
static uint64_t busy_since(const rawhal_limiter_t *limiter)
{
  uint64_t since = 0;
  for (const limit_lease_t *lease = limiter->leases; lease; lease = lease->next) {
    uint64_t busy = lease_in_flight(lease) ? node_load(&lease->busy_since) : 0;
    if (busy && (since == 0 || busy < since))
      since = busy;
  }
  return since;
}

/* The same, less what of that time is charged already. */
static uint64_t running_since(const rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t since = busy_since(limiter);
  if (since == 0 || since > now)
    return since ? now : 0;
  uint64_t paid = interval_set_since(&limiter->paid, since - (uint64_t)limiter->clock_offset);
  return paid < now - since ? since + paid : now;
}

void limiter_tell(rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t since = running_since(limiter, now), published;
  do {
    published = since;
    atomic_store(&limiter->me->hot.running_since, published);
    since = running_since(limiter, now);
  } while (since != published);
  limiter_publish_load(limiter);
  limiter_signal(limiter);
}

/* ---- Paying ---- */

/* The caller holds the limiter's lock. */
static void flight_end_kind(flight_sum_t *sum, flight_kind_t kind, uint64_t amount)
{
  uint64_t before = atomic_load_explicit(&sum->ended[kind], memory_order_relaxed);
  atomic_store_explicit(&sum->ended[kind], before + amount, memory_order_release);
}

static void flight_end(flight_sum_t *sum, const flight_t *ended)
{
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    if (ended->of[kind])
      flight_end_kind(sum, (flight_kind_t)kind, ended->of[kind]);
}

static bool is_fair(const region_tenant_t *tenant)
{
  return atomic_load_explicit(&tenant->charging, memory_order_relaxed) != RAWHAL_CHARGING_WALL;
}

/* Time on the device, by the host's clock, and what of it the device pays, and its tenant with the
 * process. */
typedef struct charge {
  uint64_t start, end, busy;
  uint64_t device_ns, tenant_ns;
} charge_t;

/* A level above the queue; `node` NULL: there is none. */
typedef struct payer {
  region_node_t *node;
  region_usage_t *usage;
  _Atomic uint64_t *charged, *returned;
} payer_t;

enum { THE_DEVICE, THE_TENANT, THE_PROCESS, PAYERS }; /* loops over them cost each completion */

/* Who pays for a member's time. */
typedef struct account {
  region_member_t *member;
  region_tenant_t *tenant; /* NULL: there is none */
  payer_t payers[PAYERS];
} account_t;

static account_t account_of(region_device_t *device, region_tenant_t *tenant,
                            region_member_t *member)
{
  account_t account = {.member = member, .tenant = tenant};
  if (device)
    account.payers[THE_DEVICE] =
        (payer_t){&device->node, &device->usage, &device->charged, &device->returned};
  if (tenant)
    account.payers[THE_TENANT] =
        (payer_t){&tenant->node, &tenant->usage, &tenant->charged, &tenant->returned};
  account.payers[THE_PROCESS] =
      (payer_t){&member->node, &member->usage, &member->counters[COUNTER_GPU_NS],
                &member->counters[COUNTER_REFUND_NS]};
  return account;
}

/* Counted first: a clock is never further than what is counted (damage.h). */
static inline void charge_clock(const payer_t *payer, uint64_t now, uint64_t start, uint64_t ns)
{
  atomic_fetch_add_explicit(payer->charged, ns, memory_order_release);
  node_charge(payer->node, now, start, ns);
}

/* The levels' clocks: each piece from when it began. */
static void charge_clocks(const account_t *account, uint64_t now, const charge_t *charge)
{
#pragma GCC unroll 3
  for (int i = 0; i < PAYERS; ++i)
    if (account->payers[i].node)
      charge_clock(&account->payers[i], now, charge->start,
                   i == THE_DEVICE ? charge->device_ns : charge->tenant_ns);
}

/* What was used, which others look at now and then: pieces together. Returns what it counts for the
 * member's turns. */
static uint64_t charge_usage(const account_t *account, const charge_t *charge)
{
  region_member_t *member = account->member;
  const uint64_t served = limit_for_weight(charge->tenant_ns, member);
#pragma GCC unroll 3
  for (int i = 0; i < PAYERS; ++i) {
    const payer_t *payer = &account->payers[i];
    const uint64_t ns = i == THE_DEVICE ? charge->device_ns : charge->tenant_ns;
    if (!payer->node)
      continue;
    usage_add(payer->usage, charge->start, charge->end, ns);
  }
  if (account->tenant)
    atomic_fetch_add_explicit(&account->tenant->served, charge->device_ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&member->hot.served, served, memory_order_relaxed);
  atomic_fetch_add_explicit(&member->counters[COUNTER_BUSY_NS], charge->busy, memory_order_relaxed);
  return served;
}

/* What counts of device time that is given back: no more than when it was charged, whatever the
 * weight was then. */
static uint64_t back_for_weight(uint64_t ns, const region_member_t *member)
{
  const uint64_t most = atomic_load_explicit(&member->weight_most, memory_order_relaxed);
  const uint64_t now = limit_for_weight(ns, member);
  const uint64_t least = most ? ns * 100 / most : now;
  return least < now ? least : now;
}

/* Gives back what another member has paid too much: its device, and where time is divided its
 * tenant and itself. */
static void refund(rawhal_limiter_t *limiter, const overlap_t *paid)
{
  const uint64_t offset = (uint64_t)limiter->clock_offset, ns = paid->refund;
  if (ns == 0)
    return;
  region_data_t *data = limiter->region.data;
  region_member_t *member = &data->members[paid->slot];
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  const account_t account = account_of(limiter->device, tenant, member);
  const int payers = tenant && is_fair(tenant) ? PAYERS : THE_DEVICE + 1;
#pragma GCC unroll 3
  for (int i = 0; i < payers; ++i) {
    const payer_t *payer = &account.payers[i];
    node_refund(payer->node, ns);
    usage_take(payer->usage, paid->time.start + offset, paid->time.end + offset, ns);
    atomic_fetch_add_explicit(payer->returned, ns, memory_order_relaxed);
  }
  if (tenant)
    atomic_fetch_add_explicit(&tenant->refund, ns, memory_order_relaxed);
  if (payers < PAYERS)
    return;
  limit_signal_node(limiter->clock, &tenant->node); /* it may go sooner than it thought */
  atomic_fetch_add_explicit(&member->hot.refund, back_for_weight(ns, member), memory_order_relaxed);
}

static void add_charge(charge_t *sum, const charge_t *piece)
{
  sum->start = sum->busy && sum->start < piece->start ? sum->start : piece->start;
  sum->end = sum->busy && sum->end > piece->end ? sum->end : piece->end;
  sum->busy += piece->busy;
  sum->device_ns += piece->device_ns;
  sum->tenant_ns += piece->tenant_ns;
}

static charge_t charge_piece(rawhal_limiter_t *limiter, const account_t *account, uint64_t now,
                             interval_t piece)
{
  uint64_t wall = piece.end - piece.start, part = wall;
  uint64_t start = piece.start + (uint64_t)limiter->clock_offset;
  /* Before its clock is known the device's times cannot be compared with ours. */
  if (limiter->region.fd >= 0 && limiter->clock_offset_at) {
    overlaps_t *found = &limiter->overlaps;
    part = overlaps_part(limiter->region.data, limiter->device_index, limiter->slot, piece, found);
    for (uint32_t i = 0; i < found->count; ++i)
      refund(limiter, &found->items[i]);
  }
  uint64_t ns = is_fair(limiter->tenant) ? part : wall;
  charge_t charge = {start, start + wall, wall, part, ns};
  charge_clocks(account, now, &charge);
  return charge;
}

void charge_unfinished(region_data_t *data, uint32_t slot, uint64_t now)
{
  region_member_t *member = &data->members[slot];
  uint64_t since = atomic_exchange(&member->hot.running_since, 0);
  (void)atomic_exchange(&member->hot.load, 0);
  if (since == 0 || since >= now)
    return;
  if (now - since > NODE_MAX_DEBT_NS)
    since = now - NODE_MAX_DEBT_NS;
  const uint64_t ns = now - since;
  const charge_t charge = {since, now, ns, ns, ns};
  const uint32_t device = atomic_load_explicit(&member->device, memory_order_relaxed);
  const account_t account = account_of(
      device < REGION_DEVICES ? &data->devices[device] : NULL,
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed)), member);
  charge_clocks(&account, now, &charge);
  (void)charge_usage(&account, &charge);
}

/* Dispatches that overlap others, ours or other processes', cost less than they take. Estimates are
 * of what is to be paid, or too little would be let in flight to keep the device busy. */
static void learn_part(rawhal_limiter_t *limiter, uint64_t charged, uint64_t wall)
{
  uint64_t part = LIMIT_WHOLE;
  if (charged < wall)
    part = (uint64_t)((unsigned __int128)charged * LIMIT_WHOLE / wall);
  limiter->charged_part = (uint32_t)((7 * (uint64_t)limiter->charged_part + part) / 8);
}

/* Is anything that has finished not charged yet? */
static bool owes(const rawhal_limiter_t *limiter)
{
  return limiter->pending_count || limiter->pending_estimate_ns;
}

/* Charges what has finished. Nobody is told yet. */
static void charge_pending(rawhal_limiter_t *limiter, uint64_t now)
{
  if (!owes(limiter))
    return;
  const account_t account = account_of(limiter->device, limiter->tenant, limiter->me);
  charge_t sum = {0};
  for (uint32_t i = 0; i < limiter->pending_count; ++i) {
    charge_t piece = charge_piece(limiter, &account, now, limiter->pending[i]);
    add_charge(&sum, &piece);
  }
  if (limiter->pending_count)
    atomic_fetch_add_explicit(&limiter->damage.served, charge_usage(&account, &sum),
                              memory_order_relaxed);
  if (limiter->pending_wall_ns)
    learn_part(limiter, sum.tenant_ns, limiter->pending_wall_ns);
  limiter->pending_wall_ns = 0;
  flight_end_kind(&limiter->flight, FLIGHT_NS, limiter->pending_estimate_ns);
  limiter->pending_count = 0;
  limiter->pending_ns = 0;
  limiter->pending_estimate_ns = 0;
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
}

void limiter_charge(rawhal_limiter_t *limiter, uint64_t now)
{
  if (!owes(limiter))
    return;
  charge_pending(limiter, now);
  limiter_tell(limiter, now);
}

/* ---- What has ended ---- */

/* All that a grant has in flight. */
static flight_t caps_granted(const limit_grant_t *grant)
{
  return (flight_t){{[FLIGHT_SUBMISSIONS] = grant->submissions,
                     [FLIGHT_DISPATCHES] = grant->launches,
                     [FLIGHT_WORKGROUPS] = grant->workgroups,
                     [FLIGHT_KERNARG_BYTES] = grant->kernarg_bytes,
                     [FLIGHT_NS] = grant->estimate_ns,
                     [FLIGHT_PROBES] = grant->probe}};
}

void lease_runs_since(limit_lease_t *lease, uint64_t at)
{
  uint64_t since = atomic_load(&lease->busy_since);
  while (since < at && !atomic_compare_exchange_weak(&lease->busy_since, &since, at))
    ;
}

/* The least delay between the end of a dispatch and our seeing it is taken for none. It may grow by
 * 100 ppm, in case the clocks drift. What was paid before the device's clock was known was reckoned
 * in the host's. */
static void learn_clock_offset(rawhal_limiter_t *limiter, uint64_t now, uint64_t end)
{
  int64_t offset = (int64_t)(now - end);
  uint64_t age = now - limiter->clock_offset_at;
  interval_set_t *paid = &limiter->paid;
  if (limiter->clock_offset_at == 0) {
    limiter_charge(limiter, now);
    if (paid->count && offset > 0 && paid->kept[0].start < (uint64_t)offset)
      paid->count = 0; /* before the device's clock began */
    for (uint32_t i = 0; i < paid->count; ++i) {
      paid->kept[i].start -= (uint64_t)offset;
      paid->kept[i].end -= (uint64_t)offset;
    }
  }
  if (limiter->clock_offset_at == 0 || offset < limiter->clock_offset + (int64_t)(age / 10000)) {
    limiter->clock_offset = offset;
    limiter->clock_offset_at = now;
  }
}

static void add_pending(rawhal_limiter_t *limiter, uint64_t now, uint64_t start, uint64_t end)
{
  if (limiter->pending_count + INTERVALS_PIECES > LIMIT_PENDING)
    limiter_charge(limiter, now);
  interval_t *pieces = &limiter->pending[limiter->pending_count];
  if (interval_set_append(&limiter->paid, start, end)) {
    pieces->start = start;
    pieces->end = end;
    ++limiter->pending_count;
    limiter->pending_ns += end - start;
    return;
  }
  /* What is in flight began at that time of the device or later. */
  const uint64_t since = limiter->paid.count < INTERVALS_KEPT ? 0 : busy_since(limiter);
  const uint64_t oldest = since ? since - (uint64_t)limiter->clock_offset : INTERVALS_NO_OLDER;
  uint32_t count = interval_set_add(&limiter->paid, (interval_t){start, end}, oldest, pieces);
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

/* Submissions whose end is known, together: what each counter is told is added up first. */
typedef struct completed {
  flight_t flight;
  uint64_t submissions, estimated_ns, error_ns, untimed;
  uint64_t last_ns; /* of the one that came last */
} completed_t;

static void add_completed(completed_t *all, const limit_grant_t *grant, uint64_t ns)
{
  const flight_t flight = caps_granted(grant);
#pragma GCC unroll 6
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    all->flight.of[kind] += flight.of[kind];
  ++all->submissions;
  all->last_ns = ns;
}

/* From what of a dispatch's time is to be paid, when it is as it was lately. */
static void learn(rawhal_limiter_t *limiter, const limit_grant_t *grant, uint64_t ns,
                  completed_t *all)
{
  if (limiter->charged_part != LIMIT_WHOLE)
    ns = (uint64_t)((unsigned __int128)ns * limiter->charged_part / LIMIT_WHOLE);
  uint64_t each = grant->units > 1 ? ns / grant->units : ns;
  if (grant->key)
    estimate_learn(&limiter->estimates, grant->key, each);
  for (int i = 0; grant->probe && i < LIMIT_UNKNOWN_KEYS; ++i) {
    uint64_t key = node_load(&limiter->probe_keys[i]);
    if (key && key != grant->key)
      estimate_learn(&limiter->estimates, key, each);
  }
  if (grant->probe)
    return;
  all->estimated_ns += grant->estimate_ns;
  all->error_ns += ns > grant->estimate_ns ? ns - grant->estimate_ns : grant->estimate_ns - ns;
}

/* What grants held and no longer hold, however they ended: after they were charged, because a
 * thread that admits without the lock looks at what is owed and at what is in flight. Their
 * estimates the process has in flight until the next charge. */
static void settle(limit_lease_t *lease, const flight_t *ended)
{
  flight_t of_process = *ended;
  of_process.of[FLIGHT_NS] = 0;
  flight_end(&lease->limiter->flight, &of_process);
  flight_end(&lease->flight, ended);
}

/* Ran then, in the device's ns. Returns since when the lease's next can have been running, by the
 * host's clock: lease_runs_since(). */
static uint64_t ran(limit_lease_t *lease, uint64_t now, uint64_t start, uint64_t end)
{
  rawhal_limiter_t *limiter = lease->limiter;
  uint64_t host = end + (uint64_t)limiter->clock_offset, ns = end - start;
  limiter->pending_wall_ns += ns;
  node_charge(&lease->node, now, start + (uint64_t)limiter->clock_offset, ns);
  add_pending(limiter, now, start, end);
  return host < now ? host : now;
}

/* Charges the time up to `until` in which a lease had something in flight and that is not charged
 * yet. */
static void charge_running(limit_lease_t *lease, uint64_t now, uint64_t until)
{
  uint64_t since = node_load(&lease->busy_since);
  if (since == 0 || until <= since)
    return;
  rawhal_limiter_t *limiter = lease->limiter;
  const uint64_t offset = (uint64_t)limiter->clock_offset;
  lease_runs_since(lease, ran(lease, now, since - offset, until - offset));
  limiter_charge(limiter, now);
}

/* Of which nothing is left to be charged but what is pending. */
static void ended(limit_lease_t *lease, const completed_t *all, uint64_t now)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const struct {
    region_counter_t counter;
    uint64_t add;
  } rows[] = {{COUNTER_LAUNCHES, all->flight.of[FLIGHT_DISPATCHES]},
              {COUNTER_BATCHES, all->submissions},
              {COUNTER_ESTIMATED_NS, all->estimated_ns},
              {COUNTER_ESTIMATE_ERROR_NS, all->error_ns},
              {COUNTER_NO_TIMESTAMPS, all->untimed}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    if (rows[i].add)
      limiter_count(limiter, rows[i].counter, rows[i].add);
  bool last = lease_in_flight(lease) <= all->flight.of[FLIGHT_DISPATCHES];
  bool charged = last || limiter->pending_ns >= LIMIT_CHARGE_NS;
  if (charged)
    charge_pending(limiter, now);
  settle(lease, &all->flight);
  if (lease_in_flight(lease) == 0) {
    lease_return_credit(lease);
    /* A process that had work until now is taken to have more for as long as that took, within
     * bounds: see peers.h. */
    const uint64_t ns = all->last_ns < LIMIT_IDLE_NS ? all->last_ns : LIMIT_IDLE_NS;
    atomic_store_explicit(&limiter->me->hot.active_until,
                          now + (ns < LIMIT_GRACE_NS ? LIMIT_GRACE_NS : ns), memory_order_relaxed);
  }
  if (charged) /* others, and waiting threads, see it when it is no longer in flight */
    limiter_tell(limiter, now);
  (void)damage_look(limiter, now);
}

/* When it ran, as far as that is known, in the device's ns. */
static interval_t time_of(rawhal_limiter_t *limiter, const limit_completion_t *one, uint64_t now,
                          uint64_t busy_since, completed_t *all)
{
  const limit_grant_t *grant = one->grant;
  uint64_t start = one->start, end = one->end;
  if (end && end > start) {
    learn_clock_offset(limiter, now, end);
    uint64_t since = busy_since - (uint64_t)limiter->clock_offset;
    if (start == 0)
      start = since && since < end ? since : end - 1;
    return (interval_t){start, end};
  }
  ++all->untimed;
  uint64_t since = grant->admitted_at ? grant->admitted_at : busy_since;
  end = now - (uint64_t)limiter->clock_offset;
  start = since && since < now ? end - (now - since) : end - 1;
  return (interval_t){start, end};
}

void limit_complete_all(limit_lease_t *lease, const limit_completion_t *which, size_t count)
{
  rawhal_limiter_t *limiter = lease->limiter;
  completed_t all = {0};
  if (count == 0)
    return;
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter), since = node_load(&lease->busy_since);
  for (size_t i = 0; i < count; ++i) {
    const limit_grant_t *grant = which[i].grant;
    interval_t time = time_of(limiter, &which[i], now, since, &all);
    learn(limiter, grant, time.end - time.start, &all);
    limiter->pending_estimate_ns += grant->estimate_ns;
    uint64_t next = ran(lease, now, time.start, time.end);
    since = next > since ? next : since;
    add_completed(&all, grant, time.end - time.start);
  }
  lease_runs_since(lease, since);
  ended(lease, &all, now);
  pthread_mutex_unlock(&limiter->lock);
}

void limit_complete(limit_lease_t *lease, const limit_grant_t *grant, uint64_t start, uint64_t end)
{
  limit_complete_all(lease, &(limit_completion_t){grant, start, end}, 1);
}

void limit_end(limit_lease_t *lease, const limit_grant_t *grant, uint64_t at)
{
  rawhal_limiter_t *limiter = lease->limiter;
  completed_t all = {0};
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter), since = node_load(&lease->busy_since);
  at = at < now ? at : now;
  add_completed(&all, grant, since && at > since ? at - since : 0);
  limiter->pending_estimate_ns += grant->estimate_ns;
  charge_running(lease, now, at);
  ended(lease, &all, now);
  pthread_mutex_unlock(&limiter->lock);
}

void limit_cancel(limit_lease_t *lease, const limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->lock);
  completed_t all = {0};
  add_completed(&all, grant, 0);
  limiter->pending_estimate_ns += grant->estimate_ns;
  settle(lease, &all.flight);
  lease_return_launches(lease, grant->launches);
  if (lease_in_flight(lease) == 0)
    lease_return_credit(lease);
  uint64_t now = limiter_now(limiter);
  charge_pending(limiter, now);
  limiter_tell(limiter, now);
  pthread_mutex_unlock(&limiter->lock);
}

void lease_end_all(limit_lease_t *lease)
{
  rawhal_limiter_t *limiter = lease->limiter;
  lease_return_credit(lease);
  uint64_t now = limiter_now(limiter);
  if (lease_in_flight(lease))
    charge_running(lease, now, now);
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    flight_end_kind(&limiter->flight, (flight_kind_t)kind,
                    flight_now(&lease->flight, (flight_kind_t)kind));
  charge_pending(limiter, now);
  limiter_tell(limiter, now);
}
