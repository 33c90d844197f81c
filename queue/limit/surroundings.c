#include "queue/limit/surroundings.h"

#include "queue/limit/node.h"

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

void look_around(const rawhal_limiter_t *limiter, uint64_t now, uint64_t mine,
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
