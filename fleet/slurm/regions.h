/* A GPU's region on this node: memory without a name, which a process of root's keeps while any job
 * has a part of the GPU. Whoever is given its descriptor can use it, and can neither cut it short
 * nor pass on a path to it. All but regions_open() are for whoever has the node's lock. */
#ifndef FLEET_SLURM_REGIONS_H
#define FLEET_SLURM_REGIONS_H

#include "fleet/slurm/settings.h"

/* `*fd` is the caller's to close, and of this process alone. NOT_FOUND: there is none. UNSUPPORTED:
 * it is of another version of rawhal. RUNTIME: the system refuses. */
RAWHAL_CHECKED rawhal_status_t regions_open(const settings_t *settings, uint32_t gpu, int *fd,
                                            rawhal_error_t *error);
/* The same; where there is none it is made. One whose keeper is gone is found with whoever has it
 * open. `in_use`: jobs have parts of the GPU; else one of another version is replaced. */
RAWHAL_CHECKED rawhal_status_t regions_make(const settings_t *settings, uint32_t gpu, bool in_use,
                                            int *fd, rawhal_error_t *error);
/* No job has a part of the GPU any more. */
void regions_end(const settings_t *settings, uint32_t gpu);

#endif
