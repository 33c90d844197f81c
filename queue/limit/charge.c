/* Paying for what has run.
 *
 * A process pays for the union of its queues' dispatches. Where other processes ran at the same
 * time it pays its part: an instant that n processes covered costs each 1/n. Which process covered
 * what is known only when dispatches have finished, and they finish in any order; so the one that
 * comes later pays 1/n and gives each of those that had paid 1/(n-1) the difference back. Intervals
 * carry numbers from one counter of the device, so that of two processes exactly one is the later.
 */
#include "queue/limit/charge.h"

#include "queue/limit/node.h"
#include "queue/limit/overlap.h"
#include "queue/limit/publish.h"
#include "queue/limit/usage.h"
#include "queue/limit/weight.h"

static bool is_fair(const region_tenant_t *tenant)
{
  return atomic_load_explicit(&tenant->charging, memory_order_relaxed) != RAWHAL_CHARGING_WALL;
}

/* Time on the device, by the host's clock, and what of it the device pays, and its tenant with the
 * process. */
typedef struct charge {
  uint64_t start, end, busy;
  uint64_t device_ns, tenant_ns;
} charge_t;

/* A level above the queue; `node` NULL: there is none. */
typedef struct payer {
  region_node_t *node;
  region_usage_t *usage;
  _Atomic uint64_t *charged, *returned;
} payer_t;

enum { THE_DEVICE, THE_TENANT, THE_PROCESS, PAYERS }; /* loops over them cost each completion */

/* Who pays for a member's time. */
typedef struct account {
  region_member_t *member;
  region_tenant_t *tenant; /* NULL: there is none */
  payer_t payers[PAYERS];
  bool limited; /* any of them: otherwise no clock runs */
} account_t;

static account_t account_of(region_device_t *device, region_tenant_t *tenant,
                            region_member_t *member)
{
  account_t account = {.member = member, .tenant = tenant};
  if (device)
    account.payers[THE_DEVICE] =
        (payer_t){&device->node, &device->usage, &device->charged, &device->returned};
  if (tenant)
    account.payers[THE_TENANT] =
        (payer_t){&tenant->node, &tenant->usage, &tenant->charged, &tenant->returned};
  account.payers[THE_PROCESS] =
      (payer_t){&member->node, &member->usage, &member->counters[COUNTER_GPU_NS],
                &member->counters[COUNTER_REFUND_NS]};
#pragma GCC unroll 3
  for (int i = 0; i < PAYERS; ++i)
    account.limited |= account.payers[i].node && node_is_limited(account.payers[i].node);
  return account;
}

/* The levels' clocks: each piece from when it began. */
static void charge_clocks(const account_t *account, uint64_t now, const charge_t *charge)
{
#pragma GCC unroll 3
  for (int i = 0; i < PAYERS; ++i)
    if (account->payers[i].node)
      node_charge(account->payers[i].node, now, charge->start,
                  i == THE_DEVICE ? charge->device_ns : charge->tenant_ns);
}

/* What was used, which others look at now and then: pieces together. */
static void charge_usage(const account_t *account, const charge_t *charge)
{
  region_member_t *member = account->member;
#pragma GCC unroll 3
  for (int i = 0; i < PAYERS; ++i) {
    const payer_t *payer = &account->payers[i];
    const uint64_t ns = i == THE_DEVICE ? charge->device_ns : charge->tenant_ns;
    if (!payer->node)
      continue;
    usage_add(payer->usage, charge->start, charge->end, ns);
    atomic_fetch_add_explicit(payer->charged, ns, memory_order_relaxed);
  }
  if (account->tenant)
    atomic_fetch_add_explicit(&account->tenant->served, charge->device_ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&member->hot.served, limit_for_weight(charge->tenant_ns, member),
                            memory_order_relaxed);
  atomic_fetch_add_explicit(&member->counters[COUNTER_BUSY_NS], charge->busy, memory_order_relaxed);
}

/* Gives back what another member has paid too much: its device, and where time is divided its
 * tenant and itself. */
static void refund(rawhal_limiter_t *limiter, const overlap_t *paid)
{
  const uint64_t offset = (uint64_t)limiter->clock_offset, ns = paid->refund;
  if (ns == 0)
    return;
  region_data_t *data = limiter->region.data;
  region_member_t *member = &data->members[paid->slot];
  region_tenant_t *tenant =
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed));
  const account_t account = account_of(limiter->device, tenant, member);
  const int payers = tenant && is_fair(tenant) ? PAYERS : THE_DEVICE + 1;
