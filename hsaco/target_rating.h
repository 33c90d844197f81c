/* Which of several objects a device is given. Internal. */
#ifndef RAWHAL_HSACO_TARGET_RATING_H
#define RAWHAL_HSACO_TARGET_RATING_H

#include "hsaco/target.h"

/* The more an object insists on, the better it was made for the device it fits. 0: it does not. */
static inline unsigned target_rating(const rawhal_target_t *object, const rawhal_target_t *device)
{
  if (rawhal_target_match(object, device))
    return 0;
  unsigned rating = object->machine == device->machine ? 5 : 1;
  rating += object->xnack >= RAWHAL_FEATURE_OFF;
  rating += object->sramecc >= RAWHAL_FEATURE_OFF;
  return rating;
}

#endif
