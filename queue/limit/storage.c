/* Where the value of each limit is stored, and changing it there while it is in use. */
#include "queue/limit/storage.h"

#include "queue/limit/config.h"
#include "queue/limit/limiter.h"
#include "queue/limit/node.h"
#include "queue/limit/rules.h"

#include "base/error.h"

/* ---- Values ---- */

static uint64_t to_share(uint64_t ppm)
{
  return ppm == RAWHAL_UNLIMITED || ppm >= 1000000 ? REGION_NO_SHARE : (ppm << 32) / 1000000;
}

uint64_t limit_share_value(uint64_t word)
{
  return word >= REGION_SHARE_ONE ? RAWHAL_UNLIMITED
                                  : (word * 1000000 + REGION_SHARE_ONE - 1) >> 32;
}

static uint64_t to_units(uint64_t bytes)
{
  return bytes == RAWHAL_UNLIMITED ? REGION_NO_MEMORY : bytes / REGION_UNIT_BYTES;
}

uint64_t limit_memory_value(uint64_t units)
{
  return units > UINT64_MAX / REGION_UNIT_BYTES ? RAWHAL_UNLIMITED : units * REGION_UNIT_BYTES;
}

static uint64_t same(uint64_t value)
{
  return value;
}

/* ---- Places ---- */

typedef struct storage_row {
  uint64_t (*encode)(uint64_t value);
  uint64_t (*decode)(uint64_t word);
  /* The first word's place is whose limit it is. */
  struct {
    place_t place;
    size_t offset;
  } words[LIMIT_STORAGE_WORDS];
} storage_row_t;

#define OF_DEVICE(member)                                                                          \
  {                                                                                                \
    PLACE_DEVICE, offsetof(region_device_t, member)                                                \
  }
#define OF_TENANT(member)                                                                          \
  {                                                                                                \
    PLACE_TENANT, offsetof(region_tenant_t, member)                                                \
  }
#define OF_PROCESS(member)                                                                         \
  {                                                                                                \
    PLACE_PROCESS, offsetof(region_member_t, member)                                               \
  }
#define CAP(limit) [limit] = {same, same, {{PLACE_CAPS, (limit) * sizeof(uint64_t)}}}

static const storage_row_t rows[LIMIT_COUNT] = {
    [RAWHAL_LIMIT_MEMORY] = {to_units, limit_memory_value, {OF_TENANT(memory_limit)}},
    [RAWHAL_LIMIT_GPU_SHARE] = {to_share, limit_share_value, {OF_TENANT(node.share)}},
    [RAWHAL_LIMIT_DISPATCH_RATE] = {same, same, {OF_TENANT(node.rate)}},
    [RAWHAL_LIMIT_BURST] = {same,
                            same,
                            {OF_TENANT(node.burst), OF_DEVICE(node.burst), OF_PROCESS(node.burst)}},
    [RAWHAL_LIMIT_CHARGING] = {same, same, {OF_TENANT(charging)}},
    [RAWHAL_LIMIT_DEVICE_SHARE] = {to_share, limit_share_value, {OF_DEVICE(node.share)}},
    [RAWHAL_LIMIT_PROCESS_MEMORY] = {to_units, limit_memory_value, {OF_PROCESS(ledger.limit)}},
    [RAWHAL_LIMIT_PROCESS_SHARE] = {to_share, limit_share_value, {OF_PROCESS(node.share)}},
    CAP(RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT),
    CAP(RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT),
    CAP(RAWHAL_LIMIT_KERNARG_IN_FLIGHT),
    CAP(RAWHAL_LIMIT_GRID_WORKGROUPS),
    [RAWHAL_LIMIT_WEIGHT] = {same, same, {OF_PROCESS(weight)}},
    [RAWHAL_LIMIT_PRIORITY] = {same, same, {OF_PROCESS(priority)}},
};

