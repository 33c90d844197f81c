/* Joining a region, leaving it, and clearing up after those who could not. */
#include "queue/limit/limiter.h"
#include "queue/limit/node.h"

#include "base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Values ---- */

static uint64_t to_share(uint64_t ppm)
{
  return ppm == RAWHAL_UNLIMITED || ppm >= 1000000 ? REGION_NO_SHARE : (ppm << 32) / 1000000;
}

static uint64_t from_share(uint64_t share)
{
  return share >= REGION_SHARE_ONE ? RAWHAL_UNLIMITED
                                   : (share * 1000000 + REGION_SHARE_ONE - 1) >> 32;
}

static uint64_t to_units(uint64_t bytes)
{
  return bytes == RAWHAL_UNLIMITED ? REGION_NO_MEMORY : bytes / REGION_UNIT_BYTES;
}

static uint64_t from_units(uint64_t units)
{
  return units > UINT64_MAX / REGION_UNIT_BYTES ? RAWHAL_UNLIMITED : units * REGION_UNIT_BYTES;
}

static uint64_t same(uint64_t value)
{
  return value;
}

/* ---- Where each limit lives ---- */

typedef enum place { PLACE_DEVICE, PLACE_TENANT, PLACE_PROCESS } place_t;

typedef struct limit_home {
  _Atomic uint64_t *words[3]; /* all of them hold the value */
  uint64_t (*encode)(uint64_t value);
  uint64_t (*decode)(uint64_t word);
  place_t place;
} limit_home_t;

static limit_home_t home_of(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  rawhal_limiter_t *mine = (rawhal_limiter_t *)(uintptr_t)limiter;
  region_device_t *device = mine->device;
  region_tenant_t *tenant = mine->tenant;
  region_member_t *me = mine->me;
  switch (limit) {
  case RAWHAL_LIMIT_MEMORY:
    return (limit_home_t){{&tenant->memory_limit}, to_units, from_units, PLACE_TENANT};
  case RAWHAL_LIMIT_GPU_SHARE:
    return (limit_home_t){{&tenant->node.share}, to_share, from_share, PLACE_TENANT};
  case RAWHAL_LIMIT_DISPATCH_RATE:
    return (limit_home_t){{&tenant->node.rate}, same, same, PLACE_TENANT};
  case RAWHAL_LIMIT_BURST:
    return (limit_home_t){
        {&tenant->node.burst, &device->node.burst, &me->node.burst}, same, same, PLACE_TENANT};
  case RAWHAL_LIMIT_CHARGING:
    return (limit_home_t){{&tenant->charging}, same, same, PLACE_TENANT};
  case RAWHAL_LIMIT_DEVICE_SHARE:
    return (limit_home_t){{&device->node.share}, to_share, from_share, PLACE_DEVICE};
  case RAWHAL_LIMIT_PROCESS_MEMORY:
    return (limit_home_t){{&me->ledger.limit}, to_units, from_units, PLACE_PROCESS};
  case RAWHAL_LIMIT_PROCESS_SHARE:
    return (limit_home_t){{&me->node.share}, to_share, from_share, PLACE_PROCESS};
  case RAWHAL_LIMIT_WEIGHT:
    return (limit_home_t){{&me->weight}, same, same, PLACE_PROCESS};
  case RAWHAL_LIMIT_PRIORITY:
    return (limit_home_t){{&me->priority}, same, same, PLACE_PROCESS};
  default:
    return (limit_home_t){{&mine->caps[limit]}, same, same, PLACE_PROCESS};
  }
}

static void store(const limit_home_t *home, uint64_t word)
{
  for (size_t i = 0; i < 3 && home->words[i]; ++i)
    atomic_store_explicit(home->words[i], word, memory_order_relaxed);
}

/* A newcomer may tighten what others of its tenant or device live under, never loosen it. */
static void apply_config(rawhal_limiter_t *limiter, const rawhal_limit_config_t *config,
                         bool new_device, bool new_tenant)
{
  for (int i = 0; i < RAWHAL_LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = (rawhal_limit_t)i;
    limit_home_t home = home_of(limiter, limit);
    uint64_t mine = home.encode(rawhal_limit_config_get(config, limit));
    bool first = home.place == PLACE_PROCESS || (home.place == PLACE_TENANT && new_tenant) ||
                 (home.place == PLACE_DEVICE && new_device);
    uint64_t theirs = node_load(home.words[0]);
    bool stricter = limit == RAWHAL_LIMIT_CHARGING ? mine > theirs : mine < theirs;
    if (first || (*config->values[i].origin && stricter))
      store(&home, mine);
    else if (limit == RAWHAL_LIMIT_BURST)
      store(&home, theirs); /* our own clock needs one, too */
  }
}

/* ---- The dead ---- */

