/* Admission, when a lease has run out or has no room for a batch: room below all caps and shares,
 * and a turn.
 *
 * What a member has in flight is published before it looks at what others have: of two that admit
 * at the same time at least one sees the other, so together they never exceed the burst. There is
 * no sum that a dying process could leave wrong; each looks at the words of all members. */
#include "queue/limit/admit.h"

#include "queue/limit/complete.h"
#include "queue/limit/denial.h"
#include "queue/limit/lease.h"

#include "base/error.h"

/* ---- Caps ---- */

const cap_t caps[CAPS] = {
    {RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, FLIGHT_DISPATCHES, "dispatches in flight", CREDIT_LAUNCHES,
     1},
    {RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, FLIGHT_WORKGROUPS, "work-groups in flight",
     CREDIT_WORKGROUPS, 1},
    {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, FLIGHT_KERNARG_BYTES, "kernarg bytes in flight", CREDIT_BLOCKS,
     CREDIT_BLOCK_BYTES},
};

static rawhal_status_t fail_cap(rawhal_limiter_t *limiter, rawhal_limit_t limit, const char *what,
                                uint64_t asked, uint64_t in_flight, rawhal_error_t *error)
{
  uint64_t allowed = limiter_cap(limiter, limit);
  limiter_deny(limiter, limit, asked, in_flight, allowed);
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%llu %s asked for, the limit is %llu",
                     (unsigned long long)asked, what, (unsigned long long)allowed);
}

static rawhal_status_t fail_none(rawhal_limiter_t *limiter, rawhal_limit_t limit,
                                 rawhal_error_t *error)
{
  limiter_deny(limiter, limit, RAWHAL_UNLIMITED, 0, 0);
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%s is 0, which admits nothing",
                     rawhal_limit_info(limit)->name);
}

/* What of a batch is capped. */
static flight_t caps_flight(const limit_cost_t *cost)
{
  return (flight_t){{[FLIGHT_DISPATCHES] = cost->launches,
                     [FLIGHT_WORKGROUPS] = cost->workgroups,
                     [FLIGHT_KERNARG_BYTES] = cost->kernarg_bytes}};
}

rawhal_status_t caps_check(limit_lease_t *lease, const limit_cost_t *cost, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const flight_t asked = caps_flight(cost);
  const levels_t levels = levels_of(lease, NULL);
  for (int i = 0; i < CAPS; ++i)
    if (asked.of[caps[i].kind] > limiter_cap(limiter, caps[i].limit))
      return fail_cap(limiter, caps[i].limit, caps[i].what, asked.of[caps[i].kind],
                      flight_now(&limiter->flight, caps[i].kind), error);
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return limit_refuse_grid(lease, cost->largest_grid, error);
  for (int i = 0; i < LEVELS; ++i)
    if ((int)levels.of[i].share != LIMIT_COUNT && node_load(&levels.of[i].node->share) == 0)
      return fail_none(limiter, levels.of[i].share, error);
  if (node_load(&limiter->tenant->node.rate) == 0)
    return fail_none(limiter, RAWHAL_LIMIT_DISPATCH_RATE, error);
  return RAWHAL_OK;
}

rawhal_status_t limit_refuse_grid(limit_lease_t *lease, uint64_t workgroups, rawhal_error_t *error)
{
  return fail_cap(lease->limiter, RAWHAL_LIMIT_GRID_WORKGROUPS, "work-groups of a dispatch",
                  workgroups, 0, error);
}

/* Adds to one kind, unless there are then more than the cap allows, which may change: it is read
 * after what is in flight, or others might have filled a lower one meanwhile. */
static bool flight_reserve(flight_sum_t *sum, flight_kind_t kind, uint64_t amount,
                           const _Atomic uint64_t *cap)
{
  uint64_t ended = atomic_load(&sum->ended[kind]), added = atomic_load(&sum->added[kind]);
  do {
    uint64_t allowed = atomic_load(cap);
    if (amount > allowed || added - ended > allowed - amount)
      return false;
  } while (!atomic_compare_exchange_weak(&sum->added[kind], &added, added + amount));
  return true;
}

