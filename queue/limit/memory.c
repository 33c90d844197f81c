/* Memory quota: what allocators call. */
#include "queue/limit/memory.h"
#include "queue/limit/dead.h"
#include "queue/limit/denial.h"
#include "queue/limit/node.h"

#include "base/error.h"

static rawhal_status_t deny(rawhal_limiter_t *limiter, ledger_answer_t answer, ledger_class_t class,
                            uint64_t bytes, rawhal_error_t *error)
{
  const region_tenant_t *tenant = limiter->tenant;
  bool process = answer == LEDGER_OVER_PROCESS;
  rawhal_limit_t limit = process ? RAWHAL_LIMIT_PROCESS_MEMORY : RAWHAL_LIMIT_MEMORY;
  uint64_t units = process ? ledger_used(&limiter->me->ledger) : ledger_total(tenant);
  limiter_deny(limiter, limit, bytes, units * REGION_UNIT_BYTES,
               rawhal_limiter_get(limiter, limit));
  return rawhal_fail(error, RAWHAL_QUOTA_EXCEEDED,
                     "%llu bytes of device memory asked for (%s); %llu of the %s's %llu are in use",
                     (unsigned long long)bytes, ledger_class_names[class],
                     (unsigned long long)(units * REGION_UNIT_BYTES),
                     process ? "process" : "tenant",
                     (unsigned long long)rawhal_limiter_get(limiter, limit));
}

/* What it holds it also knows in memory of its own: damage.h. The caller holds memory_lock. */
static void note(rawhal_limiter_t *limiter, ledger_class_t class, uint64_t units, bool more)
{
  damage_watch_t *watch = &limiter->damage;
  uint64_t *used = &watch->used[class];
  *used = more ? *used + units : *used > units ? *used - units : 0;
  watch->number = node_load(&limiter->me->ledger.number);
}

/* One that only allocates looks here. */
static void look_for_damage(rawhal_limiter_t *limiter)
{
  if (atomic_load_explicit(&limiter->damage.next_at, memory_order_relaxed) == UINT64_MAX ||
      pthread_mutex_trylock(&limiter->lock))
    return;
  (void)damage_look(limiter, limiter_now(limiter));
  pthread_mutex_unlock(&limiter->lock);
}

rawhal_status_t limit_memory_reserve(rawhal_limiter_t *limiter, ledger_class_t class,
                                     uint64_t bytes, rawhal_error_t *error)
{
  rawhal_status_t status = region_check(&limiter->region, error);
  if (status != RAWHAL_OK)
    return status;
  uint64_t units = ledger_units(bytes);
  for (int round = 0;; ++round) {
    memory_lock(limiter);
    ledger_answer_t answer = ledger_reserve(limiter->region.data, limiter->slot, class, units);
    note(limiter, class, answer == LEDGER_DONE ? units : 0, true);
    memory_unlock(limiter);
    if (answer == LEDGER_DONE) {
      look_for_damage(limiter);
      return RAWHAL_OK;
    }
    /* What dead processes held is free again. */
    if (round == 0 && answer == LEDGER_OVER_TENANT && limiter_reclaim(limiter))
      continue;
    if (round == 0 && damage_doubt(limiter))
      continue;
    return deny(limiter, answer, class, bytes, error);
  }
}

bool limit_memory_charge(rawhal_limiter_t *limiter, ledger_class_t class, uint64_t bytes)
{
  if (region_forked(&limiter->region))
    return false;
  memory_lock(limiter);
  bool charged = ledger_charge(limiter->region.data, limiter->slot, class, ledger_units(bytes));
  note(limiter, class, charged ? ledger_units(bytes) : 0, true);
  memory_unlock(limiter);
  return charged;
}

void limit_memory_release(rawhal_limiter_t *limiter, ledger_class_t class, uint64_t bytes)
{
  if (region_forked(&limiter->region))
    return;
  memory_lock(limiter);
  ledger_release(limiter->region.data, limiter->slot, class, ledger_units(bytes));
  note(limiter, class, ledger_units(bytes), false);
  memory_unlock(limiter);
}

typedef struct memory {
  uint64_t total, used;
} memory_t;

static uint64_t left_of(const memory_t *memory)
{
  return memory->total > memory->used ? memory->total - memory->used : 0;
}

void rawhal_limiter_memory(const rawhal_limiter_t *limiter, uint64_t *total, uint64_t *used)
{
  *total = RAWHAL_UNLIMITED;
  *used = 0;
  if (!limiter)
    return;
  uint64_t again;
  (void)limiter_look_for_dead((rawhal_limiter_t *)(uintptr_t)limiter, limiter_now(limiter), &again);
  memory_t tenant = {rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY),
                     ledger_total(limiter->tenant) * REGION_UNIT_BYTES};
  memory_t mine = {rawhal_limiter_get(limiter, RAWHAL_LIMIT_PROCESS_MEMORY),
                   ledger_used(&limiter->me->ledger) * REGION_UNIT_BYTES};
  *total = tenant.total;
  *used = tenant.used;
  if (mine.total == RAWHAL_UNLIMITED)
    return;
  uint64_t left = left_of(&mine) < left_of(&tenant) ? left_of(&mine) : left_of(&tenant);
  *total = mine.total < tenant.total ? mine.total : tenant.total;
  *used = *total - (left < *total ? left : *total);
}
