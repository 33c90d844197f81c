/* Making queues. Internal. */
#ifndef RAWHAL_QUEUE_CREATE_H
#define RAWHAL_QUEUE_CREATE_H

#include "queue/internal.h"

/* `options` may be NULL. */
RAWHAL_CHECKED rawhal_status_t queue_create(const queue_device_t *device,
                                            const rawhal_queue_options_t *options,
                                            rawhal_queue_t **queue, rawhal_error_t *error);

#endif
