#include "queue/limit/rules.h"

#include "queue/limit/node.h"
#include "queue/limit/table.h"

/* ---- Clocks ---- */

void rules_start(region_node_t *node)
{
  atomic_store(&node->share, REGION_NO_SHARE);
  atomic_store(&node->rate, RAWHAL_UNLIMITED);
  atomic_store(&node->tat, 0);
  atomic_store(&node->tat_share, REGION_SHARE_ONE);
  atomic_store(&node->stopped_at, 0);
  atomic_store(&node->rate_tat, 0);
}

bool rules_in_debt(const region_node_t *node, uint64_t now)
{
  uint64_t rate_tat = node_load(&node->rate_tat);
  return node_debt(node, now) > 0 || (rate_tat > now && rate_tat - now <= NODE_MAX_DEBT_NS);
}

/* Multiplies by before / after the time by which a clock is ahead. */
static void rescale(_Atomic uint64_t *tat, uint64_t now, uint64_t before, uint64_t after)
{
  uint64_t seen = node_load(tat), next;
  do {
    if (seen <= now || seen - now > NODE_MAX_DEBT_NS)
      return;
    unsigned __int128 ahead = (unsigned __int128)(seen - now) * before / after;
    next = now + (ahead < NODE_MAX_DEBT_NS ? (uint64_t)ahead : NODE_MAX_DEBT_NS);
  } while (!atomic_compare_exchange_weak(tat, &seen, next));
}

/* A share of nothing stops the clock: what was owed then is owed when there is a share again. */
static void stop(region_node_t *node, uint64_t now)
{
  if (node_load(&node->stopped_at) == 0)
    atomic_store(&node->stopped_at, now);
}

static void go_on(region_node_t *node, uint64_t now)
{
  uint64_t stopped = node_load(&node->stopped_at), seen = node_load(&node->tat), next;
  if (stopped && stopped < now)
    do {
      if (seen <= stopped)
        break;
      uint64_t ahead = seen - stopped;
      next = now + (ahead < NODE_MAX_DEBT_NS ? ahead : NODE_MAX_DEBT_NS);
    } while (!atomic_compare_exchange_weak(&node->tat, &seen, next));
  atomic_store(&node->stopped_at, 0);
}

/* A process that dies in the middle leaves too much debt, never too little. */
void rules_set_share(region_node_t *node, uint64_t share, uint64_t now)
{
  uint64_t before = node_load(&node->tat_share);
  uint64_t after = share < REGION_SHARE_ONE ? share : REGION_SHARE_ONE;
  atomic_store(&node->share, share);
  if (before == 0 || before > REGION_SHARE_ONE) /* damage */
    before = REGION_SHARE_ONE;
  if (after == 0) {
    stop(node, now);
    return;
  }
  go_on(node, now);
  if (after == before)
    return;
  if (after > before)
    atomic_store(&node->tat_share, after);
  rescale(&node->tat, now, before, after);
  atomic_store(&node->tat_share, after);
}

static void set_rate(region_node_t *node, uint64_t rate, uint64_t now)
{
  uint64_t before = node_load(&node->rate);
  atomic_store(&node->rate, rate);
  if (before && rate && before != RAWHAL_UNLIMITED && rate != RAWHAL_UNLIMITED && before != rate)
    rescale(&node->rate_tat, now, before, rate);
}

/* ---- Who asks for what ---- */

/* Values in force. */
typedef struct force {
  uint64_t of[REGION_ASKS];
  uint64_t device_burst;
  bool any; /* a process is there */
} force_t;

static uint64_t stricter(region_ask_t ask, uint64_t a, uint64_t b)
{
  if (ask == ASK_CHARGING)
    return a > b ? a : b;
  return a < b ? a : b;
}

/* Adds what a slot asks for, but for the asks of which `overruled` has the bits. */
static void heed(const region_asks_t *asks, uint64_t overruled, force_t *force)
{
  for (int ask = 0; ask < REGION_ASKS; ++ask) {
    uint64_t asked = node_load(&asks->of[ask]);
    if (asked && !(overruled >> ask & 1))
      force->of[ask] = stricter((region_ask_t)ask, force->of[ask], asked - 1);
  }
}

static uint64_t default_burst(void)
{
  return rawhal_limit_config_get(&(rawhal_limit_config_t){0}, RAWHAL_LIMIT_BURST);
}

