/* The GPUs of this node, in Slurm's order. */
#ifndef FLEET_SLURM_GPUS_H
#define FLEET_SLURM_GPUS_H

#include "fleet/slurm/settings.h"

/* Fills in those of the driver where plugstack.conf names none. NOT_FOUND: there are none.
 * UNSUPPORTED: one has no UUID, by which processes would name it alike. */
RAWHAL_CHECKED rawhal_status_t gpus_find(settings_t *settings, rawhal_error_t *error);

#endif
