/* Joining a region and leaving it, and the limits of those who are there: where the value of each
 * is stored, and changing it there while it is in use. */
#include "queue/limit/complete.h"
#include "queue/limit/config.h"
#include "queue/limit/dead.h"
#include "queue/limit/debts.h"
#include "queue/limit/inherited.h"
#include "queue/limit/lease.h"
#include "queue/limit/ledger.h"
#include "queue/limit/node.h"
#include "queue/limit/opening.h"
#include "queue/limit/places.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"
#include "queue/limit/table.h"

#include "base/cancel.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void limit_device_name(const char *uuid, const char *name, uint32_t domain, uint32_t bdf,
                       char identity[64])
{
  if (*uuid)
    snprintf(identity, 64, "%.63s", uuid);
  else
    snprintf(identity, 64, "%.20s at %04x:%04x", name, domain, bdf);
}

/* ---- Limits ---- */

static _Atomic uint64_t *word_of(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  char *const owners[] = {[PLACE_DEVICE] = (char *)limiter->device,
                          [PLACE_TENANT] = (char *)limiter->tenant,
                          [PLACE_PROCESS] = (char *)limiter->me,
                          [PLACE_CAPS] = (char *)(uintptr_t)limiter->caps};
  const limit_row_t *row = &limit_rows[limit];
  return (_Atomic uint64_t *)(void *)(owners[row->place] + row->offset);
}

static void set_own(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t word)
{
  if (limit == RAWHAL_LIMIT_PROCESS_SHARE)
    rules_set_share(&limiter->me->node, word, limiter_now(limiter));
  else
    atomic_store_explicit(word_of(limiter, limit), word, memory_order_relaxed);
  if (limit == RAWHAL_LIMIT_WEIGHT && word > node_load(&limiter->me->weight_most))
    atomic_store(&limiter->me->weight_most, word);
}

/* What this process asks for of what is shared; its own limits hold at once. */
static void apply_config(rawhal_limiter_t *limiter, const rawhal_limit_config_t *config)
{
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = (rawhal_limit_t)i;
    const limit_row_t *row = &limit_rows[limit];
    uint64_t value = row->encode(rawhal_limit_config_get(config, limit));
    if (row->ask == REGION_ASKS)
      set_own(limiter, limit, value);
    else
      rules_store(&limiter->me->asks, row->ask,
                  *config->values[limit].origin ? value : RAWHAL_UNLIMITED);
  }
}

/* What an operator has set, a program makes stricter at most. */
static rawhal_status_t check_held(const rawhal_limiter_t *limiter, rawhal_limit_t limit,
                                  uint64_t word, rawhal_error_t *error)
{
  const limit_row_t *row = &limit_rows[limit];
  const region_asks_t *asks =
      row->place == PLACE_DEVICE ? &limiter->device->asks : &limiter->tenant->asks;
  uint64_t held = node_load(&asks->of[row->ask]);
  if (!held || word == held - 1 || limit_is_stricter(limit, word, held - 1))
    return RAWHAL_OK;
  char text[32];
  rawhal_limit_format(limit, row->decode(held - 1), text, sizeof(text));
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                     "%s is held at %s by the operator: a program can make it stricter only",
                     row->info.name, text);
}

/* The structure lock keeps others from reckoning with half of it; its holder may be stopped. */
static rawhal_status_t change_shared(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t word,
                                     rawhal_error_t *error)
{
  rawhal_status_t status = region_lock(&limiter->region, REGION_TRIES_FEW, error);
  if (status != RAWHAL_OK)
    return status;
  region_data_t *data = limiter->region.data;
  uint64_t now = limiter_now(limiter);
  region_ask_t ask = limit_rows[limit].ask;
  status = check_held(limiter, limit, word, error);
  if (status == RAWHAL_OK) {
    rules_store(&limiter->me->asks, ask, word);
    atomic_fetch_and(&limiter->me->overruled, ~((uint64_t)1 << ask));
    (void)rules_apply(data, limiter->device_index, limiter->tenant_index, limiter->slot, now);
  }
  rules_apply_due(data, now);
  region_unlock(&limiter->region);
  return status;
}

static rawhal_status_t change(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t value,
                              rawhal_error_t *error)
{
  const uint64_t word = limit_rows[limit].encode(value);
  rawhal_status_t status = RAWHAL_OK;
  pthread_mutex_lock(&limiter->structure_lock);
  if (limit_rows[limit].ask != REGION_ASKS)
    status = change_shared(limiter, limit, word, error);
  else
    set_own(limiter, limit, word);
  damage_own_changed(limiter);
  pthread_mutex_unlock(&limiter->structure_lock);
  return status;
}

