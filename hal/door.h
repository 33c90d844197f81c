/* What librawhal answers to observers. Internal. */
#ifndef RAWHAL_HAL_DOOR_H
#define RAWHAL_HAL_DOOR_H

#include "debug/door/door.h"

extern const door_host_t hal_door_host;

#endif
