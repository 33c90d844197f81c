/* Operands of vector instructions: where they are and, of instructions without a row in the tables,
 * whether they exist. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_VECTOR_VECTOR_H
#define SOFTGPU_ISA_EXEC_VECTOR_VECTOR_H

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/vector/valu.h"

/* All sources are there and readable; those of several dwords are vectors. */
static inline bool isa_vector_sources_ok(isa_inst_t *inst, const isa_limits_t *limits)
{
  for (unsigned n = 0; n < 3; ++n) {
    const unsigned dwords = inst->row->src[n];
    if (dwords && (!isa_operand_require(&inst->src[n], dwords, limits) ||
                   (dwords > 1 && !isa_is_vector(&inst->src[n]))))
      return false;
  }
  return true;
}

static inline bool isa_vector_result_ok(isa_inst_t *inst, const isa_limits_t *limits)
{
  return inst->dst.kind == ISA_OPERAND_VGPR &&
         isa_operand_require(&inst->dst, inst->row->dst, limits);
}

/* Where the rows of a vector operand, source n, begin. Under s_set_gpr_idx an index beyond the
 * allocation reads v0 (ISA document). */
static inline const isa_row_t *isa_vector_rows(const isa_wave_t *wave, const isa_operand_t *operand,
                                               unsigned n, unsigned rows)
{
  if (operand->kind == ISA_OPERAND_AGPR)
    return &wave->a[operand->index];
  uint32_t index = operand->index;
  if (wave->gpr_index_mode >> n & 1)
    index += wave->s[ISA_M0] & 0xff;
  return &wave->v[index + rows <= wave->vgprs ? index : 0];
}

/* Dword `row` of source n in a lane. */
static inline uint32_t isa_vector_dword(const isa_wave_t *wave, const isa_inst_t *inst, unsigned n,
                                        unsigned row, unsigned lane)
{
  const isa_operand_t *operand = &inst->src[n];
  return isa_is_vector(operand) ? isa_vector_rows(wave, operand, n, inst->row->src[n])[row][lane]
                                : isa_read32(wave, operand);
}

/* The rows that are written; NULL when s_set_gpr_idx points beyond the allocation. */
static inline isa_row_t *isa_vector_destination(const isa_wave_t *wave, const isa_inst_t *inst,
                                                unsigned rows)
{
  uint32_t index = inst->dst.index;
  if (inst->dst.kind == ISA_OPERAND_AGPR)
    return &wave->a[index];
  if (wave->gpr_index_mode & 8)
    index += wave->s[ISA_M0] & 0xff;
  return index + rows <= wave->vgprs ? &wave->v[index] : NULL;
}

#endif
