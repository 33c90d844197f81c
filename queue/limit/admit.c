/* Admission, when a lease has run out.
 *
 * What a member has in flight is published before it looks at what others have: of two that admit
 * at the same time at least one sees the other, so together they never exceed the burst. There is
 * no sum that a dying process could leave wrong; each looks at the words of all members. */
#include "queue/limit/limiter.h"
#include "queue/limit/node.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t forever = UINT64_MAX;

/* ---- What the others do ---- */

typedef struct surroundings {
  uint64_t tenant_open, device_open; /* estimated ns in flight, of others */
  uint32_t tenant_members;           /* with us */
  bool yield_tenant, yield_device;   /* somebody who waits there goes first */
  bool others_wait;
  uint64_t least_served; /* of those that are active; UINT64_MAX: nobody is */
} surroundings_t;

/* Start-time fair queueing: who has been served least, with what is in flight, goes first. */
static uint64_t served(const region_hot_t *hot, uint64_t open, uint64_t weight)
{
  uint64_t paid = node_load(&hot->served), back = node_load(&hot->refund);
  return (paid > back ? paid - back : 0) + open * 100 / (weight ? weight : 1);
}

/* The priority, and one more for each so long a wait: nobody starves. */
static uint64_t rank(uint64_t waits, uint64_t now)
{
  uint64_t since = waits & WAITS_SINCE;
  return (waits & WAITS_PRIORITY) + (since && now > since ? (now - since) / LIMIT_AGEING_NS : 0);
}

typedef struct contender {
  uint64_t rank, served;
  uint32_t slot;
} contender_t;

static bool goes_before(const contender_t *a, const contender_t *b)
{
  if (a->rank != b->rank)
    return a->rank > b->rank;
  if (a->served != b->served)
    return a->served < b->served;
  return a->slot < b->slot;
}

static uint64_t open_of(const region_hot_t *hot, uint64_t now)
{
  uint64_t open = atomic_load_explicit(&hot->open, memory_order_seq_cst);
  return now < node_load(&hot->fresh_until) ? open : 0;
}

static void look_at(const rawhal_limiter_t *limiter, uint64_t now, const contender_t *me,
                    uint32_t slot, surroundings_t *around)
{
  const region_member_t *member = &limiter->region.data->members[slot];
  const region_hot_t *hot = &member->hot;
  if (region_state(atomic_load_explicit(&hot->state, memory_order_acquire)) != REGION_LIVE ||
      atomic_load_explicit(&member->device, memory_order_relaxed) != limiter->device_index)
    return;
  bool same_tenant =
      atomic_load_explicit(&member->tenant, memory_order_relaxed) == limiter->tenant_index;
  uint64_t open = open_of(hot, now);
  uint64_t weight = atomic_load_explicit(&member->weight, memory_order_relaxed);
  contender_t other = {.served = served(hot, open, weight), .slot = slot};
  if (open > NODE_MAX_DEBT_NS)
    open = 0; /* damage */
  around->device_open += open;
  if (same_tenant) {
    around->tenant_open += open;
    ++around->tenant_members;
    if ((open || now - node_load(&hot->active_at) < LIMIT_IDLE_NS) &&
        other.served < around->least_served)
      around->least_served = other.served;
  }
  if (node_load(&hot->wait_until) < now)
    return;
  uint64_t waits = node_load(&hot->waits);
  around->others_wait = true;
  other.rank = rank(waits, now);
  if (!goes_before(&other, me))
    return;
  if (waits & WAITS_AT_DEVICE)
    around->yield_device = true;
  else if (same_tenant)
    around->yield_tenant = true;
}

/* `mine`: what we have in flight, without what is to be admitted. */
static void look_around(const rawhal_limiter_t *limiter, uint64_t now, uint64_t mine,
                        surroundings_t *around)
{
  const region_hot_t *hot = &limiter->me->hot;
  uint64_t weight = atomic_load_explicit(&limiter->me->weight, memory_order_relaxed);
  uint64_t waits = node_load(&hot->wait_until) >= now
                       ? node_load(&hot->waits)
                       : atomic_load_explicit(&limiter->me->priority, memory_order_relaxed);
  contender_t me = {rank(waits, now), served(hot, mine, weight), limiter->slot};
  *around = (surroundings_t){.tenant_members = 1, .least_served = UINT64_MAX};
  uint32_t count = region_member_count(limiter->region.data);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (slot != limiter->slot)
      look_at(limiter, now, &me, slot, around);
}

