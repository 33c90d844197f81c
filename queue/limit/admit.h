/* What a decision asks, as one table each: the caps of what this process has in flight, and the
 * four levels at which device time is limited; taking it, and waiting for it. Internal to this
 * folder. */
#ifndef RAWHAL_QUEUE_LIMIT_ADMIT_H
#define RAWHAL_QUEUE_LIMIT_ADMIT_H

#include "queue/limit/node.h"
#include "queue/limit/peers.h"

/* ---- Caps ---- */

enum { CAPS = FLIGHT_NS - FLIGHT_DISPATCHES }; /* one for each kind between them */

typedef struct cap {
  rawhal_limit_t limit;
  flight_kind_t kind;
  const char *what;
  credit_kind_t credit; /* of what leases spend for it; CREDIT_KINDS: they hold nothing of it */
  uint64_t unit;        /* of the flight, in the credit */
} cap_t;

extern const cap_t caps[CAPS];

/* QUOTA_EXCEEDED: what is asked for would never be admitted. Counted as a refusal for good. */
RAWHAL_CHECKED rawhal_status_t caps_check(limit_lease_t *lease, const limit_cost_t *cost,
                                          rawhal_error_t *error);

/* Counts what is capped in flight of the process, and answers NULL; or counts nothing, and answers
 * what there would be too much of. Needs no lock: flight_undo() takes it back. */
const char *caps_reserve(rawhal_limiter_t *limiter, const flight_t *flight);

/* Where a batch finds no room, leases give back what they have not spent, so that no batch waits
 * for that. The caller holds the lock, or gives back what one lease holds alone. */
void caps_make_room(rawhal_limiter_t *limiter, limit_lease_t *only, const limit_cost_t *cost);

/* ---- Levels: a queue's, its process's, that one's tenant's and the device's ---- */

enum { LEVELS = 4 };

typedef struct level {
  region_level_t level;
  rawhal_limit_t share; /* LIMIT_COUNT: the queue's, which is not configured */
  const char *what;
  const region_node_t *node;
  const flight_sum_t *ours;      /* what of this process is in flight there, */
  const _Atomic uint64_t *since; /* and has been running */
  const node_flight_t *others;
} level_t;

typedef struct levels {
  level_t of[LEVELS];
} levels_t;

/* Why a batch does not go yet. */
typedef struct refusal {
  region_level_t level; /* LEVEL_NONE: it was not refused */
  uint64_t retry;       /* 0: when something changes */
  const char *what;
  bool suspended;
} refusal_t;

/* `peers` NULL: without what others have in flight. */
levels_t levels_of(const limit_lease_t *lease, const peers_t *peers);

/* ---- Asking ---- */

/* What is to be taken from the levels. */
typedef struct portion {
  flight_t flight; /* submissions and ns */
  uint64_t launches;
  bool probe; /* a first run, which is in flight already */
  bool whole; /* all of it must fit; else all but one submission must be paid for */
} portion_t;

/* Takes a portion from all levels, or nothing. */
bool lease_take(limit_lease_t *lease, uint64_t now, const portion_t *mine, refusal_t *refusal,
                peers_t *peers);
/* Pays for dispatches of the tenant's rate, by a clock as a level's, in advance; 0 of them: it only
 * asks. */
bool lease_take_launches(limit_lease_t *lease, uint64_t now, uint64_t launches, uint64_t *retry);
void lease_give_back(limit_lease_t *lease, const flight_t *flight);

/* Takes all of a batch and fills the lease, or takes nothing and says who refused. Without the
 * lock, kernels never measured are refused where a level has a share: their first run is what
 * others have to learn from. What has finished and is not charged yet counts as in flight, as it
 * was estimated and for as long as it may have run: where it is known to have ended more may be
 * admitted, never less. */
bool lease_attempt(limit_lease_t *lease, const limit_cost_t *cost, uint64_t now, bool locked,
                   limit_grant_t *grant, refusal_t *refusal);

/* What others are told of what is in flight here, without the lock: how much, and that something
 * runs now, if nothing did. */
void limiter_publish_load(rawhal_limiter_t *limiter);
void limiter_publish_start(rawhal_limiter_t *limiter, uint64_t now);

/* ---- Waiting ---- */

/* limit_admit_slow()'s way with the lock, until the deadline. */
RAWHAL_CHECKED rawhal_status_t admit_in_turn(limit_lease_t *lease, const limit_cost_t *cost,
                                             uint64_t deadline, limit_grant_t *grant,
                                             rawhal_error_t *error);

/* Tells others that we wait, and for what; or that no thread here does. */
void publish_wait(rawhal_limiter_t *limiter, uint64_t now, const refusal_t *refusal,
                  uint64_t until);

/* A wait is counted when it is over. Who never sleeps here (limit_queue_t) asks again, and waits
 * from its first refusal on: until it is admitted. */
void limiter_count_wait(rawhal_limiter_t *limiter, uint64_t ns);
void lease_admitted(limit_lease_t *lease);

#endif
