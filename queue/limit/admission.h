/* What queues ask of limits. Internal. Others use nothing else of this folder but
 * opening.h, memory.h, config.h, only_copy.h and parse.h.
 *
 *     limit_lease_create                        with the queue
 *       limit_cost_add                          for each dispatch of a batch
 *       limit_admit   -> a grant                before anything of the queue is reserved
 *         limit_cancel                          when the batch is not submitted after all
 *         limit_complete(_all)                  when it has finished, with its device times
 *         limit_end                             when it ended otherwise
 *     limit_lease_destroy                       after the queue's last dispatch
 *
 * A lease holds device time, launches and room below the caps that its limiter has taken in
 * advance; admission spends them with one compare-and-swap and looks no further. Without a limiter,
 * leases are NULL and cost one comparison.
 *
 * Thread-safety: everything may be called from any thread; limit_admit may sleep, and calls the
 * lease's `reap`. */
#ifndef RAWHAL_QUEUE_LIMIT_ADMISSION_H
#define RAWHAL_QUEUE_LIMIT_ADMISSION_H

#include "base/allocate.h"
#include "queue/limit/credit.h"
#include "queue/limit/estimate.h"
#include "queue/limit/flight.h"
#include "queue/limit/region.h"

typedef struct limit_lease limit_lease_t;

enum { LIMIT_UNKNOWN_KEYS = 4 };

/* What a batch will take: from zeros, by limit_cost_add(). */
typedef struct limit_cost {
  uint64_t key;         /* of its dispatches, when they all have the same; else 0 */
  uint64_t estimate_ns; /* of those that are known */
  uint64_t workgroups, largest_grid, kernarg_bytes;
  uint32_t launches;
  uint32_t units;   /* estimates that were added up: one for each limit_cost_add() */
  uint32_t unknown; /* those never measured before; the first few of them: */
  uint64_t unknown_keys[LIMIT_UNKNOWN_KEYS];
} limit_cost_t;

/* What was admitted; kept by the caller until limit_complete() or limit_cancel(). */
typedef struct limit_grant {
  uint64_t key, estimate_ns;
  uint64_t admitted_at; /* CLOCK_MONOTONIC ns; 0: not looked at */
  uint32_t launches, units;
  uint32_t submissions : 31;          /* as which it counts in flight */
  bool probe : 1;                     /* the one submission of unknown length in flight */
  uint64_t workgroups, kernarg_bytes; /* as counted in flight; 0: not counted */
} limit_grant_t;

/* How the limiter reaches a queue. Either may be NULL. */
typedef struct limit_queue {
  void *context;
  /* Calls limit_complete() for everything that has finished. */
  void (*reap)(void *context);
  /* Sleeps until the oldest submission in flight has finished, or until that time; may return
   * early. */
  void (*sleep)(void *context, uint64_t until);
} limit_queue_t;

struct limit_lease {
  _Alignas(64) _Atomic uint64_t credit; /* credit.h */
  _Atomic uint64_t epoch;               /* of the limits the credit was given under */
  rawhal_limiter_t *limiter;
  const _Atomic uint64_t *current_epoch;
  estimates_t *estimates;
  bool shared;                      /* its limiter's region has room for other processes */
  _Atomic uint64_t capped;          /* credit_mask() of what is spent for each dispatch, because it
                                    is capped in flight; LIMIT_CAPPED_GRID */
  _Atomic uint64_t largest_grid;    /* work-groups a dispatch may have */
  _Alignas(64) flight_sum_t flight; /* what is in flight or in the credit */
  _Atomic uint64_t busy_since; /* CLOCK_MONOTONIC ns: the oldest in flight has been running since */
  _Atomic uint64_t rate;       /* dispatches a second, at which its launches were paid for */
  _Atomic uint64_t retry_at;
  _Atomic uint64_t refused_at; /* CLOCK_MONOTONIC ns, of who asks again until it is admitted; 0 */
  /* Under the limiter's lock: */
  region_node_t node; /* the queue's own clock */
  limit_queue_t queue;
  limit_lease_t *next;
};

#define LIMIT_CAPPED_GRID ((uint64_t)1 << 63) /* no part of any credit */

