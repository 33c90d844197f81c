/* Where memory ends, for softgpu. Internal. */
#ifndef RAWHAL_FRONT_BOUNDS_H
#define RAWHAL_FRONT_BOUNDS_H

#include "front/front.h"

/* After all other hooks of memory; nothing on hardware. */
void bounds_hooks(front_calls_t *hooks);

#endif
