/* Opening a limiter: joining a region. Internal to this folder. */
#ifndef RAWHAL_QUEUE_LIMIT_MEMBER_H
#define RAWHAL_QUEUE_LIMIT_MEMBER_H

#include "queue/limit/limiter.h"

/* `clock` NULL: the machine's; `allocator` is copied. */
RAWHAL_CHECKED rawhal_status_t limiter_open(const rawhal_limit_config_t *config, const char *device,
                                            const limit_clock_t *clock,
                                            const allocator_t *allocator,
                                            rawhal_limiter_t **limiter, rawhal_error_t *error);

#endif
