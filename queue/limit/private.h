/* What limiters owe when they are closed, where nothing else remembers it. Internal.
 *
 * The clocks of tenants and devices in a region outlive the processes that leave it. A process's
 * own would be gone with its limiter, as would all of them without a region, and opening another
 * would cancel any debt: so they are kept, by the name of the device, for as long as the process
 * lives. A process is one, whatever tenant it says it is. */
#ifndef RAWHAL_QUEUE_LIMIT_PRIVATE_H
#define RAWHAL_QUEUE_LIMIT_PRIVATE_H

#include "queue/limit/limiter.h"

/* On opening, when limits are in force, and on closing, when everything is charged. */
void private_take_up(rawhal_limiter_t *limiter, uint64_t now);
void private_leave(const rawhal_limiter_t *limiter, uint64_t now);
/* A child of fork() must not find it locked by a thread that it does not have. See
 * limit_watch_forks(). */
void private_watch_forks(void);

#endif
