/* Making lanes, for stream.c. Internal. */
#ifndef RAWHAL_HIPLAUNCH_LANE_H
#define RAWHAL_HIPLAUNCH_LANE_H

#include "hiplaunch/device/stream.h"

/* An idle lane of these properties, or a new one; busy from now on. The device is locked, or not
 * in use yet. */
hipError_t lane_take(device_t *device, int priority, bool services, lane_t **taken);

#endif
