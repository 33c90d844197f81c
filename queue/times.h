/* When submissions ran, and what that costs. Internal. */
#ifndef RAWHAL_QUEUE_TIMES_H
#define RAWHAL_QUEUE_TIMES_H

#include "queue/charge.h"

enum { CHARGE_AT_ONCE = 32 };
/* The tickets from `first` on, and before `end`, have finished: CHARGE_AT_ONCE at most. The caller
 * holds drain_lock. */
void charge_finished(rawhal_queue_t *queue, uint64_t first, uint64_t end);
/* The device has let go of the queue at `at`: what has not finished is charged for as long as it
 * can have run. The caller holds drain_lock. */
void charge_rest(rawhal_queue_t *queue, uint64_t at);

#endif
