/* What it takes to admit a batch: room below all caps and shares, and a turn.
 *
 * What a member has in flight is published before it looks at what others have: of two that admit
 * at the same time at least one sees the other, so together they never exceed the burst. There is
 * no sum that a dying process could leave wrong; each looks at the words of all members. */
#include "queue/limit/attempt.h"
#include "queue/limit/caps.h"
#include "queue/limit/node.h"
#include "queue/limit/peers.h"

/* ---- Deciding ---- */

static bool refuse(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what)
{
  *refusal = (refusal_t){level, retry, what, false};
  return false;
}

/* Of several reasons the one that lasts longest counts. */
static void postpone(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what)
{
  if (refusal->level == LEVEL_NONE || retry > refusal->retry)
    (void)refuse(refusal, level, retry, what);
}

/* Since anything was admitted or charged. */
static uint64_t idle_for(const rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t at = node_load(&limiter->active_at);
  return at < now ? now - at : 0;
}

/* How long what this process has in flight has been running. */
static uint64_t running(const rawhal_limiter_t *limiter, uint64_t now)
{
  uint64_t since = node_load(&limiter->me->hot.running_since);
  return since && since < now ? now - since : 0;
}

/* What runs may wait for something that its program does only after another submission: after what
 * never ends, nothing would ever be admitted. So more is admitted while something has been running
 * for long, and for longer than all that is not paid for yet: one, and one more each time that the
 * time doubles; while others wait, no more than one for each time that it takes to be stalled.
 * Beside it, it costs the process nothing; should they run on alone, one after the other, that is
 * all they get for longer than they took. In a queue that is busy it would hardly run before, and
 * waits longer. */
static uint64_t stall_allowance(const limit_lease_t *lease, const peers_t *peers,
                                const region_node_t *node, uint64_t now)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  if (peers->others_wait && idle_for(limiter, now) < LIMIT_STALL_NS)
    return 0;
  uint64_t ran = running(limiter, now);
  uint64_t stalled = lease_in_flight(lease) ? 4 * (uint64_t)LIMIT_STALL_NS : LIMIT_STALL_NS;
  if (ran < stalled || ran < node_debt(node, now))
    return 0;
  return 64u - (unsigned)__builtin_clzll(ran / stalled);
}

/* What a batch takes from the levels' clocks. */
typedef struct portion {
  uint64_t ns, submissions;
} portion_t;

static node_flight_t flight_without(const flight_sum_t *sum, const portion_t *mine, uint64_t ran)
{
  uint64_t submissions = flight_now(sum, FLIGHT_SUBMISSIONS) - mine->submissions;
  return (node_flight_t){submissions, flight_now(sum, FLIGHT_NS) - mine->ns, submissions ? ran : 0};
}

static node_flight_t flight_sum(const node_flight_t *a, const node_flight_t *b)
{
  return (node_flight_t){a->submissions + b->submissions, a->ns + b->ns, a->running + b->running};
}

/* What has been in flight for a while need not have run when others use the device, too: then it
 * counts as it was estimated, unless it takes much longer than that. */
static node_flight_t without_waiting(node_flight_t flight, bool contended)
{
  if (contended && flight.running <= 4 * flight.ns + LIMIT_TURN_NS)
    flight.running = 0;
  return flight;
}

/* Asks every level whether more may go after all that is in flight but `mine`, the batch. */
static bool shares_admit(const limit_lease_t *lease, uint64_t now, const portion_t *mine,
                         const peers_t *peers, refusal_t *refusal)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  uint64_t ran = running(limiter, now), busy = node_load(&lease->busy_since);
  uint64_t queued = busy && busy < now ? now - busy : 0;
  node_flight_t queue = flight_without(&lease->flight, mine, queued);
  node_flight_t process = flight_without(&limiter->flight, mine, ran);
  node_flight_t tenant = flight_sum(&process, &peers->tenant);
  node_flight_t device = flight_sum(&process, &peers->device);
  bool contended = peers->device.submissions > peers->tenant.submissions;
  const struct {
    const region_node_t *node;
    const node_flight_t *flight;
    region_level_t level;
    const char *what;
  } rows[] = {
      {&lease->node, &queue, LEVEL_QUEUE, "the queue's share of device time"},
      {&limiter->me->node, &process, LEVEL_PROCESS, "the process's share of device time"},
      {&limiter->tenant->node, &tenant, LEVEL_TENANT, "the tenant's share of device time"},
      {&limiter->device->node, &device, LEVEL_DEVICE, "the share of device time of all tenants"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    const region_node_t *node = rows[i].node;
    uint64_t retry, allowance = stall_allowance(lease, peers, node, now);
    node_flight_t flight = without_waiting(*rows[i].flight, contended);
    if (!node_admits(node, now, &flight, &retry) &&
        (allowance == 0 ||
         flight.submissions >= node_most_in_flight(node_load(&node->share)) + allowance))
      postpone(refusal, rows[i].level, retry, rows[i].what);
  }
  return refusal->level == LEVEL_NONE;
}

