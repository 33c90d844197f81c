/* What limiters without a region owe when they are closed. Internal.
 *
 * The clocks of a region outlive those who leave it. Those of one process would be gone with its
 * limiter, and opening another would be a way out of any debt: so they are kept, by the names of
 * device and tenant, for as long as the process lives. */
#ifndef RAWHAL_QUEUE_LIMIT_PRIVATE_H
#define RAWHAL_QUEUE_LIMIT_PRIVATE_H

#include "queue/limit/limiter.h"

/* On opening, when limits are in force, and on closing, when everything is charged. */
void private_take_up(rawhal_limiter_t *limiter, uint64_t now);
void private_leave(const rawhal_limiter_t *limiter, uint64_t now);

#endif
