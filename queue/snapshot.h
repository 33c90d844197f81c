/* Core files of queues that live: somebody asked for one. Internal. */
#ifndef RAWHAL_QUEUE_SNAPSHOT_H
#define RAWHAL_QUEUE_SNAPSHOT_H

#include "queue/internal.h"

/* Writes one to a descriptor, which stays open; or with -1 as RAWHAL_CORE says, `said` gets what
 * dump_end() says. It has what that queue has in flight, if it is there, else the first that is at
 * work, else any. Queues are not made, destroyed or drained while it copies: see debug/dump.h.
 * `why`: what stands for the words of the device. NOT_FOUND: there is no queue, or no core file is
 * wanted. */
RAWHAL_CHECKED rawhal_status_t queues_dump(const dump_settings_t *cores,
                                           const rawhal_queue_t *queue, const char *why,
                                           int descriptor, char said[DUMP_SAID],
                                           rawhal_error_t *error);

#endif
