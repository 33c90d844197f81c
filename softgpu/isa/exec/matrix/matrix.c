/* Which operands matrix instructions may have. What they compute is in mfma.inc and smfmac.inc,
 * compiled for each kind of host; conversions of scaled numbers are in scale.c. */
#include "softgpu/isa/exec/matrix/matrix.h"

#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/vector/valu.h"

static bool mfma_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const valu_build_t *build = isa_valu_build();
  const mfma_t *m = isa_mfma_find(inst->op);
  if (!m)
    return false;
  unsigned sources[2];
  for (unsigned n = 0; n < 2; ++n)
    sources[n] = mfma_items(m) * mfma_element_bits(mfma_format(m, inst, n)) / 32;
  if (m->is_sparse)
    sources[0] /= 2;
  unsigned result = (unsigned)m->size * m->size * m->blocks / ISA_LANES;
  result *= m->a == MFMA_F64 ? 2 : 1;
  isa_operand_t *c = &inst->src[2];
  bool c_ok = isa_is_vector(c) ? isa_operand_require(c, m->is_sparse ? 1 : result, limits)
                               : c->kind == ISA_OPERAND_INLINE && isa_operand_require(c, 1, limits);
  if (m->is_sparse && c->kind != ISA_OPERAND_VGPR) /* the indices, of architectural registers */
    return false;
  if (!c_ok || !isa_is_vector(&inst->dst) || !isa_is_vector(&inst->src[0]) ||
      !isa_is_vector(&inst->src[1]) || !isa_operand_require(&inst->dst, result, limits) ||
      !isa_operand_require(&inst->src[0], sources[0], limits) ||
      !isa_operand_require(&inst->src[1], sources[1], limits) ||
      (inst->vop.has_scale && (!isa_operand_require(&inst->vop.scale[0], 1, limits) ||
                               !isa_operand_require(&inst->vop.scale[1], 1, limits))))
    return false;
  inst->plan = m;
  return isa_runs_on(inst, m->is_sparse ? build->smfmac : build->mfma);
}

bool isa_matrix_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  return mfma_prepare(inst, limits) || isa_scale_prepare(inst, limits);
}
