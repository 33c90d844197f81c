/* What of a region is not as it can be. */
#include "queue/limit/damage_find.h"

#include "queue/limit/complete.h"
#include "queue/limit/config.h"
#include "queue/limit/node.h"
#include "queue/limit/peers.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"

#include <string.h>

static damage_finding_t found(damage_kind_t kind, uint32_t index, uint64_t value)
{
  return (damage_finding_t){kind, index, value};
}

static const damage_finding_t nothing = {DAMAGE_NONE, 0, 0};

static uint64_t mix(uint64_t hash, uint64_t value)
{
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

uint64_t damage_load_check(uint64_t load)
{
  return load ? mix(1, load) : 0;
}

uint64_t damage_words(const region_member_t *member)
{
  const uint64_t words[] = {atomic_load(&member->device),    atomic_load(&member->tenant),
                            node_load(&member->weight),      node_load(&member->weight_most),
                            node_load(&member->priority),    node_load(&member->pid),
                            node_load(&member->start_time),  node_load(&member->pid_namespace),
                            node_load(&member->joined_at),   node_load(&member->time_namespace),
                            node_load(&member->node.share),  node_load(&member->node.rate),
                            node_load(&member->ledger.limit)};
  uint64_t hash = 1;
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i)
    hash = mix(hash, words[i]);
  for (int i = 0; i < REGION_ASKS; ++i)
    hash = mix(hash, node_load(&member->asks.of[i]));
  return hash;
}

/* ---- Clocks ---- */

/* The levels, from the device down. */
typedef struct clocks {
  const region_node_t *nodes[DAMAGE_CLOCKS];
  const _Atomic uint64_t *charged[DAMAGE_CLOCKS];
} clocks_t;

static clocks_t clocks_of(const rawhal_limiter_t *limiter)
{
  return (clocks_t){{&limiter->device->node, &limiter->tenant->node, &limiter->me->node},
                    {&limiter->device->charged, &limiter->tenant->charged,
                     &limiter->me->counters[COUNTER_GPU_NS]}};
}

/* What is charged is counted before the clock moves, and is read after it. */
static damage_clock_t read_clock(const clocks_t *clocks, int i, uint64_t now)
{
  damage_clock_t clock = {.debt = node_debt(clocks->nodes[i], now)};
  atomic_thread_fence(memory_order_acquire);
  clock.charged = node_load(clocks->charged[i]);
  return clock;
}

static bool is_ahead(uint64_t time, uint64_t now, uint64_t most)
{
  return time > now && time - now > most + DAMAGE_SLACK_NS;
}

static bool is_share(uint64_t share)
{
  return share <= REGION_SHARE_ONE || share == REGION_NO_SHARE;
}

/* Values that no clock has, whatever was charged. */
static bool is_clock(const region_node_t *node, uint64_t now)
{
  return is_share(node_load(&node->share)) && node_load(&node->tat_share) <= REGION_SHARE_ONE &&
         !is_ahead(node_load(&node->tat), now, NODE_MAX_DEBT_NS) &&
         !is_ahead(node_load(&node->rate_tat), now, 2 * NODE_MAX_DEBT_NS) &&
         !is_ahead(node_load(&node->stopped_at), now, 0);
}

static damage_finding_t find_in_clocks(const rawhal_limiter_t *limiter, uint64_t now)
{
  const clocks_t clocks = clocks_of(limiter);
  for (int i = 0; i < DAMAGE_CLOCKS; ++i) {
    const damage_clock_t *seen = &limiter->damage.seen.clocks[i];
    const damage_clock_t clock = read_clock(&clocks, i, now);
    if (!is_clock(clocks.nodes[i], now))
      return found(DAMAGE_CLOCK, (uint32_t)i, node_load(&clocks.nodes[i]->tat));
    if (clock.charged < seen->charged)
      return found(DAMAGE_CLOCK, (uint32_t)i, clock.charged);
    if (clock.debt > seen->debt + (clock.charged - seen->charged) + DAMAGE_SLACK_NS)
      return found(DAMAGE_CLOCK, (uint32_t)i, node_load(&clocks.nodes[i]->tat));
  }
  return nothing;
}

