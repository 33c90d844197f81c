/* Where the memory of what is made of an object comes from. Internal. */
#ifndef RAWHAL_HSACO_MEMORY_H
#define RAWHAL_HSACO_MEMORY_H

#include "base/allocate.h"
#include "hsaco/hsaco.h"

/* The object's own; NULL, for malloc(), of no object. Lives as long as the object. */
const allocator_t *hsaco_allocator(const rawhal_hsaco_t *hsaco);

#endif