const char *caps_reserve(rawhal_limiter_t *limiter, const flight_t *flight)
{
  flight_t reserved = {{0}};
  for (int i = 0; i < CAPS; ++i) {
    flight_kind_t kind = caps[i].kind;
    if (!flight_reserve(&limiter->flight, kind, flight->of[kind], &limiter->caps[caps[i].limit])) {
      flight_undo(&limiter->flight, &reserved);
      return caps[i].what;
    }
    reserved.of[kind] = flight->of[kind];
  }
  return NULL;
}

void caps_make_room(rawhal_limiter_t *limiter, limit_lease_t *only, const limit_cost_t *cost)
{
  const flight_t asked = caps_flight(cost);
  bool fits = true;
  for (int i = 0; i < CAPS; ++i) {
    uint64_t allowed = limiter_cap(limiter, caps[i].limit), more = asked.of[caps[i].kind];
    fits &= more <= allowed && flight_now(&limiter->flight, caps[i].kind) <= allowed - more;
  }
  for (limit_lease_t *lease = only ? only : limiter->leases; lease && !fits;
       lease = only ? NULL : lease->next)
    lease_return_credit(lease);
}

/* ---- Levels ---- */

/* For how long what it says has been running. */
static inline uint64_t running_for(const _Atomic uint64_t *since, uint64_t now)
{
  const uint64_t at = node_load(since);
  return at && at < now ? now - at : 0;
}

/* Has this process had something in flight for so long that more may be admitted while it runs?
 * Unless it has finished, which is known only when it is reaped. */
static bool limiter_seems_stalled(const rawhal_limiter_t *limiter, uint64_t now)
{
  return running_for(&limiter->me->hot.running_since, now) >= LIMIT_STALL_NS;
}

levels_t levels_of(const limit_lease_t *lease, const peers_t *peers)
{
  static const node_flight_t none;
  const rawhal_limiter_t *limiter = lease->limiter;
  const flight_sum_t *process = &limiter->flight;
  const _Atomic uint64_t *since = &limiter->me->hot.running_since;
  return (levels_t){
      {{LEVEL_QUEUE, (rawhal_limit_t)LIMIT_COUNT, "the queue's share of device time", &lease->node,
        &lease->flight, &lease->busy_since, &none},
       {LEVEL_PROCESS, RAWHAL_LIMIT_PROCESS_SHARE, "the process's share of device time",
        &limiter->me->node, process, since, &none},
       {LEVEL_TENANT, RAWHAL_LIMIT_GPU_SHARE, "the tenant's share of device time",
        &limiter->tenant->node, process, since, peers ? &peers->tenant : &none},
       {LEVEL_DEVICE, RAWHAL_LIMIT_DEVICE_SHARE, "the share of device time of all tenants",
        &limiter->device->node, process, since, peers ? &peers->device : &none}}};
}

/* False, of several reasons with the one that lasts longest. */
static bool levels_refuse(refusal_t *refusal, region_level_t level, uint64_t retry,
                          const char *what)
{
  if (refusal->level == LEVEL_NONE || retry > refusal->retry)
    *refusal = (refusal_t){level, retry, what, false};
  return false;
}

/* What runs may wait for something that its program does only after another submission: after what
 * never ends, nothing would ever be admitted. So more is admitted while something has been running
 * for long, and for longer than all that is not paid for yet: one, and one more each time that the
 * time doubles; while others wait, no more than one for each time that it takes to be stalled.
 * Beside it, it costs the process nothing; should they run on alone, one after the other, that is
 * all they get for longer than they took. In a queue that is busy it would hardly run before, and
 * waits longer. */
static uint64_t levels_stall_allowance(const limit_lease_t *lease, const peers_t *peers,
                                       const region_node_t *node, uint64_t now)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  const uint64_t active_at = node_load(&limiter->active_at); /* anything was admitted or charged */
  if (peers->others_wait && (active_at >= now || now - active_at < LIMIT_STALL_NS))
    return 0;
  const uint64_t ran = running_for(&limiter->me->hot.running_since, now);
  const uint64_t stalled = lease_in_flight(lease) ? 4 * (uint64_t)LIMIT_STALL_NS : LIMIT_STALL_NS;
  if (ran < stalled || ran < node_debt(node, now))
    return 0;
  return 64u - (unsigned)__builtin_clzll(ran / stalled);
}