rawhal_status_t rawhal_limiter_set(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t value,
                                   rawhal_error_t *error)
{
  if (!limiter)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "limiter is NULL");
  rawhal_limit_config_t checked = {0};
  rawhal_status_t status = rawhal_limit_config_set(&checked, limit, value, error);
  if (status == RAWHAL_OK)
    status = limit_check_bound(&limiter->bounds[limit], limit, value, error);
  if (status == RAWHAL_OK)
    status = region_check(&limiter->region, error);
  if (status != RAWHAL_OK)
    return status;
  status = change(limiter, limit, value, error);
  if (status != RAWHAL_OK)
    return status;
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
  return limit_rows[limit].decode(node_load(word_of(limiter, limit)));
}

/* ---- Joining ---- */

/* Who this is; the start time last, without which the rest is not relied on. */
static void describe_self(const rawhal_limiter_t *limiter, uint64_t now)
{
  region_member_t *me = limiter->me;
  atomic_store(&me->pid, limiter->self.pid);
  atomic_store(&me->pid_namespace, limiter->self.pid_namespace);
  atomic_store(&me->time_namespace, limiter->self.time_namespace);
  atomic_store(&me->joined_at, now);
  atomic_store(&me->start_time, limiter->self.start_time);
}

/* Does a slot more leave each other tenant, also of those that are not there, what is kept for it?
 */
static bool leaves_enough(const region_data_t *data, uint32_t mine)
{
  uint32_t members[REGION_TENANTS] = {0}, free = REGION_MEMBERS, kept = 0;
  const uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (region_state(atomic_load(&member->hot.state)) == REGION_FREE)
      continue;
    const uint32_t tenant = atomic_load(&member->tenant);
    if (tenant < REGION_TENANTS)
      ++members[tenant];
    --free;
  }
  for (uint32_t i = 0; i < REGION_TENANTS; ++i)
    kept += members[i] < REGION_KEPT ? REGION_KEPT - members[i] : 0;
  return members[mine] < REGION_KEPT || free > kept;
}

/* A free slot whose lock byte is ours now. */
static rawhal_status_t take_slot(rawhal_limiter_t *limiter, rawhal_error_t *error)
{
  region_data_t *data = limiter->region.data;
  if (!leaves_enough(data, limiter->tenant_index))
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                       "the region's free members are reserved for other tenants, %d each",
                       REGION_KEPT);
  for (uint32_t slot = 0; slot < REGION_MEMBERS; ++slot) {
    region_member_t *member = &data->members[slot];
    uint64_t word = atomic_load(&member->hot.state);
    if (region_state(word) != REGION_FREE || !region_slot_take(&limiter->region, slot))
      continue;
    limiter->slot = slot;
    limiter->me = member;
    if (slot >= region_member_count(data))
      atomic_store(&data->header.members, slot + 1);
    atomic_store(&member->start_time, 0); /* of its last holder, who may be dead */
    dead_set_state(member, word, REGION_JOINING);
    return RAWHAL_OK;
  }
  return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "the region has %d members, all alive",
                     REGION_MEMBERS);
}

static void start_member(rawhal_limiter_t *limiter, uint64_t now)
{
  region_member_t *me = limiter->me;
  region_hot_t *hot = &me->hot;
  _Atomic uint64_t *const zeros[] = {&hot->load,         &hot->running_since, &hot->served,
                                     &hot->refund,       &hot->wait_until,    &hot->waits,
                                     &hot->active_until, &me->start_time,     &me->interval_count,
                                     &me->merged_count,  &me->load_check};
  for (size_t i = 0; i < sizeof(zeros) / sizeof(*zeros); ++i)
    atomic_store(zeros[i], 0);
  atomic_store(&me->overruled, 0);
  atomic_store(&me->weight_most, 0);
  region_clear(me->counters, REGION_COUNTERS);
  region_clear(me->waits, REGION_WAIT_BUCKETS);
  region_clear(me->usage.buckets, REGION_BUCKETS);
  for (int i = 0; i < REGION_INTERVALS; ++i)
    atomic_store(&me->intervals[i].sequence, 0);
  for (int i = 0; i < REGION_MERGED; ++i)
    atomic_store(&me->merged[i].sequence, 0);
  rules_start(&me->node);
  ledger_start_member(&me->ledger);
  atomic_store(&me->device, limiter->device_index);
  atomic_store(&me->tenant, limiter->tenant_index);
  describe_self(limiter, now);
}

/* In a region that was inherited an operator says who may be there. */
static rawhal_status_t find_places(rawhal_limiter_t *limiter, const char *device,
                                   const char *tenant, bool kept_only, rawhal_error_t *error)
{
  region_data_t *data = limiter->region.data;
  const uint64_t now = limiter_now(limiter);
  rawhal_status_t status = RAWHAL_OK;
  if (kept_only)
    status = place_find_kept(data, device, tenant, &limiter->device_index, &limiter->tenant_index,
                             error);
  if (status == RAWHAL_OK)
    status = place_find_device(data, device, now, &limiter->device_index, error);
  if (status == RAWHAL_OK)
    status =
        place_find_tenant(data, limiter->device_index, tenant, now, &limiter->tenant_index, error);
  if (status != RAWHAL_OK)
    return status;
  limiter->device = &data->devices[limiter->device_index];
  limiter->tenant = &data->tenants[limiter->tenant_index];
  return RAWHAL_OK;
}