#pragma GCC unroll 3
  for (int i = 0; i < payers; ++i) {
    const payer_t *payer = &account.payers[i];
    node_refund(payer->node, ns);
    usage_take(payer->usage, paid->time.start + offset, paid->time.end + offset, ns);
    atomic_fetch_add_explicit(payer->returned, ns, memory_order_relaxed);
  }
  if (tenant)
    atomic_fetch_add_explicit(&tenant->refund, ns, memory_order_relaxed);
  if (payers < PAYERS)
    return;
  limit_signal_node(limiter->clock, &tenant->node); /* it may go sooner than it thought */
  atomic_fetch_add_explicit(&member->hot.refund, limit_back_for_weight(ns, member),
                            memory_order_relaxed);
}

static void add_charge(charge_t *sum, const charge_t *piece)
{
  sum->start = sum->busy && sum->start < piece->start ? sum->start : piece->start;
  sum->end = sum->busy && sum->end > piece->end ? sum->end : piece->end;
  sum->busy += piece->busy;
  sum->device_ns += piece->device_ns;
  sum->tenant_ns += piece->tenant_ns;
}

static charge_t charge_piece(rawhal_limiter_t *limiter, const account_t *account, uint64_t now,
                             interval_t piece)
{
  uint64_t wall = piece.end - piece.start, part = wall;
  uint64_t start = piece.start + (uint64_t)limiter->clock_offset;
  /* Before its clock is known the device's times cannot be compared with ours. */
  if (limiter->region.fd >= 0 && limiter->clock_offset_at) {
    overlaps_t *found = &limiter->overlaps;
    uint64_t sequence = overlaps_publish(limiter->device, limiter->me, piece);
    overlaps_collect(limiter->region.data, limiter->device_index, limiter->slot, sequence, piece,
                     found);
    if (found->count)
      part = overlaps_divide(found);
    for (uint32_t i = 0; i < found->count; ++i)
      refund(limiter, &found->items[i]);
  }
  uint64_t ns = is_fair(limiter->tenant) ? part : wall;
  charge_t charge = {start, start + wall, wall, part, ns};
  if (account->limited)
    charge_clocks(account, now, &charge);
  return charge;
}

void charge_unfinished(region_data_t *data, uint32_t slot, uint64_t now)
{
  region_member_t *member = &data->members[slot];
  uint64_t since = atomic_exchange(&member->hot.running_since, 0);
  (void)atomic_exchange(&member->hot.load, 0);
  if (since == 0 || since >= now)
    return;
  if (now - since > NODE_MAX_DEBT_NS)
    since = now - NODE_MAX_DEBT_NS;
  const uint64_t ns = now - since;
  const charge_t charge = {since, now, ns, ns, ns};
  const uint32_t device = atomic_load_explicit(&member->device, memory_order_relaxed);
  const account_t account = account_of(
      device < REGION_DEVICES ? &data->devices[device] : NULL,
      region_tenant(data, atomic_load_explicit(&member->tenant, memory_order_relaxed)), member);
  charge_clocks(&account, now, &charge);
  charge_usage(&account, &charge);
}

/* Dispatches that overlap others, ours or other processes', cost less than they take. Estimates are
 * of what is to be paid, or too little would be let in flight to keep the device busy. */
static void learn_part(rawhal_limiter_t *limiter, uint64_t charged, uint64_t wall)
{
  uint64_t part = LIMIT_WHOLE;
  if (charged < wall)
    part = (uint64_t)((unsigned __int128)charged * LIMIT_WHOLE / wall);
  limiter->charged_part = (uint32_t)((7 * (uint64_t)limiter->charged_part + part) / 8);
}

void limiter_charge(rawhal_limiter_t *limiter, uint64_t now)
{
  if (!limiter_owes(limiter))
    return;
  const account_t account = account_of(limiter->device, limiter->tenant, limiter->me);
  charge_t sum = {0};
  for (uint32_t i = 0; i < limiter->pending_count; ++i) {
    charge_t piece = charge_piece(limiter, &account, now, limiter->pending[i]);
    add_charge(&sum, &piece);
  }
  if (limiter->pending_count)
    charge_usage(&account, &sum);
  if (limiter->pending_wall_ns)
    learn_part(limiter, sum.tenant_ns, limiter->pending_wall_ns);
  limiter->pending_wall_ns = 0;
  flight_end_kind(&limiter->flight, FLIGHT_NS, limiter->pending_estimate_ns);
  limiter->pending_count = 0;
  limiter->pending_ns = 0;
  limiter->pending_estimate_ns = 0;
  atomic_store_explicit(&limiter->active_at, now, memory_order_relaxed);
  limiter_publish_open(limiter, now);
  limiter_signal(limiter);
}