/* What is in flight at a level but `mine`. What has been so for a while need not have run when
 * others use the device, too: then it counts as it was estimated, unless it takes much longer than
 * that. */
static node_flight_t flight_but(const level_t *at, const flight_t *mine, uint64_t now,
                                bool contended)
{
  const uint64_t ours = flight_now(at->ours, FLIGHT_SUBMISSIONS) - mine->of[FLIGHT_SUBMISSIONS];
  node_flight_t flight = *at->others;
  flight.submissions += ours;
  flight.ns += flight_now(at->ours, FLIGHT_NS) - mine->of[FLIGHT_NS];
  if (ours)
    flight.running += running_for(at->since, now);
  if (contended && flight.running <= 4 * flight.ns + LIMIT_TURN_NS)
    flight.running = 0;
  return flight;
}

/* May more go at every level, after all that is in flight but `mine`? */
static bool levels_admit(const limit_lease_t *lease, uint64_t now, const flight_t *mine,
                         const peers_t *peers, refusal_t *refusal)
{
  const levels_t levels = levels_of(lease, peers);
  const bool contended = peers->device.submissions > peers->tenant.submissions;
  for (int i = 0; i < LEVELS; ++i) {
    const level_t *at = &levels.of[i];
    const node_flight_t flight = flight_but(at, mine, now, contended);
    uint64_t retry, more;
    if (node_admits(at->node, now, &flight, &retry))
      continue;
    more = levels_stall_allowance(lease, peers, at->node, now);
    if (more == 0 || flight.submissions >= node_most_in_flight(node_load(&at->node->share)) + more)
      (void)levels_refuse(refusal, at->level, retry, at->what);
  }
  return refusal->level == LEVEL_NONE;
}

uint64_t limit_least_share(const limit_lease_t *lease)
{
  const levels_t levels = levels_of(lease, NULL);
  uint64_t least = REGION_SHARE_ONE;
  for (int i = 0; i < LEVELS; ++i) {
    const uint64_t share = node_load(&levels.of[i].node->share);
    least = share < least ? share : least;
  }
  return least;
}

/* ---- Telling the others ---- */

/* The thread that publishes last has looked after the last change. */
void limiter_publish_load(rawhal_limiter_t *limiter)
{
  const uint64_t most = UINT64_MAX >> LOAD_NS_BITS;
  uint64_t published = 0;
  for (bool first = true;; first = false) {
    const uint64_t submissions = flight_now(&limiter->flight, FLIGHT_SUBMISSIONS);
    const uint64_t ns = flight_now(&limiter->flight, FLIGHT_NS);
    const uint64_t load =
        (submissions < most ? submissions : most) << LOAD_NS_BITS | (ns < LOAD_NS ? ns : LOAD_NS);
    if (!first && load == published)
      return;
    published = load;
    atomic_store(&limiter->me->hot.load, published);
    atomic_store_explicit(&limiter->me->load_check, damage_load_check(load), memory_order_relaxed);
  }
}

void limiter_publish_start(rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t nothing = 0;
  (void)atomic_compare_exchange_strong(&limiter->me->hot.running_since, &nothing, now);
}

/* ---- Time and launches ---- */

/* Where nothing is limited there are no turns, nor where something has stalled. */
static bool turn_comes(const limit_lease_t *lease, uint64_t now, const peers_t *peers,
                       refusal_t *refusal)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  if ((!peers->yield_tenant && !peers->yield_device) ||
      levels_stall_allowance(lease, peers, &limiter->tenant->node, now))
    return true;
  bool at_device = node_is_limited(&limiter->device->node);
  if (peers->yield_tenant && (at_device || node_is_limited(&limiter->tenant->node)))
    return levels_refuse(refusal, LEVEL_TENANT, 0, "the turn of another process of the tenant");
  if (peers->yield_device && at_device)
    return levels_refuse(refusal, LEVEL_DEVICE, 0, "the turn of another tenant");
  return true;
}

void lease_give_back(limit_lease_t *lease, const flight_t *flight)
{
  flight_undo(&lease->flight, flight);
  flight_undo(&lease->limiter->flight, flight);
  limiter_publish_load(lease->limiter);
}

