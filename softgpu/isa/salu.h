/* Scalar instructions that are more than arithmetic. Internal to softgpu. */
#ifndef SOFTGPU_ISA_SALU_H
#define SOFTGPU_ISA_SALU_H

#include "softgpu/isa/wave.h"

typedef bool (*isa_run_t)(isa_wave_t *wave, const isa_inst_t *inst);

/* Branches, calls, barriers, hardware registers, register indexing; NULL when `op` is none. */
isa_run_t isa_salu_control(unsigned op);

#endif
