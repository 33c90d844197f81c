/* What others see of the program, and what they may ask: the front's side of debug/door/. Internal.
 *
 *     RAWHAL_DOOR  as debug/door/door.h reads it. Unset, others see of what the front knows anyway;
 *                  with any word but off, code, memory and queues are watched for it, and queues
 *                  have proxies, so that submissions are seen
 *
 * Where something comes and goes it is told by debug/door/tell.h, and what stands in the shared
 * memory for it is kept with what the front has of it. There are no subscribers here, and so it may
 * be told under locks.
 *
 * Thread-safety: as load.c calls them, but for what is told. */
#ifndef RAWHAL_FRONT_DOOR_H
#define RAWHAL_FRONT_DOOR_H

#include "front/front.h"

#include "debug/door/tell.h"

struct proxy;

/* Reads the environment and sets front.shown. INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t front_door_open(rawhal_error_t *error);
/* When the hooks are about to be there. */
void front_door_begin(void);
/* Nobody is answered any more. */
void front_door_end(void);

/* A queue of the device's, whichever the program has in its place. */
tell_entry_t front_door_queue(const front_device_t *device, const hsa_queue_t *queue);
void front_door_queue_gone(tell_entry_t entry, uint64_t queue_id);

/* So many of the program's packets have just gone as one; `alone`: behind the first there is no
 * barrier of ours. The caller holds the proxy's lock, and asks tell_wants() before. */
void front_door_submitted(const struct proxy *proxy, uint64_t ticket, uint32_t count, bool alone);
/* What was held back from proxy->held_at on goes. The caller holds the lock. */
void front_door_admitted(struct proxy *proxy);
/* All of it has ended, likewise. */
void front_door_ended(const struct proxy *proxy, uint64_t ticket);
void front_door_fault(const rawhal_fault_t *fault);
void front_door_dump(uint64_t queue_id, const char *said);

#endif
