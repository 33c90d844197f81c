/* The library prints nothing: what it refuses for good is left in the region, for an operator's
 * log. One record for each member, whose number tells how many there were. */
#include "queue/limit/denial.h"

#include "queue/limit/node.h"

#include <string.h>

enum { WORDS = 9, TRIES = 4 };

static uint64_t check_of(const uint64_t words[WORDS])
{
  uint64_t hash = 1;
  for (int i = 0; i < WORDS; ++i) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* In the order in which the check is made. */
static void list_words(region_denial_t *denial, _Atomic uint64_t *words[WORDS])
{
  _Atomic uint64_t *const list[WORDS] = {&denial->number, &denial->limit,         &denial->asked,
                                         &denial->used,   &denial->allowed,       &denial->at,
                                         &denial->pid,    &denial->pid_namespace, &denial->tenant};
  memcpy(words, list, sizeof(list));
}

void limiter_deny(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t asked, uint64_t used,
                  uint64_t allowed)
{
  limiter_count(limiter, COUNTER_QUOTA_DENIALS, 1);
  region_member_t *me = limiter->me;
  _Atomic uint64_t *words[WORDS];
  list_words(&me->denial, words);
  memory_lock(limiter); /* against our own threads */
  const uint64_t values[WORDS] = {node_load(&me->denial.number) + 1,
                                  limit,
                                  asked,
                                  used,
                                  allowed,
                                  limiter_now(limiter),
                                  node_load(&me->pid),
                                  node_load(&me->pid_namespace),
                                  limiter->tenant_index};
  for (int i = 0; i < WORDS; ++i)
    atomic_store_explicit(words[i], values[i], memory_order_relaxed);
  atomic_store_explicit(&me->denial.check, check_of(values), memory_order_relaxed);
  memory_unlock(limiter);
}

static void fill(const region_data_t *data, uint32_t slot, const uint64_t words[WORDS],
                 rawhal_limit_denial_t *denial)
{
  *denial = (rawhal_limit_denial_t){.number = words[0],
                                    .limit = (rawhal_limit_t)words[1],
                                    .asked = words[2],
                                    .used = words[3],
                                    .allowed = words[4],
                                    .at_ns = words[5],
                                    .pid = words[6],
                                    .pid_namespace = words[7],
                                    .slot = slot};
  if (words[8] >= REGION_TENANTS)
    return;
  const region_tenant_t *tenant = &data->tenants[words[8]];
  uint32_t device = atomic_load_explicit(&tenant->device, memory_order_relaxed);
  region_copy_name(denial->tenant, tenant->name);
  if (device < REGION_DEVICES)
    region_copy_name(denial->device, data->devices[device].name);
}

bool denial_read(const region_data_t *data, uint32_t slot, rawhal_limit_denial_t *denial)
{
  /* Only looked at: list_words() serves writers as well. */
  region_denial_t *from = (region_denial_t *)(uintptr_t)&data->members[slot].denial;
  _Atomic uint64_t *words[WORDS];
  uint64_t values[WORDS];
  list_words(from, words);
  for (int tries = 0; tries < TRIES; ++tries) {
    for (int i = 0; i < WORDS; ++i)
      values[i] = node_load(words[i]);
    if (values[0] == 0)
      return false;
    if (node_load(&from->check) != check_of(values))
      continue;
    if (values[1] >= LIMIT_COUNT)
      return false;
    fill(data, slot, values, denial);
    return true;
  }
  return false;
}
