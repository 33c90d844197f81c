/* The reference engine: instructions executed one lane at a time, looked up and taken apart again
 * each time, with arithmetic in integers (real.h). Internal to softgpu.
 *
 * It shares the description, the decoder, memory/ and base/ with the engine proper, and nothing
 * else: what it runs, and with which operands, it says itself. Tests hold one against the other,
 * and `softgpu` option reference=1 runs it. */
#ifndef SOFTGPU_ISA_REFERENCE_REFERENCE_H
#define SOFTGPU_ISA_REFERENCE_REFERENCE_H

#include "softgpu/isa/base/wave.h"

struct place; /* of memory.h */

/* Executes an instruction as isa_decode() left it. False for a fault, described in wave->fault. */
bool isa_reference_run(isa_wave_t *wave, const isa_inst_t *inst);

/* Whether it is a branch that will be taken, as the wave is. */
bool isa_reference_takes(const isa_wave_t *wave, const isa_inst_t *inst);

/* Whether its operands are ones that it may have, and that the wave has. */
bool isa_reference_allows(const isa_wave_t *wave, const isa_inst_t *inst);

/* Of an instruction that failed, and whose operands it may have, the active lanes from `from` on
 * whose access of memory, LDS or scratch fails; nothing is accessed. False when its lanes have no
 * accesses. The faults are described in wave->fault, one over the other. */
bool isa_reference_failing(isa_wave_t *wave, const isa_inst_t *inst, unsigned from,
                           uint64_t *lanes);

/* The `part`-th place, from 0 on, to which a lane that is active will write, in memory or LDS; with
 * isa_reference_failing(), it is a question before the instruction runs. Of a load into LDS that is
 * where it will land. False: there are no more, or it fails. */
bool isa_reference_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                          struct place *place);

/* Labels of a switch whose cases are a line each; BOTH is of 32 and of 64 bits. */
#define ONE(name) case ISA_##name
#define BOTH(name)                                                                                 \
  case ISA_##name##_b32:                                                                           \
  case ISA_##name##_b64

/* --- by encoding --- */

bool isa_reference_salu(isa_wave_t *wave, const isa_inst_t *inst);
/* Of those, what steers the wave. Sets *found to whether the instruction is one. */
bool isa_reference_control(isa_wave_t *wave, const isa_inst_t *inst, bool *found);
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
bool isa_reference_wmma(isa_wave_t *wave, const isa_inst_t *inst);
/* VOPD. */
bool isa_reference_dual(isa_wave_t *wave, const isa_inst_t *inst);
/* Those of floats; false for others. */
bool isa_reference_salu_float(isa_wave_t *wave, const isa_inst_t *inst);
/* What a vector instruction with a row in reference/valu_table.inc computes in lane 0, and its
 * bit of a mask. */
uint64_t isa_reference_valu_lane(const isa_wave_t *wave, const isa_inst_t *inst, bool *mask);
/* v_movrel*: the same with the registers that M0 says; a destination beyond the wave's stays there,
 * and of a source it becomes v0. False when `inst` is none of these. */
bool isa_reference_moves(const isa_wave_t *wave, const isa_inst_t *inst, isa_inst_t *moved);
/* v_cvt_scalef32, v_bitop3 and swaps of rows: reference/gfx950.c. False when `inst` is none of
 * these. */
bool isa_reference_gfx950(isa_wave_t *wave, const isa_inst_t *inst);

/* Whether a lane's access would not fail, of those that have one. */
bool isa_reference_memory_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);
bool isa_reference_ds_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);
bool isa_reference_image_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane);

/* Where it writes, and false where it does not, or there is no such part. Scalars are of lane 0. */
bool isa_reference_memory_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                 unsigned part, struct place *place);
bool isa_reference_ds_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                             struct place *place);
bool isa_reference_image_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                unsigned part, struct place *place);
bool isa_reference_smem_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                               unsigned part, struct place *place);

/* The same of operands: reference/legal.c. */
bool isa_reference_allows_dual(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_scalar(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_smem(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_ds(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_flat(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_buffer(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_image(const isa_wave_t *wave, const isa_inst_t *inst);
bool isa_reference_allows_vector(const isa_wave_t *wave, const isa_inst_t *inst);
/* Of vectors, those with a row in reference/valu_table.inc; false for all others. */
bool isa_reference_allows_valu(const isa_wave_t *wave, const isa_inst_t *inst);

/* True when the lane takes part; `from` is the lane that source 0 comes from, -1 for none. DPP8 has
 * no masks, and reads 0 where there is none. */
bool isa_reference_takes_part(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                              int *from);
bool isa_reference_allows_dpp(const isa_inst_t *inst);

/* --- operands --- */

/* Whether the wave has so many registers there, or the instruction a constant. */
bool isa_reference_has(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords);

/* A scalar source of one or two dwords. Constants as integers, or of the floating-point type that
 * 16, 32 or 64 `float_bits` say; 0 for none. */
uint64_t isa_reference_scalar(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords,
                              unsigned float_bits);

/* A scalar result of some dwords, which goes nowhere where ISA_NULL is to have it. */
static inline void isa_reference_write(isa_wave_t *wave, const isa_operand_t *dst, unsigned dwords,
                                       uint64_t value)
{
  for (unsigned i = 0; dst->index != ISA_NULL && i < dwords; ++i)
    wave->s[dst->index + i] = (uint32_t)(value >> 32 * i);
}

/* A register of a lane, `first` rows beyond the operand's. `n` is the source's number for
 * s_set_gpr_idx, or -1. */
uint32_t isa_reference_register(const isa_wave_t *wave, const isa_operand_t *operand, int n,
                                unsigned rows, unsigned row, unsigned lane);

static inline bool isa_reference_is_vector(const isa_operand_t *operand)
{
  return operand->kind == ISA_OPERAND_VGPR || operand->kind == ISA_OPERAND_AGPR;
}

#endif
