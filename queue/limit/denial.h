/* The last refusal of each member. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_DENIAL_H
#define RAWHAL_QUEUE_LIMIT_DENIAL_H

#include "queue/limit/region.h"

/* The slot's last refusal, in one piece. False: there is none, or it is being written, or
 * damaged. */
bool denial_read(const region_data_t *data, uint32_t slot, rawhal_limit_denial_t *denial);

#endif
