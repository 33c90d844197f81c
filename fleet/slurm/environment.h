/* What a task's environment must have for its programs to be limited. */
#ifndef FLEET_SLURM_ENVIRONMENT_H
#define FLEET_SLURM_ENVIRONMENT_H

#include <slurm/spank.h>

#include "fleet/slurm/hooks.h"

/* As `rawhal exec` sets it, for the HSA runtime of any program that the task starts. A step's own
 * wishes are those of each of its processes. OUT_OF_MEMORY, RUNTIME. */
RAWHAL_CHECKED rawhal_status_t environment_set(spank_t spank, const settings_t *settings,
                                               const task_t *task, const wish_t *wish,
                                               rawhal_error_t *error);

#endif
