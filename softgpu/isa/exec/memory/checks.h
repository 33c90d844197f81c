/* Checks of memory instructions, and of what a wave leaves at its end, that a dispatch can ask for
 * (SOFTGPU_CHECK_*). A program is decoded with them or without; without, they cost nothing.
 * Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_CHECKS_H
#define SOFTGPU_ISA_EXEC_MEMORY_CHECKS_H

#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/memory/shadow.h"

/* Puts `checks` before what a prepared instruction runs, if it is one that they look at. */
void isa_checks_prepare(isa_inst_t *inst, uint32_t checks);

/* Of an instruction that a check found fault with, at the lane `from`, all lanes that it finds
 * fault with: those before have passed. Faults are described in wave->fault, one over the other. */
uint64_t isa_checks_failing(isa_wave_t *wave, const isa_inst_t *inst, unsigned from);

/* What a DS instruction does with LDS: so many elements a lane, at the lane's address + offset. */
typedef struct isa_ds_touch {
  uint8_t kind, bytes, form, count; /* as of isa_access_t; count 0: nothing */
  uint32_t offset[2];
} isa_ds_touch_t;
isa_ds_touch_t isa_ds_touch(const isa_inst_t *inst);

uint64_t isa_smem_address(const isa_wave_t *wave, const isa_inst_t *inst);

#endif
