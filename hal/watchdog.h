/* Who looks whether queues get on: RAWHAL_WATCHDOG. Internal. */
#ifndef RAWHAL_HAL_WATCHDOG_H
#define RAWHAL_HAL_WATCHDOG_H

#include "base/status.h"

/* Starts a thread where the environment asks for it. INVALID_ARGUMENT; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t watchdog_start(rawhal_error_t *error);
/* Ends it, if there is one. */
void watchdog_stop(void);

#endif
