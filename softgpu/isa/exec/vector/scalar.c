/* Scalar instructions with floating-point numbers: which row of the vector ALU computes each. */
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/vector/valu.h"

#define SAME(name)                                                                                 \
  {                                                                                                \
    ISA_s_##name, ISA_v_##name, 0                                                                  \
  }
#define COMPARES(type)                                                                             \
  SAME(cmp_lt_##type), SAME(cmp_eq_##type), SAME(cmp_le_##type), SAME(cmp_gt_##type),              \
      SAME(cmp_lg_##type), SAME(cmp_ge_##type), SAME(cmp_o_##type), SAME(cmp_u_##type),            \
      SAME(cmp_nge_##type), SAME(cmp_nlg_##type), SAME(cmp_ngt_##type), SAME(cmp_nle_##type),      \
      SAME(cmp_neq_##type), SAME(cmp_nlt_##type)
#define BOTH(name) SAME(name##_f32), SAME(name##_f16)

enum { TIED = 1, FROM_HIGH };

static const struct {
  uint16_t op, vector;
  uint8_t how;
} rows[] = {
    BOTH(add),
    BOTH(sub),
    BOTH(mul),
    BOTH(min),
    BOTH(max),
    {ISA_s_fmac_f32, ISA_v_fmac_f32, TIED},
    {ISA_s_fmac_f16, ISA_v_fmac_f16, TIED},
    SAME(fmaak_f32),
    SAME(fmamk_f32),
    BOTH(ceil),
    BOTH(floor),
    BOTH(trunc),
    BOTH(rndne),
    SAME(cvt_f32_i32),
    SAME(cvt_f32_u32),
    SAME(cvt_i32_f32),
    SAME(cvt_u32_f32),
    SAME(cvt_f16_f32),
    SAME(cvt_f32_f16),
    {ISA_s_cvt_hi_f32_f16, ISA_v_cvt_f32_f16, FROM_HIGH},
    {ISA_s_cvt_pk_rtz_f16_f32, ISA_v_cvt_pkrtz_f16_f32, 0},
    COMPARES(f32),
    COMPARES(f16),
};

bool isa_scalar_float_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const valu_build_t *build = isa_valu_build();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].op != inst->op)
      continue;
    if (rows[i].how == TIED)
      inst->src[2] = inst->dst;
    inst->vop = (isa_vop_t){.op_sel = rows[i].how == FROM_HIGH};
    for (unsigned n = 0; n < 3; ++n)
      if (!isa_operand_prepare(&inst->src[n], 1, limits))
        return false;
    inst->plan = &build->ops[rows[i].vector];
    return isa_operand_prepare(&inst->dst, 1, limits) && isa_runs_on(inst, build->scalar);
  }
  return false;
}