static bool is_other(const rawhal_limiter_t *limiter, uint32_t slot)
{
  return !limiter->me || slot != limiter->slot;
}

static void set_state(region_member_t *member, uint64_t word, region_state_t state)
{
  atomic_store(&member->hot.state, (word & ~(uint64_t)0xff) | state);
}

/* Its unfinished dispatches are charged as they were estimated, up to the time it may have run. */
static void bury(region_data_t *data, uint32_t slot, uint64_t now)
{
  region_member_t *member = &data->members[slot];
  uint64_t word = atomic_load(&member->hot.state);
  uint64_t open = atomic_exchange(&member->hot.open, 0);
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  if (region_state(word) == REGION_LIVE && tenant && open) {
    uint64_t since = node_load(&member->hot.active_at);
    uint64_t age = now > since ? now - since : 0;
    node_charge(&tenant->node, now, now, open < age ? open : age);
  }
  set_state(member, word, REGION_LEAVING);
  ledger_drain(data, slot);
  atomic_store(&member->hot.wait_until, 0);
  atomic_store(&member->hot.state, ((word >> 8) + 1) << 8 | REGION_FREE);
}

/* The caller holds the structure lock. */
static bool bury_all(const rawhal_limiter_t *limiter, uint64_t now)
{
  region_data_t *data = limiter->region.data;
  uint32_t count = region_member_count(data);
  bool any = false;
  for (uint32_t slot = 0; slot < count; ++slot) {
    region_state_t state = region_state(atomic_load(&data->members[slot].hot.state));
    if (state == REGION_FREE || !is_other(limiter, slot) ||
        region_slot_held(&limiter->region, slot))
      continue;
    bury(data, slot, now);
    any = true;
  }
  return any;
}

bool limiter_reclaim(rawhal_limiter_t *limiter)
{
  bool any = false;
  if (limiter->region.fd < 0)
    return false;
  pthread_mutex_lock(&limiter->structure_lock);
  if (region_lock(&limiter->region, REGION_IMPATIENT, NULL) == RAWHAL_OK) {
    any = bury_all(limiter, limiter_now(limiter));
    region_unlock(&limiter->region);
  }
  pthread_mutex_unlock(&limiter->structure_lock);
  return any;
}

/* ---- Joining ---- */

static bool tenant_in_use(const region_data_t *data, uint32_t tenant)
{
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (region_state(atomic_load(&data->members[slot].hot.state)) != REGION_FREE &&
        atomic_load(&data->members[slot].tenant) == tenant)
      return true;
  return false;
}

static bool device_in_use(const region_data_t *data, uint32_t device)
{
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot)
    if (region_state(atomic_load(&data->members[slot].hot.state)) != REGION_FREE &&
        atomic_load(&data->members[slot].device) == device)
      return true;
  return false;
}

static void node_start(region_node_t *node)
{
  atomic_store(&node->share, REGION_NO_SHARE);
  atomic_store(&node->rate, RAWHAL_UNLIMITED);
  atomic_store(&node->tat, 0);
  atomic_store(&node->rate_tat, 0);
}

/* The device of that name, or a place nobody uses. `*fresh`: nobody else is there. */
static rawhal_status_t find_device(rawhal_limiter_t *limiter, const char *name, bool *fresh,
                                   rawhal_error_t *error)
{
  region_data_t *data = limiter->region.data;
  uint32_t found = REGION_NO_INDEX;
  for (uint32_t i = 0; i < REGION_DEVICES; ++i) {
    region_device_t *device = &data->devices[i];
    bool free = atomic_load(&device->state) != REGION_LIVE;
    if (!free && !strncmp(device->name, name, sizeof(device->name))) {
      found = i;
      break;
    }
    if (found == REGION_NO_INDEX && (free || !device_in_use(data, i)))
      found = i;
  }
  if (found == REGION_NO_INDEX)
    return rawhal_fail(error, RAWHAL_LIMIT, "the region has %d devices, all in use",
                       REGION_DEVICES);
  region_device_t *device = &data->devices[found];
  *fresh = !device_in_use(data, found);
  if (*fresh) {
    atomic_store(&device->state, REGION_FREE);
    node_start(&device->node);
    snprintf(device->name, sizeof(device->name), "%s", name);
    atomic_store(&device->state, REGION_LIVE);
  }
  limiter->device_index = found;
  limiter->device = device;
  return RAWHAL_OK;
}