/* Looks at all levels first, where nothing of what is to go is in flight yet; then puts it there
 * and looks again. How long a first run will be is not known: what goes at the same time must fit,
 * all of it. That run is counted before its time is, so of a first run and of what is taken at the
 * same moment at least one sees the other. When two of those who looked first ask at the same time,
 * both are refused, and one of them tries again before the other does. */
static bool take_time(limit_lease_t *lease, uint64_t now, const portion_t *mine, refusal_t *refusal,
                      peers_t *peers)
{
  static const flight_t nothing;
  rawhal_limiter_t *limiter = lease->limiter;
  const uint64_t submissions = mine->flight.of[FLIGHT_SUBMISSIONS];
  const flight_t the_last = {{[FLIGHT_SUBMISSIONS] = submissions > 1 ? 1 : submissions}};
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL, false};
  peers_read(limiter, now, flight_now(&limiter->flight, FLIGHT_NS), peers);
  if (!levels_admit(lease, now, &nothing, peers, refusal) ||
      !turn_comes(lease, now, peers, refusal))
    return false;
  flight_add(&lease->flight, &mine->flight);
  flight_add(&limiter->flight, &mine->flight);
  limiter_publish_load(limiter);
  atomic_thread_fence(memory_order_seq_cst);
  const bool whole = mine->whole || flight_now(&limiter->flight, FLIGHT_PROBES) > mine->probe;
  if (limiter->region.fd >= 0)
    peers_read(limiter, now, flight_now(&limiter->flight, FLIGHT_NS) - mine->flight.of[FLIGHT_NS],
               peers);
  if (levels_admit(lease, now, whole ? &the_last : &mine->flight, peers, refusal))
    return true;
  if (!whole && refusal->retry <= now)
    refusal->retry = now + 10000 + ((now ^ limiter->slot) * 0x9e3779b97f4a7c15u >> 48);
  lease_give_back(lease, &mine->flight);
  return false;
}

