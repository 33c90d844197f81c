/* The last refusal of each member. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_DENIAL_H
#define RAWHAL_QUEUE_LIMIT_DENIAL_H

#include "queue/limit/limiter.h"

/* Counts a refusal for good, and leaves it where an operator finds it. */
void limiter_deny(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t asked, uint64_t used,
                  uint64_t allowed);

/* The slot's last refusal, in one piece. False: there is none, or it is being written, or
 * damaged. */
bool denial_read(const region_data_t *data, uint32_t slot, rawhal_limit_denial_t *denial);

#endif
