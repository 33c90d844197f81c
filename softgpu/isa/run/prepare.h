/* What runs an instruction. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_PREPARE_H
#define SOFTGPU_ISA_RUN_PREPARE_H

#include "softgpu/isa/base/wave.h"

/* Asks the executors of its encoding; see wave.h. False when none runs it on this chip with these
 * registers. */
bool isa_prepare(isa_inst_t *inst, const isa_limits_t *limits);

#endif
