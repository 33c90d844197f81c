/* Scalar instructions that are more than arithmetic. Internal to softgpu. */
#ifndef SOFTGPU_ISA_SALU_H
#define SOFTGPU_ISA_SALU_H

#include "softgpu/isa/wave.h"

typedef bool (*isa_run_t)(isa_wave_t *wave, const isa_inst_t *inst);

/* Branches, calls, barriers, hardware registers, register indexing; NULL when `op` is none. */
isa_run_t isa_salu_control(unsigned op);

/* Nanoseconds of the clock behind timeouts. */
uint64_t isa_clock_ns(void);

/* What the two clocks of the device show, at their rates in execute.h. */
uint64_t isa_engine_clock(void);
uint64_t isa_timestamp(void);

#endif
