#include "queue/limit/peers.h"

#include <string.h>

/* ---- One member ---- */

/* What one member shows of itself, at one moment. */
typedef struct contender {
  const region_member_t *member;
  node_flight_t flight;
  uint64_t charged; /* for its weight */
  uint64_t priority;
  uint64_t waited;                  /* ns; 0: it does not wait */
  bool waits, at_tenant, at_device; /* has work, and would do it if it were let there */
} contender_t;

static uint64_t more_of(uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* What was charged less what was given back of it; both only grow. */
static uint64_t net(const _Atomic uint64_t *charged, const _Atomic uint64_t *refund)
{
  uint64_t paid = atomic_load_explicit(charged, memory_order_relaxed);
  uint64_t back = atomic_load_explicit(refund, memory_order_relaxed);
  return paid > back ? paid - back : 0;
}

/* What it was charged, and what it has in flight. */
static uint64_t served(const contender_t *who)
{
  return who->charged + limit_for_weight(more_of(who->flight.ns, who->flight.running), who->member);
}

/* Is it a time up to which a member may say so? Later is damage, or another clock's. */
static bool lasts(const _Atomic uint64_t *until, uint64_t now, uint64_t most)
{
  const uint64_t time = node_load(until);
  return time >= now && time - now <= most + LIMIT_STALE_NS;
}

static contender_t contender_of(const region_member_t *member, uint64_t now)
{
  const region_hot_t *hot = &member->hot;
  uint64_t load = hot_load(hot), since = node_load(&hot->running_since);
  uint64_t waits = node_load(&hot->waits), began = waits & WAITS_SINCE;
  contender_t who = {.member = member,
                     .flight = {.submissions = load_submissions(load), .ns = load_ns(load)},
                     .charged = net(&hot->served, &hot->refund),
                     .priority = node_load(&member->priority) & WAITS_PRIORITY,
                     .waits = lasts(&hot->wait_until, now, LIMIT_NAP_NS + LIMIT_LATE_NS)};
  if (since && since < now && now - since <= NODE_MAX_DEBT_NS) /* else damage */
    who.flight.running = now - since;
  else if (since > now && since - now > LIMIT_STALE_NS) /* nobody would ever see how long it runs */
    who.flight.running = LIMIT_STALE_NS + 1;
  if (who.flight.ns > NODE_MAX_DEBT_NS)
    who.flight.ns = 0;
  if (who.waits) {
    who.waited = began < now ? now - began : 1;
    who.at_device = (waits & WAITS_AT_DEVICE) && !(waits & WAITS_ALONE);
    who.at_tenant = !(waits & WAITS_ALONE);
  } else {
    who.at_tenant = who.at_device =
        who.flight.submissions || lasts(&hot->active_until, now, LIMIT_IDLE_NS);
  }
  return who;
}

/* ---- Turns ---- */

/* A higher priority goes first until the other has waited so long that it gets a turn. */
static bool goes_before(const contender_t *other, const contender_t *me)
{
  if (other->priority != me->priority) {
    const contender_t *low = other->priority < me->priority ? other : me;
    uint64_t steps = more_of(other->priority, me->priority) - low->priority;
    bool turn = low->waited >= steps * LIMIT_AGEING_NS;
    return turn == (low == other);
  }
  return served(other) + limit_for_weight(LIMIT_TURN_NS, me->member) < served(me);
}

/* Of each tenant at the device. */
typedef struct tenants {
  uint64_t ns[REGION_TENANTS]; /* in flight */
  bool contends[REGION_TENANTS];
} tenants_t;

static void compare_tenants(const rawhal_limiter_t *limiter, const tenants_t *tenants,
                            peers_t *peers)
{
  const region_data_t *data = limiter->region.data;
  const uint64_t mine =
      net(&limiter->tenant->served, &limiter->tenant->refund) + tenants->ns[limiter->tenant_index];
  for (uint32_t i = 0; i < REGION_TENANTS; ++i) {
    const region_tenant_t *other = &data->tenants[i];
    if (i == limiter->tenant_index)
      continue;
    const bool there = atomic_load(&other->state) == REGION_LIVE &&
                       atomic_load(&other->device) == limiter->device_index;
    if (!there && !tenants->contends[i])
      continue;
    const uint64_t theirs = net(&other->served, &other->refund);
    if (there)
      peers->most_tenant_served = more_of(peers->most_tenant_served, theirs);
    if (!tenants->contends[i])
      continue;
    if (theirs < peers->least_tenant_served)
      peers->least_tenant_served = theirs;
    if (theirs + tenants->ns[i] + LIMIT_TURN_NS < mine)
      peers->yield_device = true;
  }
}

/* ---- All of them ---- */

static void add_flight(node_flight_t *sum, const node_flight_t *more)
{
  sum->submissions += more->submissions;
  sum->ns += more->ns;
  sum->running += more->running;
}

/* Another process of the tenant. */
static void look_at_mate(const contender_t *other, const contender_t *me, peers_t *peers)
{
  add_flight(&peers->tenant, &other->flight);
  ++peers->tenant_members;
  peers->most_served = more_of(peers->most_served, other->charged);
  if (!other->at_tenant)
    return;
  peers->tenant_active = true;
  if (other->charged < peers->least_served)
    peers->least_served = other->charged;
  peers->yield_tenant |= goes_before(other, me);
}

void peers_read(const rawhal_limiter_t *limiter, uint64_t now, uint64_t mine, peers_t *peers)
{
  const region_data_t *data = limiter->region.data;
  contender_t me = contender_of(limiter->me, now);
  me.flight.ns = mine;
  *peers =
      (peers_t){.tenant_members = 1, .least_served = UINT64_MAX, .least_tenant_served = UINT64_MAX};
  if (limiter->region.fd < 0)
    return; /* no other is there */
  tenants_t tenants;
  memset(&tenants, 0, sizeof(tenants));
  tenants.ns[limiter->tenant_index] = more_of(mine, me.flight.running);
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (slot == limiter->slot || !region_is_live_on(member, limiter->device_index))
      continue;
    contender_t other = contender_of(member, now);
    const uint32_t tenant = atomic_load_explicit(&member->tenant, memory_order_relaxed);
    const bool mate = tenant == limiter->tenant_index;
    peers->others_wait |= other.waits && other.at_tenant;
    if (mate)
      look_at_mate(&other, &me, peers);
    /* A process that was stopped holds back its own tenant only, however long. */
    if (!mate && other.flight.running > LIMIT_STALE_NS)
      continue;
    add_flight(&peers->device, &other.flight);
    if (tenant < REGION_TENANTS) {
      tenants.ns[tenant] += more_of(other.flight.ns, other.flight.running);
      tenants.contends[tenant] |= other.at_device;
    }
  }
  compare_tenants(limiter, &tenants, peers);
}
