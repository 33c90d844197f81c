/* Vector and scalar memory instructions by encoding. Each prepares what it runs; see wave.h.
 * Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_PREPARE_H
#define SOFTGPU_ISA_EXEC_MEMORY_PREPARE_H

#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/describe/memory.h"

bool isa_smem_prepare(isa_inst_t *inst, const isa_limits_t *limits);
bool isa_flat_prepare(isa_inst_t *inst, const isa_limits_t *limits);
bool isa_buffer_prepare(isa_inst_t *inst, const isa_limits_t *limits);
bool isa_image_prepare(isa_inst_t *inst, const isa_limits_t *limits);
bool isa_ds_prepare(isa_inst_t *inst, const isa_limits_t *limits);
/* Of the DS instructions, those of ds_count.c; the registers have been looked at. */
bool isa_ds_count_prepare(isa_inst_t *inst);
/* Of those, the reads that transpose: ds_transpose.c. */
void isa_ds_transpose_prepare(isa_inst_t *inst, const isa_access_t *plan);

#endif
