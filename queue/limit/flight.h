/* What is in flight, of a lease or of a process. Internal; header only.
 *
 * Threads that submit count without a lock, those that complete under the limiter's: each side has
 * words of its own, and what is in flight is the difference. So a completion, of which there are
 * many, costs no locked instruction, and a submitter never waits for one. */
#ifndef RAWHAL_QUEUE_LIMIT_FLIGHT_H
#define RAWHAL_QUEUE_LIMIT_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum flight_kind {
  FLIGHT_SUBMISSIONS, /* a batch is one; each launch of a lease's credit may become one */
  FLIGHT_DISPATCHES,  /* from here on caps: admit.h */
  FLIGHT_WORKGROUPS,  /* these two where they are capped, and whenever it costs nothing */
  FLIGHT_KERNARG_BYTES,
  FLIGHT_NS, /* from here on none; estimated, and of a process: not charged yet */
  FLIGHT_PROBES,
  FLIGHT_KINDS
} flight_kind_t;

typedef struct flight {
  uint64_t of[FLIGHT_KINDS];
} flight_t;

typedef struct flight_sum {
  _Atomic uint64_t added[FLIGHT_KINDS]; /* by any thread */
  _Atomic uint64_t ended[FLIGHT_KINDS]; /* changes under the limiter's lock */
} flight_sum_t;

/* What ended is read first: never less than there was. */
static inline uint64_t flight_now(const flight_sum_t *sum, flight_kind_t kind)
{
  uint64_t ended = atomic_load(&sum->ended[kind]);
  return atomic_load(&sum->added[kind]) - ended;
}

static inline void flight_add(flight_sum_t *sum, const flight_t *add)
{
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    if (add->of[kind])
      atomic_fetch_add(&sum->added[kind], add->of[kind]);
}

/* Takes back what was added and was never in flight. */
static inline void flight_undo(flight_sum_t *sum, const flight_t *added)
{
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    if (added->of[kind])
      atomic_fetch_sub(&sum->added[kind], added->of[kind]);
}

/* The caller holds the limiter's lock. */
static inline void flight_end_kind(flight_sum_t *sum, flight_kind_t kind, uint64_t amount)
{
  uint64_t before = atomic_load_explicit(&sum->ended[kind], memory_order_relaxed);
  atomic_store_explicit(&sum->ended[kind], before + amount, memory_order_release);
}

static inline void flight_end(flight_sum_t *sum, const flight_t *ended)
{
  for (int kind = 0; kind < FLIGHT_KINDS; ++kind)
    if (ended->of[kind])
      flight_end_kind(sum, (flight_kind_t)kind, ended->of[kind]);
}

/* Adds to one kind, unless there are then more than the cap allows, which may change: it is read
 * after what is in flight, or others might have filled a lower one meanwhile. */
static inline bool flight_reserve(flight_sum_t *sum, flight_kind_t kind, uint64_t amount,
                                  const _Atomic uint64_t *cap)
{
  uint64_t ended = atomic_load(&sum->ended[kind]), added = atomic_load(&sum->added[kind]);
  do {
    uint64_t allowed = atomic_load(cap);
    if (amount > allowed || added - ended > allowed - amount)
      return false;
  } while (!atomic_compare_exchange_weak(&sum->added[kind], &added, added + amount));
  return true;
}

#endif
