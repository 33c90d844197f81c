/* A line for each job and GPU in a file that is read like the output of `sacct --parsable2`. */
#ifndef FLEET_SLURM_ACCOUNT_H
#define FLEET_SLURM_ACCOUNT_H

#include "fleet/slurm/tenants.h"

/* `node`: Slurm's name of it; `usage` NULL: it is not known. Where no file is wanted it does
 * nothing. RUNTIME. */
RAWHAL_CHECKED rawhal_status_t account_write(const settings_t *settings, const char *node,
                                             const record_t *record, const holding_t *holding,
                                             const usage_t *usage, rawhal_error_t *error);

#endif
