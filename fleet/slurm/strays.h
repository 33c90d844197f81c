/* Processes that a job has left behind: those of a step daemon that was killed, or that Slurm did
 * not know. */
#ifndef FLEET_SLURM_STRAYS_H
#define FLEET_SLURM_STRAYS_H

#include "fleet/slurm/node.h"

/* Kills those of them that are in the tenant. Any member may have written there who is: only a
 * process of the job's user that has the region mapped is killed. Waits a second at most. */
void strays_end(int region, const record_t *record, const holding_t *holding);

#endif