/* ---- Deciding ---- */

typedef struct refusal {
  region_level_t level; /* LEVEL_NONE: not refused */
  uint64_t retry;       /* 0: when something changes */
  const char *what;
} refusal_t;

static bool refuse(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what)
{
  *refusal = (refusal_t){level, retry, what};
  return false;
}

/* Of several reasons the one that lasts longest counts. */
static void postpone(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what)
{
  if (refusal->level == LEVEL_NONE || retry > refusal->retry)
    (void)refuse(refusal, level, retry, what);
}

/* Asks every level whether more may go behind all that is in flight but `ns`, its own estimate. */
static bool shares_admit(const limit_lease_t *lease, uint64_t now, uint64_t ns,
                         const surroundings_t *around, refusal_t *refusal)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  uint64_t mine = limiter->open_ns - ns;
  const struct {
    const region_node_t *node;
    uint64_t open;
    region_level_t level;
    const char *what;
  } rows[] = {
      {&lease->node, lease->open_ns - ns, LEVEL_QUEUE, "the queue's share of device time"},
      {&limiter->me->node, mine, LEVEL_PROCESS, "the process's share of device time"},
      {&limiter->tenant->node, mine + around->tenant_open, LEVEL_TENANT,
       "the tenant's share of device time"},
      {&limiter->device->node, mine + around->device_open, LEVEL_DEVICE,
       "the share of device time of all tenants"},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    uint64_t retry;
    if (!node_admits(rows[i].node, now, rows[i].open, &retry))
      postpone(refusal, rows[i].level, retry, rows[i].what);
  }
  return refusal->level == LEVEL_NONE;
}

static void give_back(limit_lease_t *lease, uint64_t now, uint64_t ns)
{
  lease->open_ns -= ns;
  lease->limiter->open_ns -= ns;
  limiter_publish_open(lease->limiter, now);
}

/* Takes `ns` from all levels, or from none; all of them must be within the bursts when `whole`. */
static bool take(limit_lease_t *lease, uint64_t now, uint64_t ns, bool whole, refusal_t *refusal,
                 surroundings_t *around)
{
  rawhal_limiter_t *limiter = lease->limiter;
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL};
  lease->open_ns += ns;
  limiter->open_ns += ns;
  limiter_publish_open(limiter, now);
  atomic_thread_fence(memory_order_seq_cst);
  look_around(limiter, now, limiter->open_ns - ns, around);
  bool admitted = shares_admit(lease, now, whole ? 0 : ns, around, refusal);
  if (admitted && around->yield_tenant && node_is_limited(&limiter->tenant->node))
    admitted = refuse(refusal, LEVEL_TENANT, 0, "the turn of another process of the tenant");
  else if (admitted && around->yield_device && node_is_limited(&limiter->device->node))
    admitted = refuse(refusal, LEVEL_DEVICE, 0, "the turn of another process");
  if (!admitted)
    give_back(lease, now, ns);
  return admitted;
}

static bool any_share(const limit_lease_t *lease)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  return node_is_limited(&lease->node) || node_is_limited(&limiter->me->node) ||
         node_is_limited(&limiter->tenant->node) || node_is_limited(&limiter->device->node);
}

/* A lease's size: small against each burst, and against the others that may hold one. */
static uint64_t lease_size(const limit_lease_t *lease, uint32_t members)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  const region_node_t *const nodes[] = {&lease->node, &limiter->me->node, &limiter->tenant->node,
                                        &limiter->device->node};
  uint64_t size = LIMIT_LEASE_NS;
  for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); ++i) {
    uint64_t share = node_load(&nodes[i]->share);
    uint64_t part = share < REGION_SHARE_ONE
                        ? node_device_time(share, node_burst(nodes[i])) / (4ull * members)
                        : size;
    size = part < size ? part : size;
  }
  return size;
}

