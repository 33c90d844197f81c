/* What a device itself does for a queue. Internal. */
#ifndef RAWHAL_QUEUE_HARDWARE_H
#define RAWHAL_QUEUE_HARDWARE_H

#include "queue/internal.h"

/* Tells the device what it is to do for the queue, which has its HSA queue. */
RAWHAL_CHECKED rawhal_status_t hardware_configure(rawhal_queue_t *queue,
                                                  const rawhal_queue_options_t *options,
                                                  rawhal_error_t *error);

#endif
