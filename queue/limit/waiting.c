/* Admission with the lock: those who wait for their turn, and those who go ahead of it, because
 * others may wait for them that are in flight already. */
#include "queue/limit/admit.h"

#include "queue/limit/complete.h"
#include "queue/limit/dead.h"
#include "queue/limit/lease.h"

#include "base/cancel.h"
#include "base/error.h"

#include <time.h>

/* ---- In turn ---- */

void publish_wait(rawhal_limiter_t *limiter, uint64_t now, const refusal_t *refusal, uint64_t until)
{
  region_hot_t *hot = &limiter->me->hot;
  if (!refusal) {
    atomic_store_explicit(&hot->wait_until, 0, memory_order_relaxed);
    return;
  }
  bool shared = refusal->level == LEVEL_TENANT || refusal->level == LEVEL_DEVICE;
  uint64_t since = node_load(&hot->wait_until) >= now ? node_load(&hot->waits) : now;
  uint64_t priority = atomic_load_explicit(&limiter->me->priority, memory_order_relaxed);
  atomic_store_explicit(&hot->waits,
                        (since & WAITS_SINCE) | (priority & WAITS_PRIORITY) |
                            (refusal->level == LEVEL_DEVICE ? WAITS_AT_DEVICE : 0) |
                            (shared ? 0 : WAITS_ALONE),
                        memory_order_relaxed);
  atomic_store_explicit(&hot->wait_until, until + LIMIT_LATE_NS, memory_order_relaxed);
}

/* Keeps others from admitting without the lock, and waits for those that are doing so: what they
 * hold for a moment is not a reason to refuse, and nothing changes while it is looked at. But not
 * for ever, as such a thread may be stopped. False: one is still admitting. The caller holds the
 * lock. */
static bool shut_out(rawhal_limiter_t *limiter)
{
  static const struct timespec nap = {.tv_nsec = 100000};
  atomic_store(&limiter->locked, true);
  for (int i = 0; i < LIMIT_YIELDS + LIMIT_NAPS && atomic_load(&limiter->unlocked); ++i)
    if (i < LIMIT_YIELDS)
      (void)sched_yield();
    else
      (void)nanosleep(&nap, NULL);
  return atomic_load(&limiter->unlocked) == 0;
}

/* Sleeps until a charge may have changed the answer, or `until`. `events`: of the tenant and of the
 * device, as they were before it was given. */
static void sleep_until(limit_lease_t *lease, const uint32_t events[2], bool at_device,
                        uint64_t until)
{
  rawhal_limiter_t *limiter = lease->limiter;
  region_node_t *node = at_device ? &limiter->device->node : &limiter->tenant->node;
  const bool in_flight = lease_in_flight(lease) != 0;
  atomic_fetch_add(&limiter->waiting, 1);
  atomic_store(&node->waiting, 1);
  if (in_flight && lease->queue.sleep)
    lease->queue.sleep(lease->queue.context, until);
  else
    limiter->clock->wait(limiter->clock->context, &node->event, events[at_device], until);
  atomic_fetch_sub(&limiter->waiting, 1);
}

/* Who asks again until it is admitted counts once. */
static void lease_refused(limit_lease_t *lease, uint64_t now)
{
  uint64_t never = 0;
  if (lease->queue.sleep || atomic_compare_exchange_strong(&lease->refused_at, &never, now))
    limiter_count(lease->limiter, COUNTER_WOULD_BLOCK, 1);
}

