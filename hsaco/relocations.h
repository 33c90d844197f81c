/* Listing relocations; loadable.h judges them. Internal. */
#ifndef RAWHAL_HSACO_RELOCATIONS_H
#define RAWHAL_HSACO_RELOCATIONS_H

#include "hsaco/object.h"

/* Fills in hsaco->relocations from the SHT_RELA sections that can be read. */
RAWHAL_CHECKED rawhal_status_t relocations_read(struct rawhal_hsaco *hsaco, rawhal_error_t *error);

#endif