limit_storage_t limit_storage(const limit_owners_t *owners, rawhal_limit_t limit)
{
  const storage_row_t *row = &rows[limit];
  char *const bases[] = {[PLACE_NOWHERE] = NULL,
                         [PLACE_DEVICE] = (char *)owners->device,
                         [PLACE_TENANT] = (char *)owners->tenant,
                         [PLACE_PROCESS] = (char *)owners->member,
                         [PLACE_CAPS] = (char *)owners->caps};
  place_t place = row->words[0].place;
  limit_storage_t storage = {.encode = row->encode,
                             .decode = row->decode,
                             .place = place == PLACE_CAPS ? PLACE_PROCESS : place};
  size_t count = 0;
  for (size_t i = 0; i < LIMIT_STORAGE_WORDS; ++i) {
    char *base = bases[row->words[i].place];
    if (base)
      storage.words[count++] = (_Atomic uint64_t *)(void *)(base + row->words[i].offset);
  }
  return storage;
}

void limit_store(const limit_storage_t *storage, uint64_t word)
{
  for (size_t i = 0; i < LIMIT_STORAGE_WORDS && storage->words[i]; ++i)
    atomic_store_explicit(storage->words[i], word, memory_order_relaxed);
}

limit_storage_t limiter_storage(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  rawhal_limiter_t *mine = (rawhal_limiter_t *)(uintptr_t)limiter;
  const limit_owners_t owners = {mine->device, mine->tenant, mine->me, mine->caps};
  return limit_storage(&owners, limit);
}

/* ---- Changing ---- */

void limiter_set_own(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t word)
{
  limit_storage_t storage = limiter_storage(limiter, limit);
  if (limit == RAWHAL_LIMIT_PROCESS_SHARE)
    rules_set_share(&limiter->me->node, word, limiter_now(limiter));
  else
    limit_store(&storage, word);
  if (limit == RAWHAL_LIMIT_WEIGHT && word > node_load(&limiter->me->weight_most))
    atomic_store(&limiter->me->weight_most, word);
}

/* What an operator has set, a program makes stricter at most. */
static rawhal_status_t check_held(const rawhal_limiter_t *limiter, rawhal_limit_t limit,
                                  const limit_storage_t *storage, uint64_t word,
                                  rawhal_error_t *error)
{
  const region_asks_t *asks =
      storage->place == PLACE_DEVICE ? &limiter->device->asks : &limiter->tenant->asks;
  uint64_t held = node_load(&asks->of[rules_ask(limit)]);
  if (!held || word == held - 1 || limit_is_stricter(limit, word, held - 1))
    return RAWHAL_OK;
  char text[32];
  rawhal_limit_format(limit, storage->decode(held - 1), text, sizeof(text));
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                     "%s is held at %s by the operator: a program can make it stricter only",
                     rawhal_limit_info(limit)->name, text);
}

/* The structure lock keeps others from reckoning with half of it; its holder may be stopped. */
static rawhal_status_t change_shared(rawhal_limiter_t *limiter, rawhal_limit_t limit,
                                     const limit_storage_t *storage, uint64_t word,
                                     rawhal_error_t *error)
{
  rawhal_status_t status = region_lock(&limiter->region, REGION_TRIES_FEW, error);
  if (status != RAWHAL_OK)
    return status;
  region_data_t *data = limiter->region.data;
  uint64_t now = limiter_now(limiter);
  region_ask_t ask = rules_ask(limit);
  status = check_held(limiter, limit, storage, word, error);
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
  limit_storage_t storage = limiter_storage(limiter, limit);
  rawhal_status_t status = RAWHAL_OK;
  pthread_mutex_lock(&limiter->structure_lock);
  if (rules_ask(limit) != REGION_ASKS)
    status = change_shared(limiter, limit, &storage, storage.encode(value), error);
  else
    limiter_set_own(limiter, limit, storage.encode(value));
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
    status = limiter_check(limiter, error);
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
  limit_storage_t storage = limiter_storage(limiter, limit);
  return storage.decode(node_load(storage.words[0]));
}
