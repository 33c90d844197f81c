/* Instructions that look at single lanes or do nothing: no loops over lanes. */
#include "softgpu/isa/scalar.h"
#include "softgpu/isa/valu.h"

static unsigned first_active(const isa_wave_t *wave)
{
  uint64_t exec = isa_exec(wave);
  return exec ? (unsigned)__builtin_ctzll(exec) : 0;
}

static const uint32_t *row_of(const isa_wave_t *wave, const isa_operand_t *operand)
{
  uint32_t index = operand->index;
  if (operand->kind == ISA_OPERAND_AGPR)
    return wave->a[index];
  if (wave->gpr_index_mode & 1)
    index += wave->s[ISA_M0] & 0xff;
  return wave->v[index < wave->vgprs ? index : 0];
}

static void read_lane(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const isa_operand_t *source = &inst->src[0];
  bool is_vector = source->kind == ISA_OPERAND_VGPR || source->kind == ISA_OPERAND_AGPR;
  wave->s[inst->dst.index] = is_vector ? row_of(wave, source)[lane] : isa_read32(wave, source);
}

static bool run_readfirstlane(isa_wave_t *wave, const isa_inst_t *inst)
{
  read_lane(wave, inst, first_active(wave));
  return true;
}

static bool run_readlane(isa_wave_t *wave, const isa_inst_t *inst)
{
  read_lane(wave, inst, isa_read32(wave, &inst->src[1]) & 63);
  return true;
}

/* Ignores exec. */
static bool run_writelane(isa_wave_t *wave, const isa_inst_t *inst)
{
  unsigned lane = isa_read32(wave, &inst->src[1]) & 63;
  uint32_t index = inst->dst.index;
  if (wave->gpr_index_mode & 8)
    index += wave->s[ISA_M0] & 0xff;
  if (index < wave->vgprs)
    wave->v[index][lane] = isa_read32(wave, &inst->src[0]);
  return true;
}

static bool run_swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t exec = isa_exec(wave);
  uint32_t *a = wave->v[inst->dst.index], *b = wave->v[inst->src[0].index];
  for (unsigned i = 0; i < ISA_LANES; i++) {
    uint32_t from_a = a[i], from_b = b[i];
    a[i] = exec >> i & 1 ? from_b : from_a;
    b[i] = exec >> i & 1 ? from_a : from_b;
  }
  return true;
}

static bool run_nothing(isa_wave_t *wave, const isa_inst_t *inst)
{
  (void)wave, (void)inst;
  return true;
}

enum { NONE, ANY, SCALAR, VECTOR, SGPR };

static bool is_kind(isa_operand_t *operand, unsigned kind, const isa_limits_t *limits)
{
  bool is_vector = operand->kind == ISA_OPERAND_VGPR || operand->kind == ISA_OPERAND_AGPR;
  switch (kind) {
  case NONE:
    return true;
  case ANY:
    return isa_valu_operand_ok(operand, 1, limits);
  case SCALAR:
    return isa_valu_operand_ok(operand, 1, limits) && !is_vector;
  case VECTOR:
    return isa_valu_operand_ok(operand, 1, limits) && operand->kind == ISA_OPERAND_VGPR;
  default:
    return isa_valu_operand_ok(operand, 1, limits) && operand->kind == ISA_OPERAND_SGPR;
  }
}

bool isa_valu_lane_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  static const struct {
    uint16_t op;
    uint8_t dst, src[2];
    valu_run_t *run;
  } rows[] = {
      {ISA_v_nop, NONE, {NONE, NONE}, run_nothing},
      {ISA_v_clrexcp, NONE, {NONE, NONE}, run_nothing}, /* no exceptions are recorded */
      {ISA_v_readfirstlane_b32, SGPR, {ANY, NONE}, run_readfirstlane},
      {ISA_v_readlane_b32, SGPR, {ANY, SCALAR}, run_readlane},
      {ISA_v_writelane_b32, VECTOR, {SCALAR, SCALAR}, run_writelane},
      {ISA_v_swap_b32, VECTOR, {VECTOR, NONE}, run_swap},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].op != inst->op)
      continue;
    if (inst->has_sdwa || inst->has_dpp || !is_kind(&inst->dst, rows[i].dst, limits) ||
        !is_kind(&inst->src[0], rows[i].src[0], limits) ||
        !is_kind(&inst->src[1], rows[i].src[1], limits))
      return false;
    inst->run = rows[i].run;
    return true;
  }
  return false;
}
