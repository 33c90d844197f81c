/* What limits mean to devices and their memory. Internal. */
#ifndef RAWHAL_HAL_LIMITS_H
#define RAWHAL_HAL_LIMITS_H

#include "hal/internal.h"

/* Joins each device's tenant where anything is limited. `given` may be NULL. */
RAWHAL_CHECKED rawhal_status_t limits_open(hal_runtime_t *runtime,
                                           const rawhal_limit_config_t *given,
                                           rawhal_error_t *error);
void limits_close(rawhal_device_t *device);
/* Device memory, before it is allocated and after it was freed. */
RAWHAL_CHECKED rawhal_status_t limits_reserve(const rawhal_device_t *device, ledger_class_t class,
                                              uint64_t bytes, rawhal_error_t *error);
void limits_release(const rawhal_device_t *device, ledger_class_t class, uint64_t bytes);

#endif