static rawhal_status_t join(rawhal_limiter_t *limiter, const rawhal_limit_config_t *config,
                            const char *device, rawhal_error_t *error)
{
  const char *tenant = *config->tenant.text ? config->tenant.text : "default";
  rawhal_status_t status = place_check_names(device, tenant, error);
  if (status != RAWHAL_OK)
    return status;
  identity_of_self(&limiter->self);
  strcpy(limiter->device_name, device);
  strcpy(limiter->tenant_name, tenant);
  status = damage_refuse(limiter->region.data, error);
  if (status != RAWHAL_OK)
    return status;
  (void)limiter_reclaim(limiter);
  status = region_lock(&limiter->region, REGION_TRIES_MANY, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t now = limiter_now(limiter);
  region_data_t *data = limiter->region.data;
  status = find_places(limiter, device, tenant, inherited_is_named(config), error);
  if (status == RAWHAL_OK)
    status = take_slot(limiter, error);
  if (status == RAWHAL_OK) {
    start_member(limiter, now);
    apply_config(limiter, config);
    (void)rules_apply(data, limiter->device_index, limiter->tenant_index, limiter->slot, now);
    atomic_fetch_add(&data->header.epoch, 1);
    dead_set_state(limiter->me, atomic_load(&limiter->me->hot.state), REGION_LIVE);
  }
  rules_apply_due(data, now);
  if (status == RAWHAL_OK)
    status = damage_begin(limiter, error);
  region_unlock(&limiter->region);
  return status;
}

/* ---- Opening and closing ---- */

static void destroy(rawhal_limiter_t *limiter)
{
  damage_end(limiter);
  region_close(&limiter->region);
  pthread_mutex_destroy(&limiter->lock);
  pthread_mutex_destroy(&limiter->leases_lock);
  pthread_mutex_destroy(&limiter->structure_lock);
  allocate_free(&limiter->allocator, limiter);
}

rawhal_status_t limiter_open(const rawhal_limit_config_t *config, const char *device,
                             const limit_clock_t *clock, const allocator_t *allocator,
                             rawhal_limiter_t **result, rawhal_error_t *error)
{
  *result = NULL;
  rawhal_limiter_t *limiter = allocate_zeroed(allocator, 1, sizeof(*limiter));
  if (!limiter)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a limiter");
  if (allocator)
    limiter->allocator = *allocator;
  limiter->clock = clock ? clock : &limit_clock_real;
  pthread_mutex_init(&limiter->lock, NULL);
  pthread_mutex_init(&limiter->leases_lock, NULL);
  pthread_mutex_init(&limiter->structure_lock, NULL);
  atomic_flag_clear(&limiter->memory_lock);
  limiter->charged_part = LIMIT_WHOLE;
  memcpy(limiter->bounds, config->values, sizeof(limiter->bounds));
  rawhal_status_t status = region_open(config, device, &limiter->region, error);
  if (status == RAWHAL_OK)
    status = join(limiter, config, device, error);
  if (status != RAWHAL_OK) {
    destroy(limiter);
    return status;
  }
  debts_resume(limiter, limiter_now(limiter));
  *result = limiter;
  return RAWHAL_OK;
}

void limit_watch_forks(void)
{
  region_watch_forks();
  debts_watch_forks();
}

rawhal_status_t limit_check_region(const rawhal_limit_config_t *config, rawhal_error_t *error)
{
  region_t region;
  rawhal_status_t status = region_open(config, NULL, &region, error);
  if (status == RAWHAL_OK)
    region_close(&region);
  return status;
}

rawhal_status_t limit_open(const rawhal_limit_config_t *config, const char *device,
                           const allocator_t *allocator, rawhal_limiter_t **limiter,
                           rawhal_error_t *error)
{
  WITHOUT_CANCELLATION(); /* of a thread that holds files and locks of the region */
  if (!limiter)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "limiter is NULL");
  *limiter = NULL;
  if (!config || !device || !*device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       config ? "no device" : "config is NULL");
  return limiter_open(config, device, NULL, allocator, limiter, error);
}

rawhal_status_t rawhal_limiter_open(const rawhal_limit_config_t *config, const char *device,
                                    rawhal_limiter_t **limiter, rawhal_error_t *error)
{
  return limit_open(config, device, NULL, limiter, error);
}

void rawhal_limiter_close(rawhal_limiter_t *limiter)
{
  if (!limiter)
    return;
  if (!region_forked(&limiter->region))
    limiter_leave(limiter);
  destroy(limiter);
}