void limiter_return_credit(rawhal_limiter_t *limiter, limit_lease_t *lease)
{
  uint64_t credit = atomic_exchange_explicit(&lease->credit, 0, memory_order_relaxed);
  lease->open_ns -= LIMIT_CREDIT_NS(credit);
  lease->granted -= LIMIT_CREDIT_LAUNCHES(credit);
  limiter->open_ns -= LIMIT_CREDIT_NS(credit);
  node_rate_return(&limiter->tenant->node, LIMIT_CREDIT_LAUNCHES(credit));
}

/* ---- Caps of this process ---- */

static uint64_t cap(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  return atomic_load_explicit(&limiter->caps[limit], memory_order_relaxed);
}

/* In flight now, of the batch, and allowed: one row for each cap. */
typedef struct cap_row {
  rawhal_limit_t limit;
  const char *what;
  uint64_t in_flight, asked;
} cap_row_t;

enum { CAP_ROWS = 4 };

static void fill_rows(const rawhal_limiter_t *limiter, const limit_cost_t *cost,
                      cap_row_t rows[CAP_ROWS])
{
  rows[0] = (cap_row_t){RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, "dispatches in flight",
                        limiter->flight.dispatches, cost->launches};
  rows[1] = (cap_row_t){RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, "work-groups in flight",
                        limiter->flight.workgroups, cost->workgroups};
  rows[2] = (cap_row_t){RAWHAL_LIMIT_KERNARG_IN_FLIGHT, "kernarg bytes in flight",
                        limiter->flight.kernarg_bytes, cost->kernarg_bytes};
  rows[3] =
      (cap_row_t){RAWHAL_LIMIT_GRID_WORKGROUPS, "work-groups of a dispatch", 0, cost->largest_grid};
}

/* QUOTA_EXCEEDED: what is asked for would never fit. */
static rawhal_status_t check_possible(rawhal_limiter_t *limiter, const limit_cost_t *cost,
                                      rawhal_error_t *error)
{
  cap_row_t rows[CAP_ROWS];
  fill_rows(limiter, cost, rows);
  for (int i = 0; i < CAP_ROWS; ++i)
    if (rows[i].asked > cap(limiter, rows[i].limit)) {
      limiter_count(limiter, COUNTER_QUOTA_DENIALS, 1);
      return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "%llu %s asked for, the limit is %llu",
                         (unsigned long long)rows[i].asked, rows[i].what,
                         (unsigned long long)cap(limiter, rows[i].limit));
    }
  const region_node_t *const nodes[] = {&limiter->me->node, &limiter->tenant->node,
                                        &limiter->device->node};
  for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); ++i)
    if (node_load(&nodes[i]->share) == 0 || node_load(&nodes[i]->rate) == 0) {
      limiter_count(limiter, COUNTER_QUOTA_DENIALS, 1);
      return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED, "a share of device time, or a rate, is 0");
    }
  return RAWHAL_OK;
}

static bool caps_admit(const rawhal_limiter_t *limiter, const limit_cost_t *cost,
                       refusal_t *refusal)
{
  cap_row_t rows[CAP_ROWS];
  fill_rows(limiter, cost, rows);
  for (int i = 0; i < CAP_ROWS; ++i) {
    uint64_t allowed = cap(limiter, rows[i].limit);
    if (rows[i].asked > allowed || rows[i].in_flight > allowed - rows[i].asked)
      return refuse(refusal, LEVEL_PROCESS, 0, rows[i].what);
  }
  return true;
}

/* ---- One attempt ---- */

/* Somebody who was away must not now be served alone until it has caught up. */
static void catch_up(rawhal_limiter_t *limiter, uint64_t now)
{
  region_hot_t *hot = &limiter->me->hot;
  if (limiter->open_ns || node_load(&hot->wait_until) >= now ||
      now - node_load(&hot->active_at) <= LIMIT_IDLE_NS)
    return;
  surroundings_t around;
  look_around(limiter, now, 0, &around);
  if (around.least_served == UINT64_MAX)
    return;
  uint64_t floor = around.least_served + node_load(&hot->refund);
  uint64_t mine = node_load(&hot->served);
  if (mine < floor)
    atomic_fetch_add_explicit(&hot->served, floor - mine, memory_order_relaxed);
}

