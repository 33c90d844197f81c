/* Where the value of each limit is stored, and changing it there while it is in use. */
#include "queue/limit/storage.h"

#include "queue/limit/complete.h"
#include "queue/limit/config.h"
#include "queue/limit/lease.h"
#include "queue/limit/node.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"
#include "queue/limit/table.h"

#include "base/error.h"

static _Atomic uint64_t *word_of(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  char *const owners[] = {[PLACE_DEVICE] = (char *)limiter->device,
                          [PLACE_TENANT] = (char *)limiter->tenant,
                          [PLACE_PROCESS] = (char *)limiter->me,
                          [PLACE_CAPS] = (char *)(uintptr_t)limiter->caps};
  const limit_row_t *row = &limit_rows[limit];
  return (_Atomic uint64_t *)(void *)(owners[row->place] + row->offset);
}

void limiter_set_own(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t word)
{
  if (limit == RAWHAL_LIMIT_PROCESS_SHARE)
    rules_set_share(&limiter->me->node, word, limiter_now(limiter));
  else
    atomic_store_explicit(word_of(limiter, limit), word, memory_order_relaxed);
  if (limit == RAWHAL_LIMIT_WEIGHT && word > node_load(&limiter->me->weight_most))
    atomic_store(&limiter->me->weight_most, word);
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
    limiter_set_own(limiter, limit, word);
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
