/* Leases: what they hold in advance, and how they come and go. */
#include "queue/limit/limiter.h"
#include "queue/limit/node.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- Credit ---- */

flight_t credit_flight(const credit_t *credit)
{
  return (flight_t){{[FLIGHT_DISPATCHES] = credit->of[CREDIT_LAUNCHES],
                     [FLIGHT_WORKGROUPS] = credit->of[CREDIT_WORKGROUPS],
                     [FLIGHT_KERNARG_BYTES] = credit->of[CREDIT_BLOCKS] * CREDIT_BLOCK_BYTES}};
}

static credit_t credit_unpack(uint64_t word)
{
  credit_t credit;
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    credit.of[kind] = credit_amount(word, kind);
  return credit;
}

void limiter_return_credit(rawhal_limiter_t *limiter, limit_lease_t *lease)
{
  uint64_t word = atomic_exchange(&lease->credit, 0);
  if (word == 0)
    return;
  credit_t credit = credit_unpack(word);
  flight_t flight = credit_flight(&credit);
  flight.of[FLIGHT_SUBMISSIONS] = credit.of[CREDIT_LAUNCHES];
  flight.of[FLIGHT_NS] = credit.of[CREDIT_NS];
  flight_undo(&lease->flight, &flight);
  flight_undo(&limiter->flight, &flight);
  node_rate_return(&limiter->tenant->node, node_load(&lease->rate), credit.of[CREDIT_LAUNCHES]);
}

/* A lease's size: small against each burst, and against the others that may hold one. */
static uint64_t lease_size(const limit_lease_t *lease, uint32_t members)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  const region_node_t *const nodes[] = {&lease->node, &limiter->me->node, &limiter->tenant->node,
                                        &limiter->device->node};
  uint64_t size = LIMIT_LEASE_NS;
  for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); ++i) {
    uint64_t share = node_load(&nodes[i]->share);
    uint64_t part = share < REGION_SHARE_ONE
                        ? node_device_time(share, node_burst(nodes[i])) / (4ull * members)
                        : size;
    size = part < size ? part : size;
  }
  return size;
}

/* What is left below a cap, by half: others may come. */
static uint64_t headroom(const rawhal_limiter_t *limiter, rawhal_limit_t limit, flight_kind_t kind)
{
  uint64_t allowed = limiter_cap(limiter, limit), in_flight = flight_now(&limiter->flight, kind);
  return allowed > in_flight ? (allowed - in_flight) / 2 : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* What the lease should hold, as far as limits allow, with `have` in it. */
static credit_t credit_wanted(const limit_lease_t *lease, const credit_t *have, uint32_t members,
                              uint64_t slots)
{
  const rawhal_limiter_t *limiter = lease->limiter;
  uint64_t rate = node_load(&limiter->tenant->node.rate);
  uint64_t launches = least_of(LIMIT_LEASE_LAUNCHES, rate / (1000000000u / LIMIT_LEASE_NS));
  launches = least_of(launches, have->of[CREDIT_LAUNCHES] + slots / (2ull * members));
  uint64_t room = headroom(limiter, RAWHAL_LIMIT_DISPATCHES_IN_FLIGHT, FLIGHT_DISPATCHES);
  credit_t wanted = {{[CREDIT_NS] = lease_size(lease, members),
                      [CREDIT_LAUNCHES] = least_of(launches, have->of[CREDIT_LAUNCHES] + room)}};
  uint64_t capped = atomic_load_explicit(&lease->capped, memory_order_relaxed);
  if (capped & credit_mask(CREDIT_WORKGROUPS)) {
    room = headroom(limiter, RAWHAL_LIMIT_WORKGROUPS_IN_FLIGHT, FLIGHT_WORKGROUPS);
    wanted.of[CREDIT_WORKGROUPS] =
        least_of(credit_most(CREDIT_WORKGROUPS), have->of[CREDIT_WORKGROUPS] + room);
  }
  if (capped & credit_mask(CREDIT_BLOCKS)) {
    room = headroom(limiter, RAWHAL_LIMIT_KERNARG_IN_FLIGHT, FLIGHT_KERNARG_BYTES);
    wanted.of[CREDIT_BLOCKS] =
        least_of(credit_most(CREDIT_BLOCKS), have->of[CREDIT_BLOCKS] + room / CREDIT_BLOCK_BYTES);
  }
  return wanted;
}

/* Would a lease of that do for a few more batches like the last? If not it is not worth taking. */
static bool worthwhile(const limit_lease_t *lease, const credit_t *wanted, const limit_cost_t *last,
                       uint64_t last_ns)
{
  uint64_t capped = atomic_load_explicit(&lease->capped, memory_order_relaxed);
  const uint64_t uses[CREDIT_KINDS] = {
      [CREDIT_NS] = last_ns / 2, /* twice is enough */
      [CREDIT_LAUNCHES] = last->launches,
      [CREDIT_WORKGROUPS] = capped & credit_mask(CREDIT_WORKGROUPS) ? last->workgroups : 0,
      [CREDIT_BLOCKS] =
          capped & credit_mask(CREDIT_BLOCKS) ? last->kernarg_bytes / CREDIT_BLOCK_BYTES : 0,
  };
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    if (wanted->of[kind] / LIMIT_LEASE_USES < uses[kind])
      return false;
  return true;
}

bool lease_wants(const limit_lease_t *lease, uint32_t members, uint64_t room,
                 const limit_cost_t *last, uint64_t last_ns, credit_t *more)
{
  credit_t have = credit_unpack(atomic_load_explicit(&lease->credit, memory_order_relaxed));
  *more = credit_wanted(lease, &have, members, room);
  if (!worthwhile(lease, more, last, last_ns))
    return false;
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    more->of[kind] = more->of[kind] > have.of[kind] ? more->of[kind] - have.of[kind] : 0;
  return true;
}

/* False: another thread has filled the lease meanwhile, and both do not fit. */
static bool give(limit_lease_t *lease, const credit_t *more)
{
  uint64_t have = atomic_load(&lease->credit), word = 0;
  for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
    word |= credit_word(kind, more->of[kind]);
  do
    for (credit_kind_t kind = 0; kind < CREDIT_KINDS; ++kind)
      if (more->of[kind] > credit_most(kind) - credit_amount(have, kind))
        return false;
  while (!atomic_compare_exchange_weak(&lease->credit, &have, have + word));
  return true;
}

bool lease_fill(limit_lease_t *lease, const credit_t *more)
{
  flight_t flight = credit_flight(more);
  flight_add(&lease->flight, &flight);
  if (!give(lease, more)) {
    flight_undo(&lease->flight, &flight);
    return false;
  }
  limiter_count(lease->limiter, COUNTER_REFILLS, 1);
  return true;
}

/* ---- Coming and going ---- */

rawhal_status_t limit_lease_create(rawhal_limiter_t *limiter, const limit_queue_t *queue,
                                   uint64_t share, limit_lease_t **result, rawhal_error_t *error)
{
  *result = NULL;
  if (share != RAWHAL_UNLIMITED && share > 1000000)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a queue's share of %llu parts per million is more than all",
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
  limiter_return_credit(limiter, lease);
  uint64_t now = limiter_now(limiter);
  if (lease_in_flight(lease))
    limiter_charge_running(limiter, lease, now, now);
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    flight_end_kind(&limiter->flight, (flight_kind_t)kind,
                    flight_now(&lease->flight, (flight_kind_t)kind));
  limiter_charge(limiter, now);
  limiter_publish_open(limiter, now);
  limiter_signal(limiter);
  pthread_mutex_unlock(&limiter->lock);
  allocate_free(&limiter->allocator, lease);
}