/* `share`: the queue's own limit in parts per million, or RAWHAL_UNLIMITED. */
RAWHAL_CHECKED rawhal_status_t limit_lease_create(rawhal_limiter_t *limiter,
                                                  const limit_queue_t *queue, uint64_t share,
                                                  limit_lease_t **lease, rawhal_error_t *error);
/* What is still in flight ends now: see limit_end(). NULL is allowed. */
void limit_lease_destroy(limit_lease_t *lease);

/* What a dispatch, or the launch of a graph as a whole, takes. */
typedef struct limit_shape {
  uint64_t key; /* what it is estimated as, not 0 for one */
  uint64_t workgroups, largest_grid, kernarg_bytes;
  uint32_t launches;
} limit_shape_t;

/* `ns`: what estimate_find() has of it. */
static inline void limit_cost_add(limit_cost_t *cost, const limit_shape_t *shape, uint64_t ns)
{
  uint64_t key = shape->key;
  if (ns == 0 && cost->unknown++ < LIMIT_UNKNOWN_KEYS)
    cost->unknown_keys[cost->unknown - 1] = key;
  cost->key = cost->units++ == 0 || cost->key == key ? key : 0;
  cost->estimate_ns += ns;
  if (__builtin_add_overflow(cost->workgroups, shape->workgroups, &cost->workgroups))
    cost->workgroups = UINT64_MAX;
  if (shape->largest_grid > cost->largest_grid)
    cost->largest_grid = shape->largest_grid;
  cost->kernarg_bytes += shape->kernarg_bytes;
  cost->launches += shape->launches;
}

/* limit_admit()'s way when the lease is used up or limits must be looked at. */
RAWHAL_CHECKED rawhal_status_t limit_admit_slow(limit_lease_t *lease, const limit_cost_t *cost,
                                                uint64_t deadline, limit_grant_t *grant,
                                                rawhal_error_t *error);

/* Spends from the lease, if its credit and the caps of single dispatches allow. */
static inline bool limit_admit_fast(limit_lease_t *lease, const limit_shape_t *shape, uint64_t ns,
                                    uint32_t units, limit_grant_t *grant)
{
  if (atomic_load_explicit(lease->current_epoch, memory_order_relaxed) !=
          atomic_load_explicit(&lease->epoch, memory_order_relaxed) ||
      ns > credit_most(CREDIT_NS) || shape->launches > credit_most(CREDIT_LAUNCHES))
    return false;
  uint64_t asked = credit_word(CREDIT_NS, ns) | credit_word(CREDIT_LAUNCHES, shape->launches);
  uint64_t capped = atomic_load_explicit(&lease->capped, memory_order_relaxed);
  uint64_t workgroups = 0, blocks = 0; /* none where they are not capped */
  if (capped) {
    workgroups = capped & credit_mask(CREDIT_WORKGROUPS) ? shape->workgroups : 0;
    blocks = capped & credit_mask(CREDIT_BLOCKS) ? shape->kernarg_bytes / CREDIT_BLOCK_BYTES : 0;
    if (workgroups > credit_most(CREDIT_WORKGROUPS) || blocks > credit_most(CREDIT_BLOCKS) ||
        shape->largest_grid > atomic_load_explicit(&lease->largest_grid, memory_order_relaxed))
      return false;
    asked |= credit_word(CREDIT_WORKGROUPS, workgroups) | credit_word(CREDIT_BLOCKS, blocks);
  }
  if (!credit_spend(&lease->credit, asked))
    return false;
  grant->key = shape->key; /* one by one: to make it of zeros first would mean to copy it, too */
  grant->estimate_ns = ns;
  grant->admitted_at = 0;
  grant->launches = shape->launches;
  grant->units = units;
  grant->submissions = shape->launches & INT32_MAX;
  grant->probe = false;
  grant->workgroups = workgroups;
  grant->kernarg_bytes = blocks * CREDIT_BLOCK_BYTES;
  return true;
}

/* Admits a batch as a whole. Deadlines as in queue.h. WOULD_BLOCK, TIMED_OUT: not now;
 * limit_retry_at() tells when. QUOTA_EXCEEDED: never, with these limits. */
