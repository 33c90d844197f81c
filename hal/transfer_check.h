/* What is asked of a transfer before anything of it is done. Internal. */
#ifndef RAWHAL_HAL_TRANSFER_CHECK_H
#define RAWHAL_HAL_TRANSFER_CHECK_H

#include "hal/internal.h"
#include "hal/transfer.h"

/* Takes one that is in order: `rows` is 1 at least, and pitches are what they stand for. Of 0 bytes
 * there is nothing to do. The caller's structure is not looked at again. */
RAWHAL_CHECKED rawhal_status_t transfer_take(const rawhal_transfer_t *given,
                                             rawhal_transfer_t *taken, rawhal_error_t *error);

/* What graphs of a device ask for. */
extern const queue_buffers_t transfer_buffers;

#endif