/* Takes a batch's time and launches. */
static bool take_batch(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now, uint64_t ns,
                       refusal_t *refusal, surroundings_t *around)
{
  /* How long the first run of a kernel will be is not known: what goes beside it must fit. */
  bool whole = lease->limiter->flight.probes != 0;
  region_node_t *tenant = &lease->limiter->tenant->node;
  bool taken = take(lease, now, ns, whole, refusal, around);
  uint64_t retry;
  if (taken && node_rate_take(tenant, now, cost->launches, &retry)) {
    lease->granted += cost->launches;
    return true;
  }
  if (taken)
    give_back(lease, now, ns);
  if (taken || !node_rate_admits(tenant, now, &retry))
    postpone(refusal, LEVEL_PROCESS, retry, "the tenant's dispatches a second");
  return false;
}

/* Takes time and launches for batches to come, when they are short and nobody waits. */
static void refill(limit_lease_t *lease, uint64_t now, uint64_t last_ns, surroundings_t *around)
{
  region_node_t *tenant = &lease->limiter->tenant->node;
  uint64_t size = lease_size(lease, around->tenant_members), retry;
  uint64_t credit = atomic_load_explicit(&lease->credit, memory_order_relaxed);
  uint64_t launches =
      node_load(&tenant->rate) == RAWHAL_UNLIMITED ? LIMIT_LEASE_LAUNCHES : LIMIT_RATE_LAUNCHES;
  if (around->others_wait || !atomic_load(&lease->fast) || last_ns > size / 2 ||
      LIMIT_CREDIT_LAUNCHES(credit) >= LIMIT_LEASE_LAUNCHES || LIMIT_CREDIT_NS(credit) >= size)
    return;
  refusal_t none;
  if (!take(lease, now, size, true, &none, around))
    return;
  if (!node_rate_take(tenant, now, launches, &retry)) {
    give_back(lease, now, size);
    return;
  }
  lease->granted += launches;
  limiter_count(lease->limiter, COUNTER_REFILLS, 1);
  atomic_fetch_add_explicit(&lease->credit, LIMIT_CREDIT(launches, size), memory_order_relaxed);
}

static void begin_probe(rawhal_limiter_t *limiter, const limit_cost_t *cost)
{
  for (uint32_t i = 0; i < LIMIT_UNKNOWN_KEYS; ++i)
    limiter->probe_keys[i] = i < cost->unknown ? cost->unknown_keys[i] : 0;
  limiter_count(limiter, COUNTER_PROBES, 1);
}

static bool attempt(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now,
                    limit_grant_t *grant, refusal_t *refusal)
{
  rawhal_limiter_t *limiter = lease->limiter;
  surroundings_t around;
  bool probe = cost->unknown && any_share(lease);
  uint64_t ns = cost->estimate_ns + (probe ? LIMIT_PROBE_NS : 0);
  *refusal = (refusal_t){LEVEL_NONE, 0, NULL};
  if (!caps_admit(limiter, cost, refusal))
    return false;
  if (probe && limiter->flight.probes)
    return refuse(refusal, LEVEL_PROCESS, 0, "the end of the first run of another kernel");
  catch_up(limiter, now);
  if (!take_batch(lease, cost, now, ns, refusal, &around))
    return false;
  *grant = (limit_grant_t){.key = cost->key,
                           .estimate_ns = ns,
                           .workgroups = cost->workgroups,
                           .kernarg_bytes = cost->kernarg_bytes,
                           .admitted_at = now,
                           .launches = cost->launches,
                           .units = cost->units & LIMIT_MAX_UNITS,
                           .probe = probe,
                           .counted = true};
  limit_flight_t flight = {cost->launches, cost->workgroups, cost->kernarg_bytes, probe};
  flight_add(&lease->flight, &flight);
  flight_add(&limiter->flight, &flight);
  if (around.others_wait)
    limiter_signal(limiter); /* whoever let us go first may go now */
  if (probe)
    begin_probe(limiter, cost);
  else
    refill(lease, now, ns, &around);
  return true;
}

/* ---- Waiting ---- */

