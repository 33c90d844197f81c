#include "queue/limit/levels.h"

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

bool levels_refuse(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what)
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
uint64_t levels_stall_allowance(const limit_lease_t *lease, const peers_t *peers,
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
  node_flight_t flight = {.submissions = flight_now(at->ours, FLIGHT_SUBMISSIONS) -
                                         mine->of[FLIGHT_SUBMISSIONS],
                          .ns = flight_now(at->ours, FLIGHT_NS) - mine->of[FLIGHT_NS]};
  if (flight.submissions)
    flight.running = running_for(at->since, now);
  node_flight_add(&flight, at->others);
  if (contended && flight.running <= 4 * flight.ns + LIMIT_TURN_NS)
    flight.running = 0;
  return flight;
}

bool levels_admit(const limit_lease_t *lease, uint64_t now, const flight_t *mine,
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

void levels_room(const limit_lease_t *lease, const peers_t *peers, uint64_t *submissions,
                 uint64_t *ns)
{
  const levels_t levels = levels_of(lease, peers);
  *submissions = UINT64_MAX;
  *ns = LIMIT_LEASE_NS;
  for (int i = 0; i < LEVELS; ++i) {
    const level_t *at = &levels.of[i];
    const uint64_t share = node_load(&at->node->share), most = node_most_in_flight(share);
    const uint64_t there = flight_now(at->ours, FLIGHT_SUBMISSIONS) + at->others->submissions;
    const uint64_t left = most > there ? most - there : 0;
    const uint64_t part =
        node_device_time(share, node_burst(at->node)) / (4ull * peers->tenant_members);
    *submissions = left < *submissions ? left : *submissions;
    if (share < REGION_SHARE_ONE && part < *ns)
      *ns = part;
  }
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
