/* What limiters owe when they are closed, where nothing else remembers it. Internal.
 *
 * The clocks of tenants and devices in a region outlive the processes that leave it. A process's
 * own would be gone with its limiter, as would all of them without a region, and opening another
 * would cancel any debt: so they are kept, by the name of the device, for as long as the process
 * lives. A process is one, whatever tenant it says it is. */
#ifndef RAWHAL_QUEUE_LIMIT_DEBTS_H
#define RAWHAL_QUEUE_LIMIT_DEBTS_H

#include "queue/limit/limiter.h"

/* On opening, when limits are in force, and on closing, when everything is charged. */
void debts_resume(rawhal_limiter_t *limiter, uint64_t now);
void debts_keep(const rawhal_limiter_t *limiter, uint64_t now);
/* A child of fork() must not find it locked by a thread that it does not have. See
 * limit_watch_forks(). */
void debts_watch_forks(void);

#endif