static rawhal_status_t find_tenant(rawhal_limiter_t *limiter, const char *name, bool *fresh,
                                   rawhal_error_t *error)
{
  region_data_t *data = limiter->region.data;
  uint32_t found = REGION_NO_INDEX;
  for (uint32_t i = 0; i < REGION_TENANTS; ++i) {
    region_tenant_t *tenant = &data->tenants[i];
    bool free = atomic_load(&tenant->state) != REGION_LIVE;
    if (!free && atomic_load(&tenant->device) == limiter->device_index &&
        !strncmp(tenant->name, name, sizeof(tenant->name))) {
      found = i;
      break;
    }
    if (found == REGION_NO_INDEX && (free || !tenant_in_use(data, i)))
      found = i;
  }
  if (found == REGION_NO_INDEX)
    return rawhal_fail(error, RAWHAL_LIMIT, "the region has %d tenants, all in use",
                       REGION_TENANTS);
  region_tenant_t *tenant = &data->tenants[found];
  *fresh = !tenant_in_use(data, found);
  if (*fresh) {
    atomic_store(&tenant->state, REGION_FREE);
    uint64_t debt = node_load(&tenant->node.tat);
    bool same_name = !strncmp(tenant->name, name, sizeof(tenant->name));
    node_start(&tenant->node);
    if (same_name) /* leaving and joining again is no way out of a debt */
      atomic_store(&tenant->node.tat, debt);
    ledger_start_tenant(tenant);
    atomic_store(&tenant->device, limiter->device_index);
    snprintf(tenant->name, sizeof(tenant->name), "%s", name);
    atomic_store(&tenant->state, REGION_LIVE);
  }
  limiter->tenant_index = found;
  limiter->tenant = tenant;
  return RAWHAL_OK;
}

/* For people: who this is. */
static void describe_self(region_member_t *me, uint64_t now)
{
  struct stat facts;
  atomic_store(&me->pid, (uint64_t)getpid());
  atomic_store(&me->pid_namespace, stat("/proc/self/ns/pid", &facts) ? 0 : facts.st_ino);
  atomic_store(&me->joined_at, now);
}

/* A free slot whose lock byte is ours now. */
static rawhal_status_t take_slot(rawhal_limiter_t *limiter, rawhal_error_t *error)
{
  region_data_t *data = limiter->region.data;
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot) {
    region_member_t *member = &data->members[slot];
    uint64_t word = atomic_load(&member->hot.state);
    if (region_state(word) != REGION_FREE || !region_slot_take(&limiter->region, slot))
      continue;
    limiter->slot = slot;
    limiter->me = member;
    if (slot >= region_member_count(data))
      atomic_store(&data->header.members, slot + 1);
    set_state(member, word, REGION_JOINING);
    return RAWHAL_OK;
  }
  return rawhal_fail(error, RAWHAL_LIMIT, "the region has %d members, all alive", REGION_MEMBERS);
}

static void start_member(rawhal_limiter_t *limiter, uint64_t now)
{
  region_member_t *me = limiter->me;
  region_hot_t *hot = &me->hot;
  _Atomic uint64_t *const zeros[] = {&hot->open,      &hot->fresh_until, &hot->served,
                                     &hot->refund,    &hot->wait_until,  &hot->waits,
                                     &hot->active_at, &me->start_time,   &me->interval_count};
  for (size_t i = 0; i < sizeof(zeros) / sizeof(*zeros); ++i)
    atomic_store(zeros[i], 0);
  for (int i = 0; i < REGION_COUNTERS; ++i)
    atomic_store(&me->counters[i], 0);
  for (int i = 0; i < REGION_WAIT_BUCKETS; ++i)
    atomic_store(&me->waits[i], 0);
  for (int i = 0; i < REGION_BUCKETS; ++i)
    atomic_store(&me->usage.buckets[i], 0);
  for (int i = 0; i < REGION_INTERVALS; ++i)
    atomic_store(&me->intervals[i].sequence, 0);
  node_start(&me->node);
  ledger_start_member(&me->ledger);
  atomic_store(&me->device, limiter->device_index);
  atomic_store(&me->tenant, limiter->tenant_index);
  describe_self(me, now);
}

