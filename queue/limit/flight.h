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
  FLIGHT_DISPATCHES,  /* from here on caps: admit.c */
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

#endif