RAWHAL_CHECKED static inline rawhal_status_t limit_admit(limit_lease_t *lease,
                                                         const limit_cost_t *cost,
                                                         uint64_t deadline, limit_grant_t *grant,
                                                         rawhal_error_t *error)
{
  limit_shape_t whole = {cost->key, cost->workgroups, cost->largest_grid, cost->kernarg_bytes,
                         cost->launches};
  if (__builtin_expect(cost->unknown == 0 &&
                           limit_admit_fast(lease, &whole, cost->estimate_ns, cost->units, grant),
                       1))
    return RAWHAL_OK;
  return limit_admit_slow(lease, cost, deadline, grant, error);
}

/* The same for one dispatch or launch of a graph, without adding up. */
RAWHAL_CHECKED static inline rawhal_status_t
limit_admit_one(limit_lease_t *lease, const limit_shape_t *shape, uint64_t deadline,
                limit_grant_t *grant, rawhal_error_t *error)
{
  uint64_t ns = estimate_find(lease->estimates, shape->key);
  if (__builtin_expect(ns && limit_admit_fast(lease, shape, ns, 1, grant), 1))
    return RAWHAL_OK;
  limit_cost_t cost = {0};
  limit_cost_add(&cost, shape, ns);
  return limit_admit_slow(lease, &cost, deadline, grant, error);
}

/* The same for what other submissions of the process may wait for that are in flight already, as a
 * kernel after a barrier waits for a copy: those that it must wait for would never end. What is in
 * flight is not looked at, only whether what was used is paid for; so a level may exceed its share
 * by as many as the caller lets in flight at once. False: limit_retry_at() tells when. */
bool limit_admit_ahead(limit_lease_t *lease, const limit_shape_t *shape, limit_grant_t *grant);
/* Of one dispatch, where nothing else is limited and so nothing is admitted: QUOTA_EXCEEDED. */
RAWHAL_CHECKED rawhal_status_t limit_refuse_grid(limit_lease_t *lease, uint64_t workgroups,
                                                 rawhal_error_t *error);
RAWHAL_CHECKED static inline rawhal_status_t
limit_check_grid(limit_lease_t *lease, uint64_t workgroups, rawhal_error_t *error)
{
  if (__builtin_expect(
          workgroups <= atomic_load_explicit(&lease->largest_grid, memory_order_relaxed), 1))
    return RAWHAL_OK;
  return limit_refuse_grid(lease, workgroups, error);
}
/* When what the process has in flight will be paid for, if it takes as long as was estimated:
 * CLOCK_MONOTONIC ns, 0 without a share. What others have in flight may put that off. */
uint64_t limit_expects_at(const limit_lease_t *lease);
/* Has the process anything in flight? */
bool limit_has_flight(const limit_lease_t *lease);

/* May other processes wait for what this one has in flight? Those that join later, too. */
static inline bool limit_is_shared(const limit_lease_t *lease)
{
  return lease->shared;
}

/* The least of its levels' shares, of 2^32, which is also that of those that are not limited. */
uint64_t limit_least_share(const limit_lease_t *lease);

/* After WOULD_BLOCK: CLOCK_MONOTONIC ns before which asking again is useless. */
static inline uint64_t limit_retry_at(const limit_lease_t *lease)
{
  return atomic_load_explicit(&lease->retry_at, memory_order_relaxed);
}

/* The submission ran from `start` to `end`, in the device's ns. `start` 0: it may have begun when
 * the lease's last one had ended, or when it was admitted. Both 0, or end <= start: the device did
 * not tell, and the host's time since then is charged. Calls for one lease must not overlap. */
void limit_complete(limit_lease_t *lease, const limit_grant_t *grant, uint64_t start, uint64_t end);
/* The same for several, in the order in which they were admitted, for little more than one. */
typedef struct limit_completion {
  const limit_grant_t *grant;
  uint64_t start, end;
} limit_completion_t;
void limit_complete_all(limit_lease_t *lease, const limit_completion_t *which, size_t count);
/* The submission ended otherwise, at CLOCK_MONOTONIC `at`: by a fault, or with its queue. All of
 * the time in which the lease had something in flight, and which is not charged yet, is. */
void limit_end(limit_lease_t *lease, const limit_grant_t *grant, uint64_t at);
/* The submission never reached the device. */
void limit_cancel(limit_lease_t *lease, const limit_grant_t *grant);

#endif
