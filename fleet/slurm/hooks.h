/* What is done when a job begins and ends on a node, and when a task begins. */
#ifndef FLEET_SLURM_HOOKS_H
#define FLEET_SLURM_HOOKS_H

#include "fleet/slurm/job.h"

/* What a user asked for; NULL: nothing. */
typedef struct wish {
  const char *share, *memory;
} wish_t;

/* Makes the job's tenants, or records why it must not run; a failure is one of the node's, after
 * which not even that is known. `refused`: it was recorded, and the reason is in `error`. */
RAWHAL_CHECKED rawhal_status_t job_begins(settings_t *settings, const char *node, const job_t *job,
                                          const wish_t *wish, bool *refused, rawhal_error_t *error);
/* Records that it must not run. */
RAWHAL_CHECKED rawhal_status_t job_refuse(const settings_t *settings, const char *node, uint32_t id,
                                          const char *reason, rawhal_error_t *error);
/* Removes them, and accounts for what it had, as for earlier jobs of which processes lived on.
 * Waits for none. */
RAWHAL_CHECKED rawhal_status_t job_ends(const settings_t *settings, const char *node, uint32_t id,
                                        rawhal_error_t *error);

/* What a task is given: descriptors of its regions, open beyond its start, as text for
 * RAWHAL_LIMIT_REGION, and its tenant's name. */
typedef struct task {
  char regions[128], tenant[TENANT_NAME_BYTES];
} task_t;

/* NOT_FOUND: the job has no record. QUOTA_EXCEEDED: it must not run, with the reason. */
RAWHAL_CHECKED rawhal_status_t task_begins(const settings_t *settings, uint32_t job, task_t *task,
                                           rawhal_error_t *error);

#endif
