/* A job in a region: made before it starts, removed when it is over. */
#ifndef FLEET_SLURM_TENANTS_H
#define FLEET_SLURM_TENANTS_H

#include <rawhal/limit.h>

#include "fleet/slurm/node.h"

/* What it has had when it is removed. */
typedef struct usage {
  uint64_t gpu_ns, memory_peak;
} usage_t;

/* Nobody but an operator can make what it holds looser. As rawhal_limit_control_add(). */
RAWHAL_CHECKED rawhal_status_t tenant_make(int region, const char *tenant, const holding_t *holding,
                                           rawhal_error_t *error);
/* WOULD_BLOCK: processes of it are alive; from now on nothing of theirs is admitted. NOT_FOUND: it
 * is not there. */
RAWHAL_CHECKED rawhal_status_t tenant_remove(int region, const char *tenant,
                                             const holding_t *holding, usage_t *usage,
                                             rawhal_error_t *error);

/* Calls `visit` for each process that is in it. */
typedef void tenant_visitor_t(const rawhal_limit_row_t *row, void *context);
void tenant_processes(int region, const char *tenant, const holding_t *holding,
                      tenant_visitor_t *visit, void *context);

#endif
