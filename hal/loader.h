/* Which libraries, from where. Internal. */
#ifndef RAWHAL_HAL_LOADER_H
#define RAWHAL_HAL_LOADER_H

#include "hal/internal.h"

/* Loads what is missing and applies softgpu's options. The caller holds the runtime's lock. */
RAWHAL_CHECKED rawhal_status_t loader_open(const rawhal_instance_options_t *options,
                                           loaded_libraries_t *libraries, rawhal_error_t *error);

#endif
