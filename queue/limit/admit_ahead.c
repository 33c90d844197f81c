/* Admission ahead of turn: of what others may wait for that are in flight already. */
#include "queue/limit/admit.h"
#include "queue/limit/caps.h"
#include "queue/limit/complete.h"
#include "queue/limit/levels.h"

static void take(limit_lease_t *lease, const limit_grant_t *grant, uint64_t now)
{
  rawhal_limiter_t *limiter = lease->limiter;
  const flight_t flight = caps_granted(grant);
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
                  node_rate_take(&limiter->tenant->node, now, shape->launches, &retry);
  if (suspended)
    retry = now + LIMIT_SUSPENDED_NS;
  if (admitted) {
    grant->admitted_at = now;
    take(lease, grant, now);
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
