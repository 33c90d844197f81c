/* Core files of queues that live: somebody asked for one. Internal. */
#ifndef RAWHAL_QUEUE_SNAPSHOT_H
#define RAWHAL_QUEUE_SNAPSHOT_H

#include "queue/internal.h"

/* Writes one to a descriptor, which stays open: with what the first queue that is at work has in
 * flight, else with any queue. Queues are not made, destroyed or drained while it copies: see
 * debug/dump.h. NOT_FOUND: there is no queue. */
RAWHAL_CHECKED rawhal_status_t queues_dump(int descriptor, rawhal_error_t *error);

#endif