/* Of a tenant's members, or all of a device's when `tenant` is REGION_NO_INDEX. */
static force_t reckon(const region_data_t *data, uint32_t device, uint32_t tenant, uint32_t self)
{
  force_t force = {.device_burst = UINT64_MAX};
  for (int ask = 0; ask < REGION_ASKS; ++ask)
    force.of[ask] = ask == ASK_CHARGING ? RAWHAL_CHARGING_FAIR : UINT64_MAX; /* the loosest */
  heed(tenant == REGION_NO_INDEX ? &data->devices[device].asks : &data->tenants[tenant].asks, 0,
       &force);
  for (uint32_t slot = 0; slot < region_member_count(data); ++slot) {
    const region_member_t *member = &data->members[slot];
    if ((slot != self && region_state(atomic_load(&member->hot.state)) != REGION_LIVE) ||
        atomic_load(&member->device) != device ||
        (tenant != REGION_NO_INDEX && atomic_load(&member->tenant) != tenant))
      continue;
    force.any = true;
    heed(&member->asks, node_load(&member->overruled), &force);
    /* On a device a process that has not set a burst relies on the default. */
    uint64_t burst = node_load(&member->asks.of[ASK_BURST]);
    burst = burst ? burst - 1 : default_burst();
    force.device_burst = burst < force.device_burst ? burst : force.device_burst;
  }
  return force;
}

/* ---- In force ---- */

static bool set(_Atomic uint64_t *word, uint64_t value)
{
  return atomic_exchange(word, value) != value;
}

static uint64_t device_burst(const region_data_t *data, uint32_t device, const force_t *force)
{
  const uint64_t operators = node_load(&data->devices[device].asks.of[ASK_BURST]);
  return operators && operators - 1 < force->device_burst ? operators - 1 : force->device_burst;
}

static uint64_t tenant_burst(const force_t *force)
{
  return force->of[ASK_BURST] == UINT64_MAX ? default_burst() : force->of[ASK_BURST];
}

static bool apply_device(region_data_t *data, uint32_t index, uint32_t self, uint64_t now)
{
  region_node_t *node = &data->devices[index].node;
  force_t force = reckon(data, index, REGION_NO_INDEX, self);
  if (!force.any)
    return false;
  bool changed = node_load(&node->share) != force.of[ASK_DEVICE_SHARE];
  rules_set_share(node, force.of[ASK_DEVICE_SHARE], now);
  return set(&node->burst, device_burst(data, index, &force)) || changed;
}

static bool apply_tenant(region_data_t *data, uint32_t device, uint32_t index, uint32_t self,
                         uint64_t now)
{
  region_tenant_t *tenant = &data->tenants[index];
  force_t force = reckon(data, device, index, self);
  if (!force.any)
    return false;
  const uint64_t burst = tenant_burst(&force);
  bool changed = node_load(&tenant->node.share) != force.of[ASK_SHARE] ||
                 node_load(&tenant->node.rate) != force.of[ASK_RATE];
  rules_set_share(&tenant->node, force.of[ASK_SHARE], now);
  set_rate(&tenant->node, force.of[ASK_RATE], now);
  changed |= set(&tenant->memory_limit, force.of[ASK_MEMORY]);
  changed |= set(&tenant->charging, force.of[ASK_CHARGING]);
  changed |= set(&tenant->node.burst, burst);
  for (uint32_t slot = 0; slot < region_member_count(data); ++slot)
    if (atomic_load(&data->members[slot].tenant) == index) /* each clock needs one */
      atomic_store(&data->members[slot].node.burst, burst);
  return changed;
}

bool rules_apply(region_data_t *data, uint32_t device, uint32_t tenant, uint32_t self, uint64_t now)
{
  bool changed = false;
  if (device < REGION_DEVICES)
    changed = apply_device(data, device, self, now);
  if (device < REGION_DEVICES && tenant < REGION_TENANTS)
    changed |= apply_tenant(data, device, tenant, self, now);
  if (changed)
    atomic_fetch_add(&data->header.epoch, 1);
  return changed;
}

static bool has_its_share(const region_node_t *node, uint64_t share)
{
  const uint64_t reckoned = share < REGION_SHARE_ONE ? share : REGION_SHARE_ONE;
  return node_load(&node->share) == share &&
         (share == 0 || node_load(&node->tat_share) == reckoned) &&
         (share == 0) == (node_load(&node->stopped_at) != 0);
}

bool rules_are_in_force(const region_data_t *data, uint32_t device, uint32_t tenant)
{
  const region_device_t *of_device = &data->devices[device];
  const region_tenant_t *of_tenant = &data->tenants[tenant];
  const force_t all = reckon(data, device, REGION_NO_INDEX, REGION_NO_INDEX);
  const force_t ours = reckon(data, device, tenant, REGION_NO_INDEX);
  return (!all.any || (has_its_share(&of_device->node, all.of[ASK_DEVICE_SHARE]) &&
                       node_load(&of_device->node.burst) == device_burst(data, device, &all))) &&
         (!ours.any || (has_its_share(&of_tenant->node, ours.of[ASK_SHARE]) &&
                        node_load(&of_tenant->node.rate) == ours.of[ASK_RATE] &&
                        node_load(&of_tenant->node.burst) == tenant_burst(&ours) &&
                        node_load(&of_tenant->charging) == ours.of[ASK_CHARGING] &&
                        node_load(&of_tenant->memory_limit) == ours.of[ASK_MEMORY]));
}

