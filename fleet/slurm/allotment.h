/* Which parts of which GPUs the scheduler has given a job on this node. */
#ifndef FLEET_SLURM_ALLOTMENT_H
#define FLEET_SLURM_ALLOTMENT_H

#include "fleet/slurm/settings.h"

/* `parts` of `of` equal ones. */
typedef struct part {
  uint32_t gpu, parts, of;
} part_t;

typedef struct allotment {
  part_t parts[SLURM_GPUS];
  uint32_t count;
} allotment_t;

/* From what Slurm says of one node: "gpu:2(IDX:0-1)", "shard:3(IDX:0)", "shard:5(2/10,3/10)"; what
 * is neither of GPUs nor of shards is passed over. `shards`: of one GPU. UNSUPPORTED: it is not
 * understood, or not said how many of the shards are whose. */
RAWHAL_CHECKED rawhal_status_t allotment_read(const char *text, uint32_t shards,
                                              allotment_t *allotment, rawhal_error_t *error);

#endif
