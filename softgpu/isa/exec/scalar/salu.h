/* Scalar instructions that are more than arithmetic. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_SCALAR_SALU_H
#define SOFTGPU_ISA_EXEC_SCALAR_SALU_H

#include "softgpu/isa/base/wave.h"

typedef bool (*isa_run_t)(isa_wave_t *wave, const isa_inst_t *inst);

/* Branches, calls, barriers, hardware registers, register indexing; NULL when `op` is not one of
 * them. */
isa_run_t isa_salu_control(unsigned op);

/* Whether one of these looks at the program counter, or changes it, the wave's turn or its state.
 * (s_waitcnt ends a turn only where loads into LDS are on their way: there is no block then.) */
bool isa_salu_ends_block(unsigned op);

bool isa_salu_prepare(isa_inst_t *inst, const isa_limits_t *limits); /* see wave.h */

#endif
