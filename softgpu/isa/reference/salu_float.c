/* The reference engine's scalar instructions on floats, of gfx1151: what the vector's do in a lane.
 * RDNA3.5 ISA document. */
#include "softgpu/isa/reference/reference.h"

/* Scalar instructions and the vector's that compute the same. `high`: of the upper half. */
static const struct {
  uint16_t op, twin;
  bool high;
} twins[] = {
#define TWIN(name)                                                                                 \
  {                                                                                                \
    ISA_s_##name, ISA_v_##name, false                                                              \
  }
#define TWIN_OF(name, twin, high)                                                                  \
  {                                                                                                \
    ISA_s_##name, ISA_v_##twin, high                                                               \
  }
#define OF_BOTH(name) TWIN(name##_f32), TWIN(name##_f16)
    OF_BOTH(ceil),
    OF_BOTH(floor),
    OF_BOTH(trunc),
    OF_BOTH(rndne),
    OF_BOTH(add),
    OF_BOTH(sub),
    OF_BOTH(min),
    OF_BOTH(max),
    OF_BOTH(mul),
    OF_BOTH(fmac),
    TWIN(fmaak_f32),
    TWIN(fmamk_f32),
    TWIN(cvt_f32_i32),
    TWIN(cvt_f32_u32),
    TWIN(cvt_i32_f32),
    TWIN(cvt_u32_f32),
    TWIN(cvt_f16_f32),
    TWIN(cvt_f32_f16),
    TWIN_OF(cvt_hi_f32_f16, cvt_f32_f16, true),
    TWIN_OF(cvt_pk_rtz_f16_f32, cvt_pkrtz_f16_f32, false),
    OF_BOTH(cmp_lt),
    OF_BOTH(cmp_eq),
    OF_BOTH(cmp_le),
    OF_BOTH(cmp_gt),
    OF_BOTH(cmp_lg),
    OF_BOTH(cmp_ge),
    OF_BOTH(cmp_o),
    OF_BOTH(cmp_u),
    OF_BOTH(cmp_nge),
    OF_BOTH(cmp_nlg),
    OF_BOTH(cmp_ngt),
    OF_BOTH(cmp_nle),
    OF_BOTH(cmp_neq),
    OF_BOTH(cmp_nlt),
#undef OF_BOTH
#undef TWIN_OF
#undef TWIN
};

bool isa_reference_salu_float(isa_wave_t *wave, const isa_inst_t *inst)
{
  for (unsigned i = 0; i < sizeof twins / sizeof *twins; ++i) {
    if (twins[i].op != inst->op)
      continue;
    isa_inst_t vector = *inst;
    bool holds;
    vector.op = twins[i].twin;
    vector.encoding = ISA_VOP3;
    vector.vop = (isa_vop_t){.op_sel = twins[i].high};
    if (inst->op == ISA_s_fmac_f32 || inst->op == ISA_s_fmac_f16)
      vector.src[2] = inst->dst;
    const uint64_t value = isa_reference_valu_lane(wave, &vector, &holds);
    if (inst->encoding == ISA_SOPC)
      wave->scc = holds;
    else
      isa_reference_write(wave, &inst->dst, 1, value);
    return true;
  }
  return false;
}