static rawhal_status_t join(rawhal_limiter_t *limiter, const rawhal_limit_config_t *config,
                            const char *device, rawhal_error_t *error)
{
  const char *tenant = *config->tenant.text ? config->tenant.text : "default";
  if (strlen(tenant) >= REGION_TENANT_NAME || strlen(device) >= REGION_DEVICE_NAME)
    return rawhal_fail(
        error, RAWHAL_INVALID_ARGUMENT, "the name of the %s is too long: at most %d characters",
        strlen(tenant) >= REGION_TENANT_NAME ? "tenant" : "device", REGION_TENANT_NAME - 1);
  rawhal_status_t status = region_lock(&limiter->region, REGION_PATIENT, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t now = limiter_now(limiter);
  bool new_device = false, new_tenant = false;
  (void)bury_all(limiter, now);
  status = find_device(limiter, device, &new_device, error);
  if (status == RAWHAL_OK)
    status = find_tenant(limiter, tenant, &new_tenant, error);
  if (status == RAWHAL_OK)
    status = take_slot(limiter, error);
  if (status == RAWHAL_OK) {
    start_member(limiter, now);
    apply_config(limiter, config, new_device, new_tenant);
    atomic_fetch_add(&limiter->region.data->header.epoch, 1);
    set_state(limiter->me, atomic_load(&limiter->me->hot.state), REGION_LIVE);
  }
  region_unlock(&limiter->region);
  return status;
}

/* ---- Opening and closing ---- */

static void destroy(rawhal_limiter_t *limiter)
{
  region_close(&limiter->region);
  pthread_mutex_destroy(&limiter->lock);
  pthread_mutex_destroy(&limiter->leases_lock);
  pthread_mutex_destroy(&limiter->structure_lock);
  free(limiter);
}

rawhal_status_t limiter_open(const rawhal_limit_config_t *config, const char *device,
                             const limit_clock_t *clock, rawhal_limiter_t **result,
                             rawhal_error_t *error)
{
  *result = NULL;
  rawhal_limiter_t *limiter = calloc(1, sizeof(*limiter));
  if (!limiter)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a limiter");
  limiter->clock = clock ? clock : &limit_clock_real;
  pthread_mutex_init(&limiter->lock, NULL);
  pthread_mutex_init(&limiter->leases_lock, NULL);
  pthread_mutex_init(&limiter->structure_lock, NULL);
  atomic_flag_clear(&limiter->memory_lock);
  limiter->charged_part = LIMIT_WHOLE;
  rawhal_status_t status = region_open(config, &limiter->region, error);
  if (status == RAWHAL_OK)
    status = join(limiter, config, device, error);
  if (status != RAWHAL_OK) {
    destroy(limiter);
    return status;
  }
  *result = limiter;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_limiter_open(const rawhal_limit_config_t *config, const char *device,
                                    rawhal_limiter_t **limiter, rawhal_error_t *error)
{
  if (!limiter)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "limiter is NULL");
  *limiter = NULL;
  if (!config || !device || !*device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       config ? "no device" : "config is NULL");
  return limiter_open(config, device, NULL, limiter, error);
}

/* When the structure lock is not to be had, whoever comes next finds the lock byte free. */
void rawhal_limiter_close(rawhal_limiter_t *limiter)
{
  if (!limiter)
    return;
  if (!region_forked(&limiter->region) &&
      region_lock(&limiter->region, REGION_PATIENT, NULL) == RAWHAL_OK) {
    bury(limiter->region.data, limiter->slot, limiter_now(limiter));
    region_slot_drop(&limiter->region, limiter->slot);
    region_unlock(&limiter->region);
  }
  destroy(limiter);
}

rawhal_status_t limiter_check(const rawhal_limiter_t *limiter, rawhal_error_t *error)
{
  if (region_forked(&limiter->region))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "this limiter belongs to the process this one was forked from");
  return RAWHAL_OK;
}

/* ---- Changing limits ---- */

void limiter_set_caps(const rawhal_limiter_t *limiter, limit_lease_t *lease)
{
  const struct {
    rawhal_limit_t limit;
    uint64_t capped;
  } rows[] = {{RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, credit_mask(CREDIT_WORKGROUPS)},
              {RAWHAL_LIMIT_KERNARG_IN_FLIGHT, credit_mask(CREDIT_BLOCKS)},
              {RAWHAL_LIMIT_GRID_WORKGROUPS, LIMIT_CAPPED_GRID}};
  uint64_t capped = 0;
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
    if (limiter_cap(limiter, rows[i].limit) != RAWHAL_UNLIMITED)
      capped |= rows[i].capped;
  atomic_store(&lease->largest_grid, limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS));
  atomic_store(&lease->capped, capped);
}

rawhal_status_t rawhal_limiter_set(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t value,
                                   rawhal_error_t *error)
{
  if (!limiter)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "limiter is NULL");
  rawhal_limit_config_t checked = {0};
  rawhal_status_t status = rawhal_limit_config_set(&checked, limit, value, error);
  if (status == RAWHAL_OK)
    status = limiter_check(limiter, error);
  if (status != RAWHAL_OK)
    return status;
  limit_home_t home = home_of(limiter, limit);
  store(&home, home.encode(value));
  pthread_mutex_lock(&limiter->leases_lock);
  for (limit_lease_t *lease = limiter->leases; lease; lease = lease->next)
    limiter_set_caps(limiter, lease);
  pthread_mutex_unlock(&limiter->leases_lock);
  atomic_fetch_add(&limiter->region.data->header.epoch, 1);
  limiter_signal(limiter);
  return RAWHAL_OK;
}

uint64_t rawhal_limiter_get(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  if (!limiter || !rawhal_limit_info(limit))
    return RAWHAL_UNLIMITED;
  limit_home_t home = home_of(limiter, limit);
  return home.decode(node_load(home.words[0]));
}