bool lease_take_launches(limit_lease_t *lease, uint64_t now, uint64_t launches, uint64_t *retry)
{
  region_node_t *node = &lease->limiter->tenant->node;
  uint64_t rate = node_load(&node->rate), burst = node_burst(node);
  uint64_t seen = node_load(&node->rate_tat), next;
  *retry = 0;
  if (rate == RAWHAL_UNLIMITED)
    return true;
  if (rate == 0 || (seen > now + burst && seen - now <= NODE_MAX_DEBT_NS)) {
    *retry = rate ? seen - burst : now + NODE_MAX_DEBT_NS;
    return false;
  }
  if (launches == 0)
    return true;
  atomic_fetch_add_explicit(&lease->limiter->tenant->prepaid, launches, memory_order_release);
  unsigned __int128 exact = (unsigned __int128)launches * 1000000000u / rate;
  uint64_t cost = exact < NODE_MAX_DEBT_NS ? (uint64_t)exact : NODE_MAX_DEBT_NS;
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

bool lease_take(limit_lease_t *lease, uint64_t now, const portion_t *mine, refusal_t *refusal,
                peers_t *peers)
{
  const bool taken = take_time(lease, now, mine, refusal, peers);
  uint64_t retry;
  if (lease_take_launches(lease, now, taken ? mine->launches : 0, &retry))
    return taken;
  if (taken)
    lease_give_back(lease, &mine->flight);
  return levels_refuse(refusal, LEVEL_PROCESS, retry, "the tenant's dispatches a second");
}

/* ---- Those who were away ---- */

/* Returns by how much. */
static uint64_t raise_to(_Atomic uint64_t *served, const _Atomic uint64_t *refund, uint64_t floor)
{
  uint64_t paid = node_load(served), back = node_load(refund);
  while (paid < back || paid - back < floor)
    if (atomic_compare_exchange_weak_explicit(served, &paid, floor + back, memory_order_relaxed,
                                              memory_order_relaxed))
      return floor + back - paid;
  return 0;
}

/* A process that was idle must not now be served alone until it has caught up. One that comes back
 * after a moment may have been kept from asking; but none saves up for long. */
static void catch_up(rawhal_limiter_t *limiter, uint64_t now)
{
  region_hot_t *hot = &limiter->me->hot;
  if (limiter->region.fd < 0 || flight_now(&limiter->flight, FLIGHT_SUBMISSIONS) ||
      node_load(&hot->wait_until) >= now || node_load(&hot->active_until) >= now)
    return;
  peers_t peers;
  peers_read(limiter, now, 0, &peers);
  if (peers.least_served == UINT64_MAX) /* none is active: level with the one served most */
    peers.least_served = peers.most_served;
  if (peers.least_tenant_served == UINT64_MAX)
    peers.least_tenant_served = peers.most_tenant_served;
  const uint64_t active_at = node_load(&limiter->active_at);
  bool was_away = active_at < now && now - active_at > LIMIT_IDLE_NS;
  uint64_t mine = limit_for_weight(was_away ? 0 : LIMIT_DEFICIT_NS, limiter->me);
  if (peers.least_served != UINT64_MAX && peers.least_served > mine)
    atomic_fetch_add(&limiter->damage.served,
                     raise_to(&hot->served, &hot->refund, peers.least_served - mine));
  uint64_t ours = was_away && !peers.tenant_active ? 0 : LIMIT_DEFICIT_NS;
  if (peers.least_tenant_served != UINT64_MAX && peers.least_tenant_served > ours)
    (void)raise_to(&limiter->tenant->served, &limiter->tenant->refund,
                   peers.least_tenant_served - ours);
}

/* ---- One attempt ---- */

static const flight_t one_probe = {{[FLIGHT_PROBES] = 1}};

/* Of kernels never measured one is in flight at a time, unless that one waits for something, which
 * is found out with the lock. Until the batch is admitted flight_undo() takes it back. */
static bool reserve_probe(rawhal_limiter_t *limiter, uint64_t now, bool locked)
{
  static const _Atomic uint64_t at_a_time = 1;
  if (flight_reserve(&limiter->flight, FLIGHT_PROBES, 1, &at_a_time))
    return true;
  if (!locked || !limiter_seems_stalled(limiter, now))
    return false;
  flight_add(&limiter->flight, &one_probe);
  return true;
}

/* It is admitted. Code that learns from it has its grant, which is published later. */
static void begin_probe(limit_lease_t *lease, const limit_cost_t *cost)
{
  rawhal_limiter_t *limiter = lease->limiter;
  flight_add(&lease->flight, &one_probe);
  for (uint32_t i = 0; i < LIMIT_UNKNOWN_KEYS; ++i)
    atomic_store_explicit(&limiter->probe_keys[i], i < cost->unknown ? cost->unknown_keys[i] : 0,
                          memory_order_relaxed);
  limiter_count(limiter, COUNTER_PROBES, 1);
}

bool lease_attempt(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now, bool locked,
                   limit_grant_t *grant, refusal_t *refusal)
{
  rawhal_limiter_t *limiter = lease->limiter;
  peers_t peers;
  const bool probe = cost->unknown && limit_least_share(lease) < REGION_SHARE_ONE;
  const portion_t mine = {
      .flight = {{[FLIGHT_SUBMISSIONS] = 1,
                  [FLIGHT_NS] = cost->estimate_ns + (probe ? LIMIT_UNKNOWN_NS : 0)}},
      .launches = cost->launches,
      .probe = probe};
  const flight_t capped = caps_flight(cost);
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL, false};
  if (!locked && limiter_seems_stalled(limiter, now))
    return false;
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return levels_refuse(refusal, LEVEL_PROCESS, 0, "work-groups of a dispatch");
  const char *full = caps_reserve(limiter, &capped);
  if (full)
    return levels_refuse(refusal, LEVEL_PROCESS, 0, full);
  if (probe && !reserve_probe(limiter, now, locked)) {
    flight_undo(&limiter->flight, &capped);
    return levels_refuse(refusal, LEVEL_PROCESS, 0, "the first run of another kernel");
  }
  const bool idle = lease_in_flight(lease) == 0;
  catch_up(limiter, now);
  if (!lease_take(lease, now, &mine, refusal, &peers)) {
    flight_undo(&limiter->flight, &capped);
    if (probe)
      flight_undo(&limiter->flight, &one_probe);
    return false;
  }
  *grant = (limit_grant_t){.key = cost->key,
                           .estimate_ns = mine.flight.of[FLIGHT_NS],
                           .workgroups = cost->workgroups,
                           .kernarg_bytes = cost->kernarg_bytes,
                           .admitted_at = now,
                           .launches = cost->launches,
                           .units = cost->units,
                           .submissions = 1,
                           .probe = probe};
  if (idle)
    lease_runs_since(lease, now);
  flight_add(&lease->flight, &capped); /* the rest lease_take() has counted */
  limiter_publish_start(limiter, now);
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
  if (peers.others_wait)
    limiter_signal(limiter); /* those that let us go first may go now */
  if (probe)
    begin_probe(lease, cost);
  else
    lease_refill(lease, now, &capped, mine.flight.of[FLIGHT_NS], &peers);
  return true;
}

