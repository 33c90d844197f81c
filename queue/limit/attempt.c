/* What it takes to admit a batch: room below all caps and shares, and a turn.
 *
 * What a member has in flight is published before it looks at what others have: of two that admit
 * at the same time at least one sees the other, so together they never exceed the burst. There is
 * no sum that a dying process could leave wrong; each looks at the words of all members. */
#include "queue/limit/attempt.h"

#include "queue/limit/caps.h"
#include "queue/limit/complete.h"
#include "queue/limit/lease.h"
#include "queue/limit/weight.h"

/* ---- Time and launches ---- */

/* What is to be taken from the levels. */
typedef struct portion {
  flight_t flight; /* submissions and ns */
  uint64_t launches;
  bool probe; /* a first run, which is in flight already */
  bool whole; /* all of it must fit; else all but one submission must be paid for */
} portion_t;

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

static void give_back(limit_lease_t *lease, const flight_t *flight)
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
  give_back(lease, &mine->flight);
  return false;
}

/* Takes a portion from all levels, or nothing. */
static bool take(limit_lease_t *lease, uint64_t now, const portion_t *mine, refusal_t *refusal,
                 peers_t *peers)
{
  region_node_t *tenant = &lease->limiter->tenant->node;
  const bool taken = take_time(lease, now, mine, refusal, peers);
  uint64_t retry;
  if (node_rate_take(tenant, now, taken ? mine->launches : 0, &retry))
    return taken;
  if (taken)
    give_back(lease, &mine->flight);
  return levels_refuse(refusal, LEVEL_PROCESS, retry, "the tenant's dispatches a second");
}

/* Fills the lease for batches to come, when they are short and none waits. */
static void refill(limit_lease_t *lease, uint64_t now, const limit_cost_t *last, uint64_t last_ns,
                   peers_t *peers)
{
  rawhal_limiter_t *limiter = lease->limiter;
  credit_t more;
  refusal_t none;
  uint64_t submissions, ns;
  levels_room(lease, peers, &submissions, &ns);
  if (peers->others_wait ||
      !lease_wants(lease, ns, peers->tenant_members, submissions, last, last_ns, &more))
    return;
  const flight_t capped = credit_flight(&more);
  const uint64_t launches = more.of[CREDIT_LAUNCHES];
  const portion_t portion = {
      .flight = {{[FLIGHT_SUBMISSIONS] = launches, [FLIGHT_NS] = more.of[CREDIT_NS]}},
      .launches = launches,
      .whole = true};
  if (caps_reserve(limiter, &capped))
    return;
  if (take(lease, now, &portion, &none, peers)) {
    if (lease_fill(lease, &more))
      return;
    node_rate_return(&limiter->tenant->node, node_load(&lease->rate), launches);
    give_back(lease, &portion.flight);
  }
  flight_undo(&limiter->flight, &capped);
}

/* ---- Those who were away ---- */

static void raise_to(_Atomic uint64_t *served, const _Atomic uint64_t *refund, uint64_t floor)
{
  uint64_t paid = node_load(served), back = node_load(refund);
  while (paid < back || paid - back < floor)
    if (atomic_compare_exchange_weak_explicit(served, &paid, floor + back, memory_order_relaxed,
                                              memory_order_relaxed))
      return;
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
    raise_to(&hot->served, &hot->refund, peers.least_served - mine);
  uint64_t ours = was_away && !peers.tenant_active ? 0 : LIMIT_DEFICIT_NS;
  if (peers.least_tenant_served != UINT64_MAX && peers.least_tenant_served > ours)
    raise_to(&limiter->tenant->served, &limiter->tenant->refund, peers.least_tenant_served - ours);
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
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return levels_refuse(refusal, LEVEL_PROCESS, 0, "work-groups of a dispatch");
  const char *full = caps_reserve(limiter, &capped);
  if (full)
    return levels_refuse(refusal, LEVEL_PROCESS, 0, full);
  if (probe && !reserve_probe(limiter, now, locked)) {
    flight_undo(&limiter->flight, &capped);
    return levels_refuse(refusal, LEVEL_PROCESS, 0, "the end of the first run of another kernel");
  }
  const bool idle = lease_in_flight(lease) == 0;
  catch_up(limiter, now);
  if (!take(lease, now, &mine, refusal, &peers)) {
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
  flight_add(&lease->flight, &capped); /* what else of it is in flight take() has counted */
  limiter_publish_start(limiter, now);
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
  if (peers.others_wait)
    limiter_signal(limiter); /* those that let us go first may go now */
  if (probe)
    begin_probe(lease, cost);
  else
    refill(lease, now, cost, mine.flight.of[FLIGHT_NS], &peers);
  return true;
}
