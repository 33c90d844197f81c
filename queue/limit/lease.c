/* Leases: what they hold in advance, and how they come and go. */
#include "queue/limit/lease.h"

#include "queue/limit/admit.h"
#include "queue/limit/complete.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- Credit ---- */

/* What of the process's flight `credit` is, whose time and submissions are counted elsewhere. */
static flight_t credit_flight(const credit_t *credit)
{
  flight_t flight = {{0}};
  for (int i = 0; i < CAPS; ++i)
    if (caps[i].credit < CREDIT_KINDS)
      flight.of[caps[i].kind] = credit->of[caps[i].credit] * caps[i].unit;
  return flight;
}

void lease_return_launches(limit_lease_t *lease, uint64_t launches)
{
  region_node_t *node = &lease->limiter->tenant->node;
  const uint64_t rate = node_load(&lease->rate);
  if (rate == RAWHAL_UNLIMITED || rate == 0 || launches == 0)
    return;
  uint64_t cost = launches * 1000000000u / rate, seen = node_load(&node->rate_tat), next;
  do
    next = seen > cost ? seen - cost : 0;
  while (!atomic_compare_exchange_weak_explicit(&node->rate_tat, &seen, next, memory_order_relaxed,
                                                memory_order_relaxed));
}

void lease_return_credit(limit_lease_t *lease)
{
  const uint64_t word = atomic_exchange(&lease->credit, 0);
  if (word == 0)
    return;
  credit_t credit;
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    credit.of[kind] = credit_amount(word, kind);
  flight_t flight = credit_flight(&credit);
  flight.of[FLIGHT_SUBMISSIONS] = credit.of[CREDIT_LAUNCHES];
  flight.of[FLIGHT_NS] = credit.of[CREDIT_NS];
  flight_undo(&lease->flight, &flight);
  flight_undo(&lease->limiter->flight, &flight);
  lease_return_launches(lease, credit.of[CREDIT_LAUNCHES]);
}

/* What it should get on top of what it has, as far as limits allow, if that will do for a few more
 * batches like the last, which was estimated to take `last_ns`; if not it is not worth taking.
 * `ns`: device time that it may hold. `members`: processes of the tenant. `room`: submissions that
 * may still go in flight. */
static bool lease_wants(const limit_lease_t *lease, uint64_t ns, uint32_t members, uint64_t room,
                        const flight_t *last, uint64_t last_ns, credit_t *more)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  const uint64_t have = atomic_load_explicit(&lease->credit, memory_order_relaxed);
  const uint64_t capped = atomic_load_explicit(&lease->capped, memory_order_relaxed);
  const uint64_t rate = node_load(&limiter->tenant->node.rate) / (1000000000u / LIMIT_LEASE_NS);
  const uint64_t slots = credit_amount(have, CREDIT_LAUNCHES) + room / (2ull * members);
  const uint64_t launches = least_u64(least_u64(LIMIT_LEASE_LAUNCHES, rate), slots);
  credit_t wanted = {{[CREDIT_NS] = ns}};
  credit_t uses = {{[CREDIT_NS] = last_ns / 2}}; /* twice is enough */
  for (int i = 0; i < CAPS; ++i) {
    const cap_t *cap = &caps[i];
    const uint64_t allowed = limiter_cap(limiter, cap->limit);
    const uint64_t there = flight_now(&limiter->flight, cap->kind);
    const uint64_t left = allowed > there ? (allowed - there) / 2 : 0; /* others may come */
    const bool launch = cap->credit == CREDIT_LAUNCHES;
    if (cap->credit == CREDIT_KINDS && allowed != RAWHAL_UNLIMITED)
      return false; /* what leases cannot hold must be asked for each time */
    if (cap->credit == CREDIT_KINDS || !(launch || capped & credit_mask(cap->credit)))
      continue;
    wanted.of[cap->credit] = least_u64(launch ? launches : credit_most(cap->credit),
                                       credit_amount(have, cap->credit) + left / cap->unit);
    uses.of[cap->credit] = last->of[cap->kind] / cap->unit;
  }
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind) {
    const uint64_t amount = credit_amount(have, kind);
    if (wanted.of[kind] / LIMIT_LEASE_USES < uses.of[kind])
      return false;
    more->of[kind] = wanted.of[kind] > amount ? wanted.of[kind] - amount : 0;
  }
  return true;
}

/* Gives it `more`, which has been taken from the levels above. False: another thread has filled it
 * meanwhile, and both do not fit. */
static bool lease_fill(limit_lease_t *lease, const credit_t *more)
{
  const flight_t flight = credit_flight(more);
  uint64_t have = atomic_load(&lease->credit), word = 0;
  bool fits = true;
  flight_add(&lease->flight, &flight);
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    word |= credit_word(kind, more->of[kind]);
  do
    for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
      fits &= more->of[kind] <= credit_most(kind) - credit_amount(have, kind);
  while (fits && !atomic_compare_exchange_weak(&lease->credit, &have, have + word));
  if (fits)
    limiter_count(lease->limiter, COUNTER_REFILLS, 1);
  else
    flight_undo(&lease->flight, &flight);
  return fits;
}

/* What a lease may hold in advance: submissions that every level has room for, and device time that
 * is small against each burst and against what others may hold. */
