/* What the HSA runtime's words for faults are in ours. Internal. */
#ifndef RAWHAL_DEBUG_RUNTIME_H
#define RAWHAL_DEBUG_RUNTIME_H

#include "debug/fault.h"

/* Of the hsa_status_t that a queue's callback gets. */
rawhal_fault_kind_t debug_kind_of_status(int32_t hsa_status);
/* Of hsa_amd_gpu_memory_fault_info_t.fault_reason_mask. */
rawhal_fault_kind_t debug_kind_of_reasons(uint32_t mask);

#endif