/* `again`: when to look for dead processes, whatever the clock says. */
static rawhal_status_t give_up(limit_lease_t *lease, const refusal_t *refusal, uint64_t now,
                               uint64_t again, uint64_t deadline, rawhal_error_t *error)
{
  bool timed = refusal->retry > now;
  uint64_t retry = timed ? refusal->retry : now;
  atomic_store_explicit(&lease->retry_at, retry < again ? retry : again, memory_order_relaxed);
  if (deadline == 0)
    lease_refused(lease, now);
  else
    limiter_count(lease->limiter, COUNTER_WOULD_BLOCK, 1);
  if (refusal->suspended)
    return rawhal_fail(error, deadline == 0 ? RAWHAL_WOULD_BLOCK : RAWHAL_TIMED_OUT,
                       "suspended by the operator: nothing of this tenant is admitted until it is "
                       "resumed");
  return rawhal_fail(error, deadline == 0 ? RAWHAL_WOULD_BLOCK : RAWHAL_TIMED_OUT,
                     timed ? "held back by %s, for %llu us"
                           : "held back by %s, until something finishes",
                     refusal->what, (unsigned long long)((retry - now + 999) / 1000));
}

/* One attempt; the caller holds the lock. `alone`: no other thread admits now. After WOULD_BLOCK
 * `*until` is when to look again. */
static rawhal_status_t try_once(limit_lease_t *lease, const limit_cost_t *cost, bool alone,
                                limit_grant_t *grant, refusal_t *refusal, uint64_t *until,
                                rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = lease->limiter;
  uint64_t now = limiter_now(limiter);
  (void)damage_look(limiter, now);
  rawhal_status_t status = caps_check(lease, cost, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t epoch = atomic_load_explicit(lease->current_epoch, memory_order_acquire);
  if (atomic_load_explicit(&lease->epoch, memory_order_relaxed) != epoch) {
    lease_return_credit(lease);    /* the limits it was given under are gone */
    limiter_publish_load(limiter); /* others need not wait for it */
    atomic_store(&lease->node.burst, node_burst(&limiter->me->node));
    if (alone) { /* or it might be filled with more of the kind */
      atomic_store(&lease->rate, node_load(&limiter->tenant->node.rate));
      atomic_store(&lease->epoch, epoch);
    }
  }
  limiter_charge(limiter, now);
  caps_make_room(limiter, NULL, cost);
  if (atomic_load_explicit(&limiter->tenant->suspended, memory_order_acquire))
    /* at no level that is shared, or others would let us go first */
    *refusal = (refusal_t){LEVEL_PROCESS, now + LIMIT_SUSPENDED_NS, "the operator", true};
  bool admitted = !refusal->suspended && lease_attempt(lease, cost, now, true, grant, refusal);
  *until = refusal->retry > now ? refusal->retry : now + LIMIT_POLL_NS;
  if (*until - now > LIMIT_NAP_NS)
    *until = now + LIMIT_NAP_NS;
  if (!admitted || atomic_load(&limiter->waiting) == 0)
    publish_wait(limiter, now, admitted ? NULL : refusal, *until);
  return admitted ? RAWHAL_OK : RAWHAL_WOULD_BLOCK;
}

rawhal_status_t admit_in_turn(limit_lease_t *lease, const limit_cost_t *cost, uint64_t deadline,
                              limit_grant_t *grant, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION(); /* of a thread that holds locks, or is counted among those who wait */
  rawhal_limiter_t *limiter = lease->limiter;
  rawhal_status_t status;
  uint64_t began = 0; /* to wait; 0: it has not */
  for (;;) {
    refusal_t refusal = {0};
    uint64_t until = 0;
    pthread_mutex_lock(&limiter->leases_lock);
    for (limit_lease_t *each = limiter->leases; each; each = each->next)
      if (each->queue.reap)
        each->queue.reap(each->queue.context);
    pthread_mutex_unlock(&limiter->leases_lock);
    const uint32_t events[] = {atomic_load(&limiter->tenant->node.event),
                               atomic_load(&limiter->device->node.event)};
    pthread_mutex_lock(&limiter->lock);
    bool alone = shut_out(limiter);
    status = try_once(lease, cost, alone, grant, &refusal, &until, error);
    atomic_store(&limiter->locked, false);
    pthread_mutex_unlock(&limiter->lock);
    if (status != RAWHAL_WOULD_BLOCK)
      break;
    uint64_t now = limiter_now(limiter), again;
    if (limiter_look_for_dead(limiter, now, &again))
      continue;
    until = until < again ? until : again;
    if (deadline == 0 || (deadline != UINT64_MAX && now >= deadline)) {
      status = give_up(lease, &refusal, now, again, deadline, error);
      break;
    }
    began = began ? began : now;
    sleep_until(lease, events, refusal.level == LEVEL_DEVICE, until < deadline ? until : deadline);
  }
  if (began)
    limiter_count_wait(limiter, limiter_now(limiter) - began);
  return status;
}

/* ---- Ahead of turn ---- */

static void take_ahead(limit_lease_t *lease, const limit_grant_t *grant, uint64_t now)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const flight_t flight = {{[FLIGHT_SUBMISSIONS] = 1,
                            [FLIGHT_DISPATCHES] = grant->launches,
                            [FLIGHT_NS] = grant->estimate_ns}};
  if (lease_in_flight(lease) == 0)
    lease_runs_since(lease, now);
  flight_add(&lease->flight, &flight);
  flight_add(&limiter->flight, &flight);
  limiter_publish_load(limiter);
  limiter_publish_start(limiter, now);
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
}

