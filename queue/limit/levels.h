/* The four levels at which device time is limited, as one table: a queue's, its process's, that
 * one's tenant's and the device's. Whatever is asked of all of them walks it. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_LEVELS_H
#define RAWHAL_QUEUE_LIMIT_LEVELS_H

#include "queue/limit/node.h"
#include "queue/limit/peers.h"

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

/* May more go at every level, after all that is in flight but `mine`? */
bool levels_admit(const limit_lease_t *lease, uint64_t now, const flight_t *mine,
                  const peers_t *peers, refusal_t *refusal);

/* How many more submissions than its share allows a process may have in flight, because of what
 * has been running there for so long. */
uint64_t levels_stall_allowance(const limit_lease_t *lease, const peers_t *peers,
                                const region_node_t *node, uint64_t now);

/* What a lease may hold in advance: submissions that every level has room for, and device time that
 * is small against each burst and against what others may hold. */
void levels_room(const limit_lease_t *lease, const peers_t *peers, uint64_t *submissions,
                 uint64_t *ns);

/* False, of several reasons with the one that lasts longest. */
bool levels_refuse(refusal_t *refusal, region_level_t level, uint64_t retry, const char *what);

/* For how long what it says has been running. */
static inline uint64_t running_for(const _Atomic uint64_t *since, uint64_t now)
{
  const uint64_t at = node_load(since);
  return at && at < now ? now - at : 0;
}

#endif