static flight_t portion_flight(const portion_t *mine)
{
  return (flight_t){{[FLIGHT_SUBMISSIONS] = mine->submissions, [FLIGHT_NS] = mine->ns}};
}

static void add_open(limit_lease_t *lease, const portion_t *mine)
{
  flight_t flight = portion_flight(mine);
  flight_add(&lease->flight, &flight);
  flight_add(&lease->limiter->flight, &flight);
  limiter_publish_load(lease->limiter);
}

static void give_back(limit_lease_t *lease, const portion_t *mine)
{
  flight_t flight = portion_flight(mine);
  flight_undo(&lease->flight, &flight);
  flight_undo(&lease->limiter->flight, &flight);
  limiter_publish_load(lease->limiter);
}

/* Is it our turn? Where nothing is limited there are none. */
static bool turn_comes(const limit_lease_t *lease, const peers_t *peers, refusal_t *refusal)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  bool at_device = node_is_limited(&limiter->device->node);
  if (peers->yield_tenant && (at_device || node_is_limited(&limiter->tenant->node)))
    return refuse(refusal, LEVEL_TENANT, 0, "the turn of another process of the tenant");
  if (peers->yield_device && at_device)
    return refuse(refusal, LEVEL_DEVICE, 0, "the turn of another tenant");
  return true;
}

/* All levels, all of them: where nothing of what is to go is in flight yet. */
static bool look_first(const limit_lease_t *lease, uint64_t now, refusal_t *refusal, peers_t *peers)
{
  static const portion_t nothing;
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL, false};
  peers_read(lease->limiter, now, flight_now(&lease->limiter->flight, FLIGHT_NS), peers);
  bool admitted = shares_admit(lease, now, &nothing, peers, refusal);
  bool stalled = stall_allowance(lease, peers, &lease->limiter->tenant->node, now) != 0;
  return admitted && (stalled || turn_comes(lease, peers, refusal));
}

/* When two of those who looked first ask at the same time, both are refused, and one of them tries
 * again before the other does. */
static uint64_t soon(const rawhal_limiter_t *limiter, uint64_t now)
{
  return now + 10000 + ((now ^ limiter->slot) * 0x9e3779b97f4a7c15u >> 48);
}

/* How long the first run of a kernel will be is not known: what goes at the same time must fit, all
 * of it. `mine`: such runs of the process that asks. */
static bool must_fit(const rawhal_limiter_t *limiter, uint64_t mine)
{
  return flight_now(&limiter->flight, FLIGHT_PROBES) > mine;
}

/* Takes `mine` from all levels, or from none. All of it must fit when `whole`, and while a first
 * run other than its own is in flight: that is counted before its time is, so of a first run and of
 * what is taken at the same moment at least one sees the other. */
static bool take(limit_lease_t *lease, uint64_t now, const portion_t *mine, bool whole, bool probe,
                 refusal_t *refusal, peers_t *peers)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const portion_t the_last = {0, mine->submissions > 1 ? 1 : mine->submissions};
  if (!look_first(lease, now, refusal, peers))
    return false;
  add_open(lease, mine);
  atomic_thread_fence(memory_order_seq_cst);
  whole = whole || must_fit(limiter, probe);
  if (limiter->region.fd >= 0)
    peers_read(limiter, now, flight_now(&limiter->flight, FLIGHT_NS) - mine->ns, peers);
  bool admitted = shares_admit(lease, now, whole ? &the_last : mine, peers, refusal);
  if (!admitted) {
    if (!whole && refusal->retry <= now)
      refusal->retry = soon(limiter, now);
    give_back(lease, mine);
  }
  return admitted;
}

bool limiter_seems_stalled(const rawhal_limiter_t *limiter, uint64_t now)
{
  return running(limiter, now) >= LIMIT_STALL_NS;
}

uint64_t limit_least_share(const limit_lease_t *lease)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  const region_node_t *const levels[] = {&lease->node, &limiter->me->node, &limiter->tenant->node,
                                         &limiter->device->node};
  uint64_t least = REGION_SHARE_ONE;
  for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); ++i) {
    const uint64_t share = node_load(&levels[i]->share);
    least = share < least ? share : least;
  }
  return least;
}

bool lease_has_share(const limit_lease_t *lease)
{
  return limit_least_share(lease) < REGION_SHARE_ONE;
}

/* Submissions that may still go in flight at every level. */
static uint64_t room_in_flight(const limit_lease_t *lease, const peers_t *peers)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  uint64_t process = flight_now(&limiter->flight, FLIGHT_SUBMISSIONS);
  const struct {
    const region_node_t *node;
    uint64_t submissions;
  } rows[] = {{&lease->node, flight_now(&lease->flight, FLIGHT_SUBMISSIONS)},
              {&limiter->me->node, process},
              {&limiter->tenant->node, process + peers->tenant.submissions},
              {&limiter->device->node, process + peers->device.submissions}};
  uint64_t room = UINT64_MAX;
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    uint64_t most = node_most_in_flight(node_load(&rows[i].node->share));
    uint64_t left = most > rows[i].submissions ? most - rows[i].submissions : 0;
    room = left < room ? left : room;
  }
  return room;
}