/* Dispatches are prepaid: counted first, likewise. */
static damage_finding_t find_in_rate(const rawhal_limiter_t *limiter, uint64_t now)
{
  const damage_seen_t *seen = &limiter->damage.seen;
  const region_node_t *node = &limiter->tenant->node;
  const uint64_t tat = node_load(&node->rate_tat), rate = node_load(&node->rate);
  atomic_thread_fence(memory_order_acquire);
  const uint64_t prepaid = node_load(&limiter->tenant->prepaid);
  if (prepaid < seen->prepaid)
    return found(DAMAGE_CLOCK, DAMAGE_CLOCKS, prepaid);
  if (rate == RAWHAL_UNLIMITED || rate == 0 || rate != seen->rate)
    return nothing;
  const unsigned __int128 cost = (unsigned __int128)(prepaid - seen->prepaid) * 1000000000u / rate;
  const uint64_t from = seen->rate_tat > now ? seen->rate_tat : now;
  return tat > from && tat - from > cost + DAMAGE_SLACK_NS ? found(DAMAGE_CLOCK, DAMAGE_CLOCKS, tat)
                                                           : nothing;
}

/* ---- Turns ---- */

static uint64_t net(const _Atomic uint64_t *charged, const _Atomic uint64_t *back)
{
  const uint64_t paid = node_load(charged), returned = node_load(back);
  return paid > returned ? paid - returned : 0;
}

static bool is_tenant_here(const rawhal_limiter_t *limiter, uint32_t index)
{
  const region_tenant_t *tenant = &limiter->region.data->tenants[index];
  return atomic_load(&tenant->state) == REGION_LIVE &&
         atomic_load(&tenant->device) == limiter->device_index;
}

static uint64_t most_served(const rawhal_limiter_t *limiter)
{
  uint64_t most = 0;
  for (uint32_t i = 0; i < REGION_TENANTS; ++i) {
    const region_tenant_t *tenant = &limiter->region.data->tenants[i];
    const uint64_t served = is_tenant_here(limiter, i) ? net(&tenant->served, &tenant->refund) : 0;
    most = served > most ? served : most;
  }
  return most;
}

/* A tenant was served what it was charged, or as much as another that did not wait for it. */
static damage_finding_t find_in_turns(const rawhal_limiter_t *limiter)
{
  const damage_watch_t *watch = &limiter->damage;
  const damage_seen_t *seen = &watch->seen;
  const region_tenant_t *tenant = limiter->tenant;
  const region_hot_t *hot = &limiter->me->hot;
  const uint64_t ours = net(&tenant->served, &tenant->refund), back = node_load(&tenant->refund);
  const uint64_t served = node_load(&tenant->served);
  atomic_thread_fence(memory_order_acquire);
  const uint64_t more = node_load(&limiter->device->charged) - seen->device_charged;
  if (served < seen->served || back < seen->served_back)
    return found(DAMAGE_TURNS, 0, served ^ back);
  if (back > served || ours > seen->most_served + more + DAMAGE_SLACK_NS)
    return found(DAMAGE_TURNS, 1, served ^ back);
  const uint64_t mine = node_load(&hot->served);
  if (mine != atomic_load(&watch->served) || node_load(&hot->refund) > mine)
    return found(DAMAGE_TURNS, 2, mine ^ node_load(&hot->refund));
  return nothing;
}

/* ---- Memory ---- */

/* The total is the sum of its members but for what one is about to change. The caller holds
 * memory_lock, so this one is not. */
