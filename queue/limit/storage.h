/* Where the value of each limit is stored. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_STORAGE_H
#define RAWHAL_QUEUE_LIMIT_STORAGE_H

#include "queue/limit/limiter.h"

/* A limit that is this process's own business. */
void limiter_set_own(rawhal_limiter_t *limiter, rawhal_limit_t limit, uint64_t word);

#endif