/* What a clock owes is left as it is: more than it should be at most. */
static void repair_clock(region_node_t *node)
{
  const uint64_t share = node_load(&node->share);
  if (share)
    atomic_store(&node->tat_share, share < REGION_SHARE_ONE ? share : REGION_SHARE_ONE);
}

void rules_repair(region_data_t *data, uint32_t device, uint32_t tenant, uint64_t now)
{
  (void)rules_apply(data, device, tenant, REGION_NO_INDEX, now);
  repair_clock(&data->devices[device].node);
  repair_clock(&data->tenants[tenant].node);
}

void rules_apply_due(region_data_t *data, uint64_t now)
{
  if (atomic_exchange(&data->header.rules_due, 0) == 0)
    return;
  for (uint32_t device = 0; device < REGION_DEVICES; ++device)
    if (atomic_load(&data->devices[device].state) == REGION_LIVE)
      (void)rules_apply(data, device, REGION_NO_INDEX, REGION_NO_INDEX, now);
  for (uint32_t tenant = 0; tenant < REGION_TENANTS; ++tenant)
    if (atomic_load(&data->tenants[tenant].state) == REGION_LIVE)
      (void)rules_apply(data, atomic_load(&data->tenants[tenant].device), tenant, REGION_NO_INDEX,
                        now);
}

/* ---- Operators ---- */

/* The members of a tenant, or of a device when `tenant` is REGION_NO_INDEX. */
static void overrule(region_data_t *data, uint32_t device, uint32_t tenant, uint64_t set,
                     uint64_t clear)
{
  for (uint32_t slot = 0; slot < region_member_count(data); ++slot) {
    region_member_t *member = &data->members[slot];
    if (atomic_load(&member->device) != device ||
        (tenant != REGION_NO_INDEX && atomic_load(&member->tenant) != tenant))
      continue;
    atomic_fetch_or(&member->overruled, set);
    atomic_fetch_and(&member->overruled, ~clear);
  }
}

/* Bits of those that are a device's. */
static uint64_t asks_of_devices(void)
{
  uint64_t asks = 0;
  for (int i = 0; i < LIMIT_COUNT; ++i)
    if (limit_rows[i].place == PLACE_DEVICE)
      asks |= (uint64_t)1 << limit_rows[i].ask;
  return asks;
}

static void apply_to_device(region_data_t *data, uint32_t device, uint32_t tenant, uint64_t now)
{
  (void)rules_apply(data, device, tenant, REGION_NO_INDEX, now);
  atomic_store(&data->header.rules_due, 1); /* should we die here, the next one does the rest */
  rules_apply_due(data, now);
}

uint64_t rules_asks_check(const region_asks_t *asks)
{
  uint64_t hash = 0;
  for (int ask = 0; ask < REGION_ASKS; ++ask)
    hash = (hash ^ node_load(&asks->of[ask])) * 0x9e3779b97f4a7c15u;
  return hash;
}

static void seal_asks(region_asks_t *asks)
{
  atomic_store(&asks->check, rules_asks_check(asks));
}

void rules_hold(region_data_t *data, uint32_t tenant, region_ask_t ask, uint64_t value,
                uint64_t now)
{
  uint32_t device = atomic_load(&data->tenants[tenant].device);
  if (device >= REGION_DEVICES)
    return;
  bool of_device = asks_of_devices() >> ask & 1;
  region_asks_t *asks = of_device ? &data->devices[device].asks : &data->tenants[tenant].asks;
  rules_store(asks, ask, value);
  seal_asks(asks);
  overrule(data, device, of_device ? REGION_NO_INDEX : tenant, (uint64_t)1 << ask, 0);
  apply_to_device(data, device, tenant, now);
}

void rules_release(region_data_t *data, uint32_t tenant, uint64_t now)
{
  uint32_t device = atomic_load(&data->tenants[tenant].device);
  if (device >= REGION_DEVICES)
    return;
  overrule(data, device, REGION_NO_INDEX, 0, asks_of_devices());
  overrule(data, device, tenant, 0, UINT64_MAX);
  for (int ask = 0; ask < REGION_ASKS; ++ask) {
    atomic_store(&data->tenants[tenant].asks.of[ask], 0);
    atomic_store(&data->devices[device].asks.of[ask], 0);
  }
  seal_asks(&data->tenants[tenant].asks);
  seal_asks(&data->devices[device].asks);
  apply_to_device(data, device, tenant, now);
}

uint64_t rules_held(const region_asks_t *asks)
{
  uint64_t held = 0;
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    region_ask_t ask = limit_rows[i].ask;
    if (ask != REGION_ASKS && node_load(&asks->of[ask]))
      held |= (uint64_t)1 << i;
  }
  return held;
}