/* Tells others that we wait, and for what; or that nobody here does. */
static void publish_wait(rawhal_limiter_t *limiter, uint64_t now, const refusal_t *refusal,
                         uint64_t until)
{
  region_hot_t *hot = &limiter->me->hot;
  bool shared = refusal && (refusal->level == LEVEL_TENANT || refusal->level == LEVEL_DEVICE);
  if (!shared) {
    atomic_store_explicit(&hot->wait_until, 0, memory_order_relaxed);
    return;
  }
  uint64_t since = node_load(&hot->wait_until) >= now ? node_load(&hot->waits) : now;
  uint64_t priority = atomic_load_explicit(&limiter->me->priority, memory_order_relaxed);
  atomic_store_explicit(&hot->waits,
                        (since & WAITS_SINCE) | (priority & WAITS_PRIORITY) |
                            (refusal->level == LEVEL_DEVICE ? WAITS_AT_DEVICE : 0),
                        memory_order_relaxed);
  atomic_store_explicit(&hot->wait_until, until + LIMIT_GRACE_NS, memory_order_relaxed);
}

static void reap_all(rawhal_limiter_t *limiter)
{
  pthread_mutex_lock(&limiter->leases_lock);
  for (limit_lease_t *lease = limiter->leases; lease; lease = lease->next)
    if (lease->queue.reap)
      lease->queue.reap(lease->queue.context);
  pthread_mutex_unlock(&limiter->leases_lock);
}

/* Sleeps until a charge may have changed the answer, or `until`. */
static void sleep_until(limit_lease_t *lease, region_node_t *node, uint32_t event, bool in_flight,
                        uint64_t until)
{
  rawhal_limiter_t *limiter = lease->limiter;
  if (in_flight && lease->queue.sleep) {
    lease->queue.sleep(lease->queue.context, until);
    return;
  }
  limiter->clock->wait(limiter->clock->context, &node->event, event, until);
}

static unsigned wait_bucket(uint64_t ns)
{
  uint64_t us = ns / 1000;
  unsigned bucket = us ? 64u - (unsigned)__builtin_clzll(us) : 0;
  return bucket < REGION_WAIT_BUCKETS ? bucket : REGION_WAIT_BUCKETS - 1;
}

static void count_wait(rawhal_limiter_t *limiter, uint64_t ns)
{
  limiter_count(limiter, COUNTER_WAITS, 1);
  limiter_count(limiter, COUNTER_WAIT_NS, ns);
  atomic_fetch_add_explicit(&limiter->me->waits[wait_bucket(ns)], 1, memory_order_relaxed);
}

static rawhal_status_t give_up(limit_lease_t *lease, const refusal_t *refusal, uint64_t now,
                               uint64_t deadline, rawhal_error_t *error)
{
  bool timed = refusal->retry > now;
  uint64_t retry = timed ? refusal->retry : now;
  atomic_store_explicit(&lease->retry_at, retry, memory_order_relaxed);
  limiter_count(lease->limiter, COUNTER_WOULD_BLOCK, 1);
  return rawhal_fail(error, deadline == 0 ? RAWHAL_WOULD_BLOCK : RAWHAL_TIMED_OUT,
                     timed ? "held back by %s, for %llu us"
                           : "held back by %s, until something finishes",
                     refusal->what, (unsigned long long)((retry - now + 999) / 1000));
}

