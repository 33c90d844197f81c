/* The reference engine: instructions executed one lane at a time, looked up and taken apart again
 * each time, with arithmetic in integers (real.h). Internal to softgpu.
 *
 * It shares the decoder, the checks of addresses, and base/defined.inc with the engine
 * proper, and nothing else: tests hold one against the other, and `softgpu` option reference=1 runs
 * it. */
#ifndef SOFTGPU_ISA_REFERENCE_REFERENCE_H
#define SOFTGPU_ISA_REFERENCE_REFERENCE_H

#include "softgpu/isa/base/wave.h"

/* Executes an instruction as isa_decode() left it, which the engine proper has agreed to run. False
 * for a fault, described in wave->fault. */
bool isa_reference_run(isa_wave_t *wave, const isa_inst_t *inst);

/* --- by encoding --- */

bool isa_reference_salu(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_smem(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_memory(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_ds(isa_wave_t *wave, const isa_inst_t *inst);
/* ds_read_*_tr_*: reference/gfx950.c. */
bool isa_reference_transpose(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_image(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_valu(isa_wave_t *wave, const isa_inst_t *inst);
/* Instructions that exchange lanes, and matrices. False when `inst` is neither. */
bool isa_reference_lanes(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_matrix(isa_wave_t *wave, const isa_inst_t *inst);
/* v_cvt_scalef32, v_bitop3 and swaps of rows: reference/gfx950.c. False when `inst` is none of
 * these. */
bool isa_reference_gfx950(isa_wave_t *wave, const isa_inst_t *inst);

/* --- operands --- */

/* A scalar source of one or two dwords. Constants as integers, or of the floating-point type that
 * 16, 32 or 64 `float_bits` say; 0 for none. */
uint64_t isa_reference_scalar(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords,
                              unsigned float_bits);

/* A register of a lane, `first` rows beyond the operand's. `n` is the source's number for
 * s_set_gpr_idx, or -1. */
uint32_t isa_reference_register(const isa_wave_t *wave, const isa_operand_t *operand, int n,
                                unsigned rows, unsigned row, unsigned lane);

static inline bool isa_reference_is_vector(const isa_operand_t *operand)
{
  return operand->kind == ISA_OPERAND_VGPR || operand->kind == ISA_OPERAND_AGPR;
}

#endif