/* Has every level paid for what it used? */
static bool is_paid(const limit_lease_t *lease, uint64_t now, uint64_t *retry)
{
  static const node_flight_t nothing;
  const levels_t levels = levels_of(lease, NULL);
  uint64_t when, last = now;
  bool paid = true;
  for (int i = 0; i < LEVELS; ++i)
    if (!node_admits(levels.of[i].node, now, &nothing, &when)) {
      paid = false;
      last = when > last ? when : last;
    }
  *retry = paid ? 0 : last;
  return paid;
}

bool limit_admit_ahead(limit_lease_t *lease, const limit_shape_t *shape, limit_grant_t *grant)
{
  rawhal_limiter_t *limiter = lease->limiter;
  uint64_t ns = estimate_find(lease->estimates, shape->key), retry = 0;
  *grant = (limit_grant_t){.key = shape->key,
                           .estimate_ns = ns ? ns : LIMIT_UNKNOWN_NS,
                           .launches = shape->launches,
                           .units = 1,
                           .submissions = 1};
  pthread_mutex_lock(&limiter->lock);
  uint64_t now = limiter_now(limiter);
  limiter_charge(limiter, now);
  bool suspended = atomic_load_explicit(&limiter->tenant->suspended, memory_order_acquire) != 0;
  bool admitted = !suspended && is_paid(lease, now, &retry) &&
                  lease_take_launches(lease, now, shape->launches, &retry);
  if (suspended)
    retry = now + LIMIT_SUSPENDED_NS;
  if (admitted) {
    grant->admitted_at = now;
    take_ahead(lease, grant, now);
  } else {
    *grant = (limit_grant_t){0};
    atomic_store_explicit(&lease->retry_at, retry, memory_order_relaxed);
  }
  pthread_mutex_unlock(&limiter->lock);
  if (admitted)
    lease_admitted(lease);
  else
    lease_refused(lease, now);
  return admitted;
}

uint64_t limit_expects_at(const limit_lease_t *lease)
{
  const levels_t levels = levels_of(lease, NULL);
  /* What the lease has in advance is counted as if it were in flight. */
  const uint64_t credit = credit_amount(atomic_load(&lease->credit), CREDIT_NS);
  uint64_t now = limiter_now(lease->limiter), last = 0;
  for (int i = 0; i < LEVELS; ++i) {
    const region_node_t *node = levels.of[i].node;
    const uint64_t share = node_load(&node->share), ns = flight_now(levels.of[i].ours, FLIGHT_NS);
    if (share >= REGION_SHARE_ONE || share == 0)
      continue;
    uint64_t paid = node_paid(node, now, 0) + node_cost(share, ns > credit ? ns - credit : 0);
    uint64_t burst = node_burst(node), when = paid > burst ? paid - burst : 0;
    last = when > last ? when : last;
  }
  return last;
}

bool limit_has_flight(const limit_lease_t *lease)
{
  return flight_now(&lease->limiter->flight, FLIGHT_SUBMISSIONS) != 0;
}
