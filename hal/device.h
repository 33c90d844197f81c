/* Finding the devices. Internal. */
#ifndef RAWHAL_HAL_DEVICE_H
#define RAWHAL_HAL_DEVICE_H

#include "hal/internal.h"

/* Finds all agents: runtime->devices and the host's pools. */
RAWHAL_CHECKED rawhal_status_t devices_find(hal_runtime_t *runtime, rawhal_error_t *error);
void devices_free(hal_runtime_t *runtime);

#endif
