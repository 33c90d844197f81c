/* Memory that was allocated elsewhere. Internal. */
#ifndef RAWHAL_HAL_IMPORT_H
#define RAWHAL_HAL_IMPORT_H

#include "hal/internal.h"

/* Of memory that is imported, towards a device's quota while the buffer lives. */
RAWHAL_CHECKED rawhal_status_t import_count(rawhal_buffer_t *buffer, rawhal_device_t *payer,
                                            uint64_t bytes, rawhal_error_t *error);
/* Whether the device can reach that host memory as it is, and where. */
bool import_reachable(const rawhal_device_t *device, const void *data, size_t size, void **memory);

#endif