/* ---- Without the lock ---- */

/* Where no one waits, there is nothing to learn and nothing has to be found out first, what is
 * taken is a few words, and others look at those: no lock. `*epoch`: of the limits that it was
 * admitted under. */
static bool attempt_as_it_is(limit_lease_t *lease, const limit_cost_t *cost, limit_grant_t *grant,
                             uint64_t *epoch)
{
  rawhal_limiter_t *limiter = lease->limiter;
  *epoch = atomic_load(lease->current_epoch);
  if (atomic_load(&lease->epoch) != *epoch || atomic_load(&limiter->waiting) ||
      flight_now(&limiter->flight, FLIGHT_PROBES) ||
      atomic_load_explicit(&limiter->tenant->suspended, memory_order_acquire))
    return false;
  refusal_t refusal;
  uint64_t now = limiter_now(limiter);
  caps_make_room(limiter, lease, cost);
  if (!lease_attempt(lease, cost, now, false, grant, &refusal))
    return false;
  if (node_load(&limiter->me->hot.wait_until))
    publish_wait(limiter, 0, NULL, 0);
  if (atomic_load(lease->current_epoch) != *epoch)
    lease_return_credit(lease); /* the limits it was given under are gone */
  return true;
}

/* False: the other way tells why not, or waits. */
static bool attempt_unlocked(limit_lease_t *lease, const limit_cost_t *cost, limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  uint64_t epoch;
  atomic_fetch_add(&limiter->unlocked, 1);
  bool admitted = !atomic_load(&limiter->locked) && attempt_as_it_is(lease, cost, grant, &epoch);
  atomic_fetch_sub(&limiter->unlocked, 1);
  if (admitted && atomic_load(lease->current_epoch) != epoch) {
    limit_cancel(lease, grant); /* others may have been admitted under new limits */
    *grant = (limit_grant_t){0};
    return false;
  }
  return admitted;
}

/* ---- Admission ---- */

void limiter_count_wait(rawhal_limiter_t *limiter, uint64_t ns)
{
  const uint64_t us = ns / 1000;
  const unsigned bucket = us ? 64u - (unsigned)__builtin_clzll(us) : 0;
  const unsigned last = REGION_WAIT_BUCKETS - 1;
  limiter_count(limiter, COUNTER_WAITS, 1);
  limiter_count(limiter, COUNTER_WAIT_NS, ns);
  atomic_fetch_add_explicit(&limiter->me->waits[bucket < last ? bucket : last], 1,
                            memory_order_relaxed);
}

void lease_admitted(limit_lease_t *lease)
{
  if (atomic_load_explicit(&lease->refused_at, memory_order_relaxed) == 0)
    return;
  const uint64_t since = atomic_exchange(&lease->refused_at, 0), now = limiter_now(lease->limiter);
  if (since)
    limiter_count_wait(lease->limiter, now > since ? now - since : 0);
}

rawhal_status_t limit_admit_slow(limit_lease_t *lease, const limit_cost_t *cost, uint64_t deadline,
                                 limit_grant_t *grant, rawhal_error_t *error)
{
  *grant = (limit_grant_t){0};
  rawhal_status_t status = region_check(&lease->limiter->region, error);
  if (status == RAWHAL_OK) /* what is never admitted is refused without a lock, too */
    status = caps_check(lease, cost, error);
  if (status == RAWHAL_QUOTA_EXCEEDED && damage_doubt(lease->limiter))
    status = caps_check(lease, cost, error);
  if (status == RAWHAL_OK && !attempt_unlocked(lease, cost, grant))
    status = admit_in_turn(lease, cost, deadline, grant, error);
  if (status == RAWHAL_OK)
    lease_admitted(lease);
  return status;
}