static damage_finding_t find_in_total(const rawhal_limiter_t *limiter)
{
  const region_data_t *data = limiter->region.data;
  const region_tenant_t *tenant = limiter->tenant;
  const uint64_t change = __atomic_load_n(&tenant->memory.change, __ATOMIC_ACQUIRE);
  const uint64_t total = __atomic_load_n(&tenant->memory.units, __ATOMIC_RELAXED);
  const uint32_t count = region_member_count(data);
  uint64_t sum = 0;
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (region_state(node_load(&member->hot.state)) == REGION_FREE ||
        atomic_load(&member->tenant) != limiter->tenant_index)
      continue;
    if (node_load(&member->ledger.intent))
      return nothing; /* at it, or died at it: then it is put right when that is found */
    sum += ledger_used(&member->ledger);
  }
  if (sum != total)
    return found(DAMAGE_MEMORY, 0, mix(total, sum) ^ change);
  return change >> LEDGER_SLOT_BITS <=
                 node_load(&data->members[change & LEDGER_SLOT_MASK].ledger.number)
             ? nothing
             : found(DAMAGE_MEMORY, 1, change);
}

static damage_finding_t find_in_memory(rawhal_limiter_t *limiter)
{
  const damage_watch_t *watch = &limiter->damage;
  const region_ledger_t *ledger = &limiter->me->ledger;
  damage_finding_t finding = nothing;
  memory_lock(limiter);
  for (int i = 0; i < LEDGER_CLASSES; ++i)
    if (node_load(&ledger->used[i]) != watch->used[i])
      finding = found(DAMAGE_MEMORY, 2, node_load(&ledger->used[i]));
  if (node_load(&ledger->number) != watch->number || node_load(&ledger->intent) ||
      node_load(&ledger->acknowledged) > watch->number)
    finding = found(DAMAGE_MEMORY, 3, node_load(&ledger->number) ^ node_load(&ledger->intent));
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_total(limiter);
  memory_unlock(limiter);
  return finding;
}

/* ---- Who is there ---- */

static damage_finding_t find_in_header(const rawhal_limiter_t *limiter)
{
  const region_header_t *header = &limiter->region.data->header;
  const uint64_t epoch = node_load(&header->epoch), seen = limiter->damage.seen.epoch;
  const uint32_t members = atomic_load(&header->members), due = atomic_load(&header->rules_due);
  if (!region_header_is_whole(header))
    return found(DAMAGE_HEADER, 0, header->check);
  if (members <= limiter->slot || members > REGION_MEMBERS || due > 1)
    return found(DAMAGE_COUNTS, members, due);
  if (epoch < seen || epoch - seen > UINT32_MAX)
    return found(DAMAGE_COUNTS, 0, epoch);
  return nothing;
}

/* An operator's. */
static bool asks_are_whole(const region_asks_t *asks)
{
  const uint64_t check = rules_asks_check(asks);
  return check == 0 || check == node_load(&asks->check);
}

/* Bits of what can be overruled: what an operator holds. */
static uint64_t held_by_operator(const rawhal_limiter_t *limiter)
{
  uint64_t held = 0;
  for (int ask = 0; ask < REGION_ASKS; ++ask)
    if (node_load(&limiter->tenant->asks.of[ask]) || node_load(&limiter->device->asks.of[ask]))
      held |= (uint64_t)1 << ask;
  return held;
}

