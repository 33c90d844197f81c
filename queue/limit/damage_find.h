/* Finding damage. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_DAMAGE_FIND_H
#define RAWHAL_QUEUE_LIMIT_DAMAGE_FIND_H

#include "queue/limit/limiter.h"

enum { DAMAGE_REPAIRS = 100 };

/* Looks at all that decides what this process gets, and puts rules right. The caller holds the
 * limiter's lock. */
damage_finding_t damage_find(rawhal_limiter_t *limiter, uint64_t now);

/* What is to be compared with the next time, and to be kept when there is damage. */
void damage_remember(rawhal_limiter_t *limiter, uint64_t now);

#endif