/* ---- One attempt ---- */

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
  bool was_away = idle_for(limiter, now) > LIMIT_IDLE_NS;
  uint64_t mine = limit_for_weight(was_away ? 0 : LIMIT_DEFICIT_NS, limiter->me);
  if (peers.least_served != UINT64_MAX && peers.least_served > mine)
    raise_to(&hot->served, &hot->refund, peers.least_served - mine);
  uint64_t ours = was_away && !peers.tenant_active ? 0 : LIMIT_DEFICIT_NS;
  if (peers.least_tenant_served != UINT64_MAX && peers.least_tenant_served > ours)
    raise_to(&limiter->tenant->served, &limiter->tenant->refund, peers.least_tenant_served - ours);
}

/* Takes a batch's time and launches. */
static bool take_batch(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now,
                       const portion_t *mine, bool probe, refusal_t *refusal, peers_t *peers)
{
  region_node_t *tenant = &lease->limiter->tenant->node;
  bool taken = take(lease, now, mine, false, probe, refusal, peers);
  uint64_t retry;
  if (taken && node_rate_take(tenant, now, cost->launches, &retry))
    return true;
  if (taken)
    give_back(lease, mine);
  if (taken || !node_rate_admits(tenant, now, &retry))
    postpone(refusal, LEVEL_PROCESS, retry, "the tenant's dispatches a second");
  return false;
}

/* Takes what a lease is to get, or nothing. */
static bool take_credit(limit_lease_t *lease, uint64_t now, const credit_t *more, peers_t *peers)
{
  refusal_t none;
  uint64_t retry;
  rawhal_limiter_t *limiter = lease->limiter;
  flight_t flight = credit_flight(more);
  portion_t portion = {more->of[CREDIT_NS], more->of[CREDIT_LAUNCHES]};
  if (caps_reserve(limiter, &flight))
    return false;
  if (take(lease, now, &portion, true, false, &none, peers)) {
    if (node_rate_take(&limiter->tenant->node, now, portion.submissions, &retry)) {
      if (lease_fill(lease, more))
        return true;
      node_rate_return(&limiter->tenant->node, node_load(&lease->rate), portion.submissions);
    }
    give_back(lease, &portion);
  }
  flight_undo(&limiter->flight, &flight);
  return false;
}

/* Fills the lease for batches to come, when they are short and none waits. */
static void refill(limit_lease_t *lease, uint64_t now, const limit_cost_t *last, uint64_t last_ns,
                   peers_t *peers)
{
  credit_t more;
  uint64_t room = room_in_flight(lease, peers);
  if (!peers->others_wait && lease_wants(lease, peers->tenant_members, room, last, last_ns, &more))
    (void)take_credit(lease, now, &more, peers);
}

static const flight_t one_probe = {{[FLIGHT_PROBES] = 1}};

/* Of kernels never measured one is in flight at a time, unless that one waits for something, which
 * is found out with the lock. Until the batch is admitted flight_undo() takes it back. */
static bool reserve_probe(rawhal_limiter_t *limiter, uint64_t now, bool locked)
{
  static const _Atomic uint64_t at_a_time = 1;
  if (flight_reserve(&limiter->flight, FLIGHT_PROBES, 1, &at_a_time))
    return true;
  if (!locked || running(limiter, now) < LIMIT_STALL_NS)
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
  bool probe = cost->unknown && lease_has_share(lease);
  portion_t mine = {cost->estimate_ns + (probe ? LIMIT_UNKNOWN_NS : 0), 1};
  flight_t flight = caps_flight(cost);
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL, false};
  if (cost->largest_grid > limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS))
    return refuse(refusal, LEVEL_PROCESS, 0, "work-groups of a dispatch");
  const char *full = caps_reserve(limiter, &flight);
  if (full)
    return refuse(refusal, LEVEL_PROCESS, 0, full);
  if (probe && !reserve_probe(limiter, now, locked)) {
    flight_undo(&limiter->flight, &flight);
    return refuse(refusal, LEVEL_PROCESS, 0, "the end of the first run of another kernel");
  }
  bool idle = lease_in_flight(lease) == 0;
  catch_up(limiter, now);
  if (!take_batch(lease, cost, now, &mine, probe, refusal, &peers)) {
    flight_undo(&limiter->flight, &flight);
    if (probe)
      flight_undo(&limiter->flight, &one_probe);
    return false;
  }
  *grant = (limit_grant_t){.key = cost->key,
                           .estimate_ns = mine.ns,
                           .workgroups = cost->workgroups,
                           .kernarg_bytes = cost->kernarg_bytes,
                           .admitted_at = now,
                           .launches = cost->launches,
                           .units = cost->units,
                           .submissions = 1,
                           .probe = probe};
  if (idle)
    lease_runs_since(lease, now);
  flight_add(&lease->flight, &flight); /* what else of it is in flight take_batch() has counted */
  limiter_publish_start(limiter, now);
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
  if (peers.others_wait)
    limiter_signal(limiter); /* those that let us go first may go now */
  if (probe)
    begin_probe(lease, cost);
  else
    refill(lease, now, cost, mine.ns, &peers);
  return true;
}
