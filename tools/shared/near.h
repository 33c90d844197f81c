/* The names nearest to one that is not there: base/near.h, over all kernels of an object. */
#ifndef TOOLS_SHARED_NEAR_H
#define TOOLS_SHARED_NEAR_H

#include <rawhal/hsaco.h>

#include "base/near.h"

void near_look_at(near_names_t *names, const rawhal_hsaco_t *hsaco);

#endif