/* One attempt; the caller holds the lock. After WOULD_BLOCK `*until` is when to look again. */
static rawhal_status_t try_once(limit_lease_t *lease, const limit_cost_t *cost,
                                limit_grant_t *grant, refusal_t *refusal, uint64_t *until,
                                rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = lease->limiter;
  rawhal_status_t status = check_possible(limiter, cost, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t now = limiter_now(limiter);
  uint64_t epoch = atomic_load_explicit(lease->current_epoch, memory_order_acquire);
  if (atomic_load_explicit(&lease->epoch, memory_order_relaxed) != epoch) {
    limiter_return_credit(limiter, lease); /* the limits it was given under are gone */
    atomic_store_explicit(&lease->epoch, epoch, memory_order_relaxed);
  }
  limiter_charge(limiter, now);
  bool admitted = attempt(lease, cost, now, grant, refusal);
  *until = refusal->retry > now ? refusal->retry : now + LIMIT_POLL_NS;
  if (*until - now > LIMIT_NAP_NS)
    *until = now + LIMIT_NAP_NS;
  if (!admitted || limiter->waiting == 0)
    publish_wait(limiter, now, admitted ? NULL : refusal, *until);
  return admitted ? RAWHAL_OK : RAWHAL_WOULD_BLOCK;
}

rawhal_status_t limit_admit_slow(limit_lease_t *lease, const limit_cost_t *cost, uint64_t deadline,
                                 limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = lease->limiter;
  *grant = (limit_grant_t){0};
  rawhal_status_t status = limiter_check(limiter, error);
  uint64_t began = 0;
  bool counted = false; /* among those who wait */
  while (status == RAWHAL_OK) {
    refusal_t refusal = {0};
    uint64_t until = 0;
    reap_all(limiter);
    uint32_t tenant_event = atomic_load(&limiter->tenant->node.event);
    uint32_t device_event = atomic_load(&limiter->device->node.event);
    pthread_mutex_lock(&limiter->lock);
    status = try_once(lease, cost, grant, &refusal, &until, error);
    pthread_mutex_unlock(&limiter->lock);
    if (status != RAWHAL_WOULD_BLOCK)
      break;
    status = RAWHAL_OK;
    uint64_t now = limiter_now(limiter);
    if (deadline == 0 || (deadline != forever && now >= deadline)) {
      status = give_up(lease, &refusal, now, deadline, error);
      break;
    }
    if (!counted) {
      counted = true;
      began = now;
    }
    pthread_mutex_lock(&limiter->lock);
    bool in_flight = lease_in_flight(lease) != 0;
    ++limiter->waiting;
    pthread_mutex_unlock(&limiter->lock);
    bool at_device = refusal.level == LEVEL_DEVICE;
    region_node_t *node = at_device ? &limiter->device->node : &limiter->tenant->node;
    atomic_store(&node->waiting, 1);
    sleep_until(lease, node, at_device ? device_event : tenant_event, in_flight,
                until < deadline ? until : deadline);
    pthread_mutex_lock(&limiter->lock);
    --limiter->waiting;
    pthread_mutex_unlock(&limiter->lock);
  }
  if (counted)
    count_wait(limiter, limiter_now(limiter) - began);
  return status;
}

/* ---- Leases ---- */

rawhal_status_t limit_lease_create(rawhal_limiter_t *limiter, const limit_queue_t *queue,
                                   uint64_t share, limit_lease_t **result, rawhal_error_t *error)
{
  *result = NULL;
  if (share != RAWHAL_UNLIMITED && share > 1000000)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a queue's share of %llu parts per million is more than all",
                       (unsigned long long)share);
  limit_lease_t *lease = aligned_alloc(_Alignof(limit_lease_t), sizeof(*lease));
  if (!lease)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a lease");
  memset(lease, 0, sizeof(*lease));
  lease->limiter = limiter;
  lease->current_epoch = &limiter->region.data->header.epoch;
  lease->estimates = &limiter->estimates;
  atomic_store(&lease->node.share,
               share == RAWHAL_UNLIMITED ? REGION_NO_SHARE : (share << 32) / 1000000);
  atomic_store(&lease->node.rate, RAWHAL_UNLIMITED);
  atomic_store(&lease->node.burst, node_burst(&limiter->tenant->node));
  if (queue)
    lease->queue = *queue;
  pthread_mutex_lock(&limiter->leases_lock);
  limiter_set_fast(limiter, lease);
  lease->next = limiter->leases;
  limiter->leases = lease;
  pthread_mutex_unlock(&limiter->leases_lock);
  *result = lease;
  return RAWHAL_OK;
}

void limit_lease_destroy(limit_lease_t *lease)
{
  if (!lease)
    return;
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->leases_lock);
  for (limit_lease_t **at = &limiter->leases; *at; at = &(*at)->next)
    if (*at == lease) {
      *at = lease->next;
      break;
    }
  pthread_mutex_unlock(&limiter->leases_lock);
  pthread_mutex_lock(&limiter->lock);
  limiter_return_credit(limiter, lease);
  limiter->open_ns -= lease->open_ns;
  flight_take(&limiter->flight, &lease->flight);
  uint64_t now = limiter_now(limiter);
  limiter_charge(limiter, now);
  limiter_publish_open(limiter, now);
  limiter_signal(limiter);
  pthread_mutex_unlock(&limiter->lock);
  free(lease);
}
