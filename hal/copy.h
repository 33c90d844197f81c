/* Copies that have ended when the call does. Internal. */
#ifndef RAWHAL_HAL_COPY_H
#define RAWHAL_HAL_COPY_H

#include "hal/internal.h"
#include "queue/transfer.h"

/* Rows of a device's memory and of the program's, which are as many and as long. */
RAWHAL_CHECKED rawhal_status_t copy_host(rawhal_device_t *device, copy_direction_t direction,
                                         const transfer_rows_t *there, const transfer_rows_t *here,
                                         rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t copy_between(rawhal_device_t *device, const transfer_rows_t *to,
                                            const transfer_rows_t *from, rawhal_error_t *error);
/* Rows are whole patterns. */
RAWHAL_CHECKED rawhal_status_t copy_fill(rawhal_device_t *device, const transfer_rows_t *to,
                                         const void *pattern, uint32_t pattern_bytes,
                                         rawhal_error_t *error);
void copy_engine_init(copy_engine_t *engine);
void copy_engine_free(rawhal_device_t *device);
/* Gives a transfer that was given up another second. False: it is still under way, and no memory it
 * may use can be freed. */
bool copy_engine_settle(rawhal_device_t *device);
/* For the limiter, which refuses nothing because of a transfer that was given up and has ended. */
void copy_engine_reap(void *device);

#endif
