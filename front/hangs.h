/* Queues of the program's that do not get on: RAWHAL_WATCHDOG, as queue/watchdog.h reads it.
 *
 * It needs to see when each dispatch ends, and so queues have proxies. What is held back waits for
 * its turn and does not hang; nor does what waits for that, or for a queue that gets on.
 *
 * Thread-safety: as load.c calls them. */
#ifndef RAWHAL_FRONT_HANGS_H
#define RAWHAL_FRONT_HANGS_H

#include "front/front.h"

struct proxy;

/* Reads the environment and sets front.hangs. INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t hangs_open(rawhal_error_t *error);
void hangs_hooks(front_calls_t *hooks);
/* When the hooks are there: starts the thread. */
void hangs_begin(void);
/* Ends it. */
void hangs_end(void);
void hangs_abandon(void);

/* For observers, whether or not anybody looks for hangs: what is in flight, and what it waits for,
 * a queue a line. */
void hangs_why(char *text, size_t size);
/* The oldest packet of the device's ring that has not ended. False: nothing is in flight. */
bool hangs_oldest(struct proxy *proxy, uint64_t *packet);

#endif