static damage_finding_t find_in_own(const rawhal_limiter_t *limiter)
{
  const region_device_t *device = limiter->device;
  const region_tenant_t *tenant = limiter->tenant;
  const uint32_t suspended = atomic_load(&tenant->suspended);
  if (atomic_load(&device->state) != REGION_LIVE ||
      strncmp(device->name, limiter->device_name, sizeof(device->name)) != 0)
    return found(DAMAGE_DEVICE, limiter->device_index, atomic_load(&device->state));
  if (atomic_load(&tenant->state) != REGION_LIVE ||
      atomic_load(&tenant->device) != limiter->device_index ||
      strncmp(tenant->name, limiter->tenant_name, sizeof(tenant->name)) != 0 ||
      atomic_load(&tenant->charging) > RAWHAL_CHARGING_WALL ||
      (suspended && suspended != REGION_SUSPENDED))
    return found(DAMAGE_TENANT, limiter->tenant_index, suspended);
  if (!asks_are_whole(&tenant->asks))
    return found(DAMAGE_TENANT, limiter->tenant_index, rules_asks_check(&tenant->asks));
  if (!asks_are_whole(&device->asks))
    return found(DAMAGE_DEVICE, limiter->device_index, rules_asks_check(&device->asks));
  if (node_load(&limiter->me->overruled) & ~held_by_operator(limiter))
    return found(DAMAGE_SLOT, limiter->slot, node_load(&limiter->me->overruled));
  const uint64_t words = damage_words(limiter->me);
  if (words != limiter->damage.words || node_load(&limiter->me->hot.state) != limiter->damage.state)
    return found(DAMAGE_SLOT, limiter->slot, words);
  return nothing;
}

/* What it shows of itself it has in memory of its own: that is shown again. */
static void show_again(rawhal_limiter_t *limiter, uint64_t now)
{
  const uint64_t load = hot_load(&limiter->me->hot);
  if (damage_load_check(load) != node_load(&limiter->me->load_check))
    limiter_count(limiter, COUNTER_REPAIRS, 1);
  limiter_tell(limiter, now);
}

/* Nobody can set more, and it would hold for all of the tenant. */
static bool is_burst(uint64_t ask)
{
  return ask == 0 || limit_check_value(RAWHAL_LIMIT_BURST, ask - 1, NULL) == RAWHAL_OK;
}

/* Others on the device, whose words may hold this one back, or let its tenant go. */
static damage_finding_t find_in_others(const rawhal_limiter_t *limiter)
{
  const region_data_t *data = limiter->region.data;
  const uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    const uint32_t tenant = atomic_load(&member->tenant);
    if (slot == limiter->slot || !region_is_live_on(member, limiter->device_index))
      continue;
    const uint64_t load = hot_load(&member->hot), since = node_load(&member->hot.running_since);
    const uint64_t burst = node_load(&member->asks.of[ASK_BURST]);
    const bool right = damage_load_check(load) == node_load(&member->load_check) &&
                       (load || since == 0) && is_burst(burst) && tenant < REGION_TENANTS &&
                       is_tenant_here(limiter, tenant);
    if (!right && region_slot_held(&limiter->region, slot)) /* else it has died */
      return found(DAMAGE_OTHERS, slot, mix(load, since) ^ mix(burst, tenant));
  }
  return nothing;
}

/* ---- Rules ---- */

/* Others may have died before they could put them in force, or be stopped while they do. */
static damage_finding_t repair_rules(rawhal_limiter_t *limiter, uint64_t now)
{
  region_data_t *data = limiter->region.data;
  damage_watch_t *watch = &limiter->damage;
  if (rules_are_in_force(data, limiter->device_index, limiter->tenant_index)) {
    watch->unrepaired = 0;
    return nothing;
  }
  if (pthread_mutex_trylock(&limiter->structure_lock))
    return found(DAMAGE_RULES, 1, now);
  const bool locked = region_lock(&limiter->region, REGION_TRY_ONCE, NULL) == RAWHAL_OK;
  if (locked) {
    rules_repair(data, limiter->device_index, limiter->tenant_index, now);
    region_unlock(&limiter->region);
  }
  pthread_mutex_unlock(&limiter->structure_lock);
  if (locked)
    limiter_count(limiter, COUNTER_REPAIRS, 1);
  watch->repaired += locked;
  watch->unrepaired = locked ? 0 : watch->unrepaired + 1;
  if (locked)
    return nothing;
  return found(DAMAGE_RULES, 0, watch->unrepaired < DAMAGE_REPAIRS ? watch->unrepaired : 0);
}

/* ---- All ---- */