static void levels_room(const limit_lease_t *lease, const peers_t *peers, uint64_t *submissions,
                        uint64_t *ns)
{
  const levels_t levels = levels_of(lease, peers);
  *submissions = UINT64_MAX;
  *ns = LIMIT_LEASE_NS;
  for (int i = 0; i < LEVELS; ++i) {
    const level_t *at = &levels.of[i];
    const uint64_t share = node_load(&at->node->share), most = node_most_in_flight(share);
    const uint64_t there = flight_now(at->ours, FLIGHT_SUBMISSIONS) + at->others->submissions;
    const uint64_t left = most > there ? most - there : 0;
    const uint64_t part =
        node_device_time(share, node_burst(at->node)) / (4ull * peers->tenant_members);
    *submissions = left < *submissions ? left : *submissions;
    if (share < REGION_SHARE_ONE && part < *ns)
      *ns = part;
  }
}

void lease_refill(limit_lease_t *lease, uint64_t now, const flight_t *last, uint64_t last_ns,
                  peers_t *peers)
{
  rawhal_limiter_t *limiter = lease->limiter;
  credit_t more;
  refusal_t none;
  uint64_t submissions, ns;
  levels_room(lease, peers, &submissions, &ns);
  if (peers->others_wait ||
      !lease_wants(lease, ns, peers->tenant_members, submissions, last, last_ns, &more))
    return;
  const flight_t capped = credit_flight(&more);
  const uint64_t launches = more.of[CREDIT_LAUNCHES];
  const portion_t portion = {
      .flight = {{[FLIGHT_SUBMISSIONS] = launches, [FLIGHT_NS] = more.of[CREDIT_NS]}},
      .launches = launches,
      .whole = true};
  if (caps_reserve(limiter, &capped))
    return;
  if (lease_take(lease, now, &portion, &none, peers)) {
    if (lease_fill(lease, &more))
      return;
    lease_return_launches(lease, launches);
    lease_give_back(lease, &portion.flight);
  }
  flight_undo(&limiter->flight, &capped);
}

/* ---- Coming and going ---- */

void limiter_set_caps(const rawhal_limiter_t *limiter, limit_lease_t *lease)
{
  const uint64_t grid = limiter_cap(limiter, RAWHAL_LIMIT_GRID_WORKGROUPS);
  uint64_t capped = grid != RAWHAL_UNLIMITED ? LIMIT_CAPPED_GRID : 0;
  for (int i = 0; i < CAPS; ++i)
    if (caps[i].credit < CREDIT_KINDS && caps[i].credit != CREDIT_LAUNCHES &&
        limiter_cap(limiter, caps[i].limit) != RAWHAL_UNLIMITED)
      capped |= credit_mask(caps[i].credit);
  atomic_store(&lease->largest_grid, grid);
  atomic_store(&lease->capped, capped);
}

rawhal_status_t limit_lease_create(rawhal_limiter_t *limiter, const limit_queue_t *queue,
                                   uint64_t share, limit_lease_t **result, rawhal_error_t *error)
{
  *result = NULL;
  if (share != RAWHAL_UNLIMITED && share > 1000000)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a queue's share is %llu parts per million, at most 1000000",
                       (unsigned long long)share);
  limit_lease_t *lease =
      allocate_aligned(&limiter->allocator, sizeof(*lease), _Alignof(limit_lease_t));
  if (!lease)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a lease");
  memset(lease, 0, sizeof(*lease));
  lease->limiter = limiter;
  lease->current_epoch = &limiter->region.data->header.epoch;
  lease->estimates = &limiter->estimates;
  lease->shared = limiter->region.fd >= 0;
  atomic_store(&lease->epoch, atomic_load(lease->current_epoch)); /* before any limit is read */
  atomic_store(&lease->rate, node_load(&limiter->tenant->node.rate));
  atomic_store(&lease->node.share,
               share == RAWHAL_UNLIMITED ? REGION_NO_SHARE : (share << 32) / 1000000);
  atomic_store(&lease->node.rate, RAWHAL_UNLIMITED);
  atomic_store(&lease->node.burst, node_burst(&limiter->me->node));
  if (queue)
    lease->queue = *queue;
  pthread_mutex_lock(&limiter->leases_lock);
  limiter_set_caps(limiter, lease);
  pthread_mutex_lock(&limiter->lock);
  lease->next = limiter->leases;
  limiter->leases = lease;
  pthread_mutex_unlock(&limiter->lock);
  pthread_mutex_unlock(&limiter->leases_lock);
  *result = lease;
  return RAWHAL_OK;
}

void limit_lease_destroy(limit_lease_t *lease)
{
  if (!lease)
    return;
  rawhal_limiter_t *limiter = lease->limiter;
  pthread_mutex_lock(&limiter->leases_lock);
  pthread_mutex_lock(&limiter->lock);
  for (limit_lease_t **at = &limiter->leases; *at; at = &(*at)->next)
    if (*at == lease) {
      *at = lease->next;
      break;
    }
  pthread_mutex_unlock(&limiter->leases_lock);
  lease_end_all(lease);
  pthread_mutex_unlock(&limiter->lock);
  allocate_free(&limiter->allocator, lease);
}
