/* Who looks whether queues get on: RAWHAL_WATCHDOG. Internal. */
#ifndef RAWHAL_HAL_WATCHDOG_H
#define RAWHAL_HAL_WATCHDOG_H

#include "hal/internal.h"

/* Starts a thread where the environment asks for it, and no front looks. INVALID_ARGUMENT;
 * OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t hal_watchdog_start(const hal_runtime_t *runtime,
                                                  rawhal_error_t *error);
/* Ends it, if there is one. */
void hal_watchdog_stop(void);

#endif
