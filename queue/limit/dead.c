/* Leaving, and clearing up after processes that could not leave.
 *
 * A dead process is marked first: its state is swapped from LIVE to LEAVING, which fails if another
 * was quicker, since states carry a generation. From then on what it had in flight is not counted.
 * Then its slot is reclaimed, by one process at a time; if that one dies too, the next goes on. */
#include "queue/limit/dead.h"

#include "queue/limit/complete.h"
#include "queue/limit/debts.h"
#include "queue/limit/ledger.h"
#include "queue/limit/node.h"
#include "queue/limit/region_lock.h"
#include "queue/limit/rules.h"

/* The caller is the member itself, or holds region_reclaim_take()'s lock. */
static void reclaim_slot(region_data_t *data, uint32_t slot, uint64_t now)
{
  region_member_t *member = &data->members[slot];
  uint64_t word = atomic_load(&member->hot.state);
  dead_set_state(member, word, REGION_LEAVING);
  charge_unfinished(data, slot, now);
  ledger_drain(data, slot);
  atomic_store(&member->hot.wait_until, 0);
  atomic_store(&member->hot.state, ((word >> 8) + 1) << 8 | REGION_FREE);
}

/* What holds for those that stay. When the lock cannot be had at once, the next holder does it:
 * until then limits are stricter than they need be. */
static void apply_rules(rawhal_limiter_t *limiter, uint64_t now)
{
  region_data_t *data = limiter->region.data;
  atomic_store(&data->header.rules_due, 1);
  if (region_lock(&limiter->region, REGION_TRY_ONCE, NULL) != RAWHAL_OK)
    return;
  rules_apply_due(data, now);
  region_unlock(&limiter->region);
}

void limiter_leave(rawhal_limiter_t *limiter)
{
  uint64_t now = limiter_now(limiter);
  reclaim_slot(limiter->region.data, limiter->slot, now);
  debts_keep(limiter, now);
  region_slot_drop(&limiter->region, limiter->slot);
  apply_rules(limiter, now);
}

/* True when the slot's holder was dead, and the slot has been reclaimed. */
static bool reclaim_if_dead(const region_t *region, const identity_t *self, uint32_t slot,
                            uint64_t now)
{
  region_member_t *member = &region->data->members[slot];
  uint64_t word = atomic_load(&member->hot.state);
  if (region_state(word) == REGION_FREE || !region_slot_dead(region, self, slot))
    return false;
  uint64_t leaving = (word & ~(uint64_t)0xff) | REGION_LEAVING;
  if (word != leaving && !atomic_compare_exchange_strong(&member->hot.state, &word, leaving))
    return false;
  if (!region_reclaim_take(region, slot))
    return false;
  bool ours = atomic_load(&member->hot.state) == leaving && region_slot_dead(region, self, slot);
  if (ours)
    reclaim_slot(region->data, slot, now);
  region_reclaim_drop(region, slot);
  return ours;
}

bool dead_reclaim(const region_t *region, const identity_t *self, uint32_t own, uint64_t now)
{
  const uint32_t count = region_member_count(region->data);
  bool any = false;
  for (uint32_t slot = 0; slot < count; ++slot)
    if (slot != own)
      any |= reclaim_if_dead(region, self, slot, now);
  return any;
}

/* Other threads of this process share its locks, and must not be here at the same time. */
bool limiter_reclaim(rawhal_limiter_t *limiter)
{
  region_data_t *data = limiter->region.data;
  if (limiter->region.fd < 0 || pthread_mutex_trylock(&limiter->structure_lock))
    return false;
  uint64_t now = limiter_now(limiter);
  const bool any = dead_reclaim(&limiter->region, &limiter->self,
                                limiter->me ? limiter->slot : REGION_NO_INDEX, now);
  if (any || atomic_load(&data->header.rules_due))
    apply_rules(limiter, now);
  pthread_mutex_unlock(&limiter->structure_lock);
  return any;
}

/* Does another member hold device time back, or wait? */
static bool anybody_busy(const rawhal_limiter_t *limiter)
{
  const region_data_t *data = limiter->region.data;
  uint32_t count = region_member_count(data);
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_hot_t *hot = &data->members[slot].hot;
    if (slot != limiter->slot && region_state(node_load(&hot->state)) != REGION_FREE &&
        (hot_load(hot) || node_load(&hot->wait_until)))
      return true;
  }
  return false;
}

bool limiter_look_for_dead(rawhal_limiter_t *limiter, uint64_t now, uint64_t *again)
{
  *again = UINT64_MAX;
  if (limiter->region.fd < 0)
    return false;
  _Atomic uint64_t *swept_at = &limiter->region.data->header.swept_at;
  uint64_t seen = atomic_load_explicit(swept_at, memory_order_relaxed);
  bool due = now < seen || now - seen >= LIMIT_LOOK_NS;
  bool any =
      due && atomic_compare_exchange_strong(swept_at, &seen, now) && limiter_reclaim(limiter);
  if (anybody_busy(limiter))
    *again = now + LIMIT_LOOK_NS;
  return any;
}
