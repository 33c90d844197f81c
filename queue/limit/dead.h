/* Leaving a region, and clearing up after processes that died in it. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_DEAD_H
#define RAWHAL_QUEUE_LIMIT_DEAD_H

#include "queue/limit/limiter.h"

/* How often, together, processes that are held back look whether it is by the dead. */
#define LIMIT_LOOK_NS 10000000u

static inline void dead_set_state(region_member_t *member, uint64_t word, region_state_t state)
{
  atomic_store(&member->hot.state, (word & ~(uint64_t)0xff) | state);
}

/* Frees the slots of dead processes, but for one of the caller's own (REGION_NO_INDEX: it has
 * none). True when there was one. Other threads that share the region's locks are not here
 * meanwhile. */
bool dead_reclaim(const region_t *region, const identity_t *self, uint32_t own, uint64_t now);

/* The same of a limiter's region. */
bool limiter_reclaim(rawhal_limiter_t *limiter);

/* Gives back all that this process holds. Does not wait. */
void limiter_leave(rawhal_limiter_t *limiter);

/* For callers that are held back by what others have in flight: clears up after the dead, unless a
 * process has looked within LIMIT_LOOK_NS. True: there were some, so ask again at once. Else
 * `*again` is when to look again, whatever a clock says; UINT64_MAX when there is no other process
 * to die. Costs one system call for each live process, at most 100 times a second for all of them
 * together. */
bool limiter_look_for_dead(rawhal_limiter_t *limiter, uint64_t now, uint64_t *again);

#endif
