/* Admissions that wait. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_ADMIT_H
#define RAWHAL_QUEUE_LIMIT_ADMIT_H

#include "queue/limit/limiter.h"

/* A wait is counted when it is over. Who never sleeps here (limit_queue_t) asks again, and waits
 * from its first refusal on. */
void lease_refused(limit_lease_t *lease, uint64_t now);
void lease_admitted(limit_lease_t *lease);

#endif
