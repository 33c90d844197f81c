/* How many waves a compute unit can hold at once. Internal.
 *
 * Sources: LLVM's AMDGPU back end (AMDGPUBaseInfo's IsaInfo: register files, granules, waves and
 * work-groups a compute unit, LDS granules), AMD's "CDNA 3" white paper and instruction set guides,
 * ROCm's documentation of compute units (8 waves a SIMD, 4 SIMDs), HIP's occupancy query. */
#ifndef RAWHAL_QUEUE_OCCUPANCY_H
#define RAWHAL_QUEUE_OCCUPANCY_H

#include "queue/queue.h"

/* What a compute unit has; sizes in registers of a lane and in bytes. */
typedef struct occupancy_chip {
  const char *processor;
  uint16_t vgprs, vgpr_granule; /* of a SIMD */
  uint16_t sgprs, sgpr_granule;
  uint16_t waves, simds;     /* waves of a SIMD */
  uint16_t barriers;         /* work-groups of more than one wave */
  uint32_t lds, lds_granule; /* of the compute unit */
} occupancy_chip_t;

/* NULL: not known. */
const occupancy_chip_t *occupancy_chip(const char *processor);

/* What a work-group takes. */
typedef struct occupancy_need {
  uint32_t vgprs, sgprs; /* of a wave */
  uint32_t lds;          /* bytes */
  uint32_t waves;
} occupancy_need_t;

/* work-groups 0: one alone does not fit. */
rawhal_occupancy_t occupancy_of(const occupancy_chip_t *chip, const occupancy_need_t *need);

/* The most work-items of a work-group whose waves a compute unit can hold at the same time, by the
 * registers that the kernel's descriptor asks for; one of more never runs. UINT32_MAX where the
 * chip (NULL) or the descriptor is not known. */
uint32_t occupancy_work_items(const occupancy_chip_t *chip, const rawhal_kernel_t *kernel);

RAWHAL_CHECKED rawhal_status_t kernel_occupancy(const rawhal_device_kernel_t *kernel,
                                                uint64_t work_items, uint32_t dynamic_lds,
                                                rawhal_occupancy_t *occupancy,
                                                rawhal_error_t *error);
/* OUT_OF_RANGE unless the whole grid can run at once on so many compute units. The dispatch is
 * otherwise right. */
RAWHAL_CHECKED rawhal_status_t check_resident(uint32_t compute_units,
                                              const rawhal_dispatch_t *dispatch,
                                              rawhal_error_t *error);

#endif
