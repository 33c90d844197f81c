/* What the controller says of a job. What a job's environment says is its user's. */
#ifndef FLEET_SLURM_JOB_H
#define FLEET_SLURM_JOB_H

#include "fleet/slurm/node.h"

typedef struct job {
  uint32_t id, user;
  char tenant[TENANT_NAME_BYTES]; /* "slurm-12", "slurm-12_3" of an array, "slurm-12+1" */
  char gres[512];                 /* of this node, with the GPUs: allotment.h */
} job_t;

/* NOT_FOUND, RUNTIME: the controller's answer. */
RAWHAL_CHECKED rawhal_status_t job_ask(uint32_t id, const char *node, job_t *job,
                                       rawhal_error_t *error);

#endif
