/* Scalar instructions that are more than arithmetic. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_SCALAR_SALU_H
#define SOFTGPU_ISA_EXEC_SCALAR_SALU_H

#include "softgpu/isa/base/wave.h"

/* Branches, calls, barriers, hardware registers, register indexing; false when it is none of them.
 * What looks at the program counter, or changes it, the wave's turn or its state ends a block.
 * (s_waitcnt ends a turn only where loads into LDS are on their way: there is no block then.) */
bool isa_salu_control_prepare(isa_inst_t *inst);

bool isa_salu_prepare(isa_inst_t *inst, const isa_limits_t *limits); /* see wave.h */

#endif
