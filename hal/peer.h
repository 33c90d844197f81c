/* Memory of one device and another. Internal. */
#ifndef RAWHAL_HAL_PEER_H
#define RAWHAL_HAL_PEER_H

#include "hal/internal.h"

/* Has the device access to the buffer, its own or given? */
bool peer_reaches(const rawhal_device_t *device, const rawhal_buffer_t *buffer);
/* Copies between the device memory of two devices: rows of the one buffer and of the other. */
RAWHAL_CHECKED rawhal_status_t peer_copy(rawhal_buffer_t *to, const transfer_rows_t *target,
                                         const rawhal_buffer_t *from, const transfer_rows_t *source,
                                         rawhal_error_t *error);
/* copy_engine_settle() of all devices whose copies may use the buffer. */
bool peer_settle(const rawhal_buffer_t *buffer);

#endif
