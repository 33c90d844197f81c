/* One process's side of a region. Internal to this folder.
 *
 * Locks, in the order in which they may be taken: leases_lock, a queue's own lock (in `reap`),
 * lock, memory_lock; structure_lock is never held together with others. None is ever held by a
 * process that waits for another. */
#ifndef RAWHAL_QUEUE_LIMIT_LIMITER_H
#define RAWHAL_QUEUE_LIMIT_LIMITER_H

#include "queue/limit/admission.h"
#include "queue/limit/clock.h"
#include "queue/limit/damage.h"
#include "queue/limit/overlap.h"

#include <pthread.h>
#include <sched.h>

enum {
  LIMIT_PENDING = 2 * INTERVALS_PIECES,
  LIMIT_LEASE_LAUNCHES = 4096, /* at most, of a lease */
  LIMIT_LEASE_USES = 4,        /* dispatches like the last that a lease must be good for */
  LIMIT_WHOLE = 1 << 16,
  LIMIT_YIELDS = 100, /* to a thread that was preempted; then naps of 100 us: */
  LIMIT_NAPS = 1000,
};

#define LIMIT_LEASE_NS     1000000u    /* at most, of a lease */
#define LIMIT_CHARGE_NS    100000u     /* finished and not charged yet, at most */
#define LIMIT_UNKNOWN_NS   20000u      /* assumed of what was never measured */
#define LIMIT_TURN_NS      1000000u    /* of device time that one may be served more than another */
#define LIMIT_DEFICIT_NS   1000000000u /* and less, by not having asked for it */
#define LIMIT_IDLE_NS      10000000u   /* after which one that comes back starts where others are */
#define LIMIT_GRACE_NS     200000u     /* in which one that had work is taken to have more */
#define LIMIT_AGEING_NS    100000000u  /* of waiting make up for one priority */
#define LIMIT_LATE_NS      2000000u    /* a waiter may be this late and still go first */
#define LIMIT_POLL_NS      5000000u    /* when only an event can help, and events may be lost */
#define LIMIT_NAP_NS       1000000000u /* asleep at a stretch: the region may have been damaged */
#define LIMIT_STALL_NS     500000000u  /* see levels_stall_allowance() */
#define LIMIT_STALE_NS     1000000000u /* other tenants wait no longer for what runs */
#define LIMIT_SUSPENDED_NS 100000000u  /* between looks whether the operator has resumed us */

struct rawhal_limiter {
  allocator_t allocator;
  region_t region;
  uint32_t slot;
  region_device_t *device;
  region_tenant_t *tenant;
  region_member_t *me;
  const limit_clock_t *clock;
  uint32_t device_index, tenant_index;
  identity_t self;
  char device_name[REGION_DEVICE_NAME], tenant_name[REGION_TENANT_NAME]; /* as in the region */

  _Atomic uint64_t caps[LIMIT_COUNT];       /* this process's own, where they are used */
  rawhal_limit_value_t bounds[LIMIT_COUNT]; /* what was said from outside */

  flight_sum_t flight;        /* of all leases; region_hot_t.load is for others */
  _Atomic uint32_t waiting;   /* threads asleep */
  _Atomic uint32_t unlocked;  /* threads that admit without the lock now */
  atomic_bool locked;         /* one admits with it: others are not to begin without */
  _Atomic uint64_t active_at; /* last admission or charge */
  _Atomic uint64_t probe_keys[LIMIT_UNKNOWN_KEYS]; /* what the first run in flight is of */

  pthread_mutex_t lock;
  interval_set_t paid;
  interval_t pending[LIMIT_PENDING]; /* finished, not charged */
  uint32_t pending_count;
  uint64_t pending_ns, pending_estimate_ns, pending_wall_ns;
  uint32_t charged_part; /* of dispatches' times, lately; of LIMIT_WHOLE: see learn_part() */
  int64_t clock_offset;  /* CLOCK_MONOTONIC minus the device's clock; 0 until it is known */
  uint64_t clock_offset_at;
  overlaps_t overlaps; /* of the time that is being charged */

  damage_watch_t damage;

  pthread_mutex_t leases_lock;
  limit_lease_t *leases; /* changes under leases_lock and lock: either will do to read */
  pthread_mutex_t structure_lock;
  atomic_flag memory_lock; /* held for a few stores: see memory_lock() */
  estimates_t estimates;
};

/* Opens a limiter: joins a region. `clock` NULL: the machine's; `allocator` is copied. */
RAWHAL_CHECKED rawhal_status_t limiter_open(const rawhal_limit_config_t *config, const char *device,
                                            const limit_clock_t *clock,
                                            const allocator_t *allocator,
                                            rawhal_limiter_t **limiter, rawhal_error_t *error);

static inline uint64_t limiter_now(const rawhal_limiter_t *limiter)
{
  return limiter->clock->now(limiter->clock->context);
}

static inline uint64_t limiter_cap(const rawhal_limiter_t *limiter, rawhal_limit_t limit)
{
  return atomic_load_explicit(&limiter->caps[limit], memory_order_relaxed);
}

static inline void limiter_count(rawhal_limiter_t *limiter, region_counter_t counter, uint64_t add)
{
  atomic_fetch_add_explicit(&limiter->me->counters[counter], add, memory_order_relaxed);
}

/* A mutex would cost more than what it protects. */
static inline void memory_lock(rawhal_limiter_t *limiter)
{
  while (atomic_flag_test_and_set_explicit(&limiter->memory_lock, memory_order_acquire))
    sched_yield();
}

static inline void memory_unlock(rawhal_limiter_t *limiter)
{
  atomic_flag_clear_explicit(&limiter->memory_lock, memory_order_release);
}

/* Launches admitted and not completed. Credit is counted before it is given, and taken before it is
 * counted no more: without the lock there may seem to be more, never less. */
static inline uint64_t lease_in_flight(const limit_lease_t *lease)
{
  uint64_t credit, launches;
  do {
    credit = atomic_load(&lease->credit);
    launches = flight_now(&lease->flight, FLIGHT_DISPATCHES);
  } while (atomic_load(&lease->credit) != credit);
  return launches - credit_amount(credit, CREDIT_LAUNCHES);
}

#endif