/* Rules first: what a clock owes is reckoned by its share. */
damage_finding_t damage_find(rawhal_limiter_t *limiter, uint64_t now)
{
  damage_finding_t finding = find_in_header(limiter);
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_own(limiter);
  if (finding.kind == DAMAGE_NONE)
    finding = repair_rules(limiter, now);
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_clocks(limiter, now);
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_rate(limiter, now);
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_turns(limiter);
  if (finding.kind == DAMAGE_NONE)
    finding = find_in_memory(limiter);
  if (finding.kind != DAMAGE_NONE)
    return finding;
  show_again(limiter, now);
  return find_in_others(limiter);
}

/* ---- What is kept ---- */

static void count_members(const rawhal_limiter_t *limiter, damage_seen_t *seen)
{
  const region_data_t *data = limiter->region.data;
  const uint32_t count = region_member_count(data);
  seen->members = seen->weights = seen->tenants = 0;
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (!region_is_live_on(member, limiter->device_index) ||
        atomic_load(&member->tenant) != limiter->tenant_index)
      continue;
    ++seen->members;
    seen->weights += node_load(&member->weight);
  }
  for (uint32_t i = 0; i < REGION_TENANTS; ++i)
    seen->tenants += is_tenant_here(limiter, i);
}

/* Whoever is in the region, whatever device it is for. */
static void keep_others(const rawhal_limiter_t *limiter, damage_seen_t *seen)
{
  const region_data_t *data = limiter->region.data;
  const uint32_t count = region_member_count(data);
  seen->other_count = 0;
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    const uint32_t tenant = atomic_load(&member->tenant);
    if (slot == limiter->slot || tenant >= REGION_TENANTS ||
        region_state(node_load(&member->hot.state)) != REGION_LIVE)
      continue;
    if (seen->other_count < DAMAGE_NAMED) {
      damage_other_t *other = &seen->others[seen->other_count];
      other->pid = node_load(&member->pid);
      region_copy_name(other->tenant, data->tenants[tenant].name);
    }
    ++seen->other_count;
  }
}

static void keep_limits(const rawhal_limiter_t *limiter, damage_seen_t *seen)
{
  const region_tenant_t *tenant = limiter->tenant;
  const region_member_t *me = limiter->me;
  const clocks_t clocks = clocks_of(limiter);
  for (int i = 0; i < DAMAGE_CLOCKS; ++i) {
    seen->share[i] = node_load(&clocks.nodes[i]->share);
    seen->burst[i] = node_load(&clocks.nodes[i]->burst);
    seen->tat[i] = node_load(&clocks.nodes[i]->tat);
  }
  seen->rate = node_load(&tenant->node.rate);
  seen->charging = node_load(&tenant->charging);
  seen->suspended = atomic_load(&tenant->suspended);
  seen->memory_limit = node_load(&tenant->memory_limit);
  seen->units = ledger_total(tenant);
  for (int i = 0; i < REGION_ASKS; ++i)
    seen->own[i] = node_load(&me->asks.of[i]);
  seen->own_memory = node_load(&me->ledger.limit);
  seen->own_weight = node_load(&me->weight);
}

void damage_remember(rawhal_limiter_t *limiter, uint64_t now)
{
  damage_seen_t *seen = &limiter->damage.seen;
  const clocks_t clocks = clocks_of(limiter);
  for (int i = 0; i < DAMAGE_CLOCKS; ++i)
    seen->clocks[i] = read_clock(&clocks, i, now);
  seen->epoch = node_load(&limiter->region.data->header.epoch);
  seen->rate_tat = node_load(&limiter->tenant->node.rate_tat);
  seen->prepaid = node_load(&limiter->tenant->prepaid);
  seen->served = node_load(&limiter->tenant->served);
  seen->served_back = node_load(&limiter->tenant->refund);
  seen->device_charged = node_load(&limiter->device->charged);
  seen->most_served = most_served(limiter);
  count_members(limiter, seen);
  keep_others(limiter, seen);
  keep_limits(limiter, seen);
}
