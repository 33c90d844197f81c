/* The reference engine: vector instructions that name lanes, or move registers whole. */
#include "softgpu/isa/reference/reference.h"

static unsigned first_active(const isa_wave_t *wave)
{
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1)
      return lane;
  return 0;
}

static uint32_t lane_value(const isa_wave_t *wave, const isa_operand_t *operand, unsigned lane)
{
  if (isa_reference_is_vector(operand))
    return isa_reference_register(wave, operand, 0, 1, 0, lane);
  return (uint32_t)isa_reference_scalar(wave, operand, 1, 32);
}

bool isa_reference_lanes(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_operand_t *dst = &inst->dst, *source = &inst->src[0];
  const unsigned lane = (unsigned)isa_reference_scalar(wave, &inst->src[1], 1, 32) % ISA_LANES;
  switch (inst->op) {
  case ISA_v_nop:
  case ISA_v_clrexcp:
    return true;
  case ISA_v_readfirstlane_b32:
    wave->s[dst->index] = lane_value(wave, source, first_active(wave));
    return true;
  case ISA_v_readlane_b32:
    wave->s[dst->index] = lane_value(wave, source, lane);
    return true;
  case ISA_v_writelane_b32: {
    uint32_t index = dst->index + (wave->gpr_index_mode & 8 ? wave->s[ISA_M0] & 255 : 0);
    if (index < wave->vgprs)
      wave->v[index][lane] = (uint32_t)isa_reference_scalar(wave, source, 1, 32);
    return true;
  }
  case ISA_v_swap_b32:
    for (unsigned i = 0; i < ISA_LANES; ++i)
      if (isa_exec(wave) >> i & 1) {
        uint32_t value = wave->v[dst->index][i];
        wave->v[dst->index][i] = wave->v[source->index][i];
        wave->v[source->index][i] = value;
      }
    return true;
  case ISA_v_pk_mov_b32: { /* the low result from source 0's pair, the high one from source 1's */
    uint32_t values[2][ISA_LANES];
    for (unsigned n = 0; n < 2; ++n)
      for (unsigned i = 0; i < ISA_LANES; ++i) {
        const isa_operand_t *pair = &inst->src[n];
        unsigned second = inst->op_sel >> n & 1;
        values[n][i] =
            isa_reference_is_vector(pair) ? isa_reference_register(wave, pair, (int)n, 2, second, i)
            : pair->kind == ISA_OPERAND_SGPR ? wave->s[pair->index + second]
                                             : (uint32_t)isa_reference_scalar(wave, pair, 1, 32);
      }
    for (unsigned i = 0; i < ISA_LANES; ++i)
      if (isa_exec(wave) >> i & 1) {
        wave->v[dst->index][i] = values[0][i];
        wave->v[dst->index + 1][i] = values[1][i];
      }
    return true;
  }
  default:
    return false;
  }
}
