/* Instructions that look at single lanes or do nothing: no loops over lanes. */
#include "softgpu/isa/exec/vector/vector.h"

static unsigned first_active(const isa_wave_t *wave)
{
  uint64_t exec = isa_exec(wave);
  return exec ? (unsigned)__builtin_ctzll(exec) : 0;
}

static bool read_lane(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const isa_operand_t *source = &inst->src[0];
  wave->s[inst->dst.index] = isa_is_vector(source) ? isa_vector_rows(wave, source, 0, 1)[0][lane]
                                                   : isa_read32(wave, source);
  return true;
}

static bool run_readfirstlane(isa_wave_t *wave, const isa_inst_t *inst)
{
  return read_lane(wave, inst, first_active(wave));
}

static bool run_readlane(isa_wave_t *wave, const isa_inst_t *inst)
{
  return read_lane(wave, inst, isa_read32(wave, &inst->src[1]) % ISA_LANES);
}

/* Ignores exec. */
static bool run_writelane(isa_wave_t *wave, const isa_inst_t *inst)
{
  unsigned lane = isa_read32(wave, &inst->src[1]) % ISA_LANES;
  isa_row_t *const d = isa_vector_destination(wave, inst, 1);
  if (d)
    d[0][lane] = isa_read32(wave, &inst->src[0]);
  return true;
}

static bool run_swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t exec = isa_exec(wave);
  uint32_t *a = wave->v[inst->dst.index], *b = wave->v[inst->src[0].index];
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    uint32_t from_a = a[i], from_b = b[i];
    a[i] = exec >> i & 1 ? from_b : from_a;
    b[i] = exec >> i & 1 ? from_a : from_b;
  }
  return true;
}

/* What a lane gets of another one: as DPP has it, FI takes what an inactive lane has, else
 * BOUND_CTRL makes it 0, else nothing is written. */
static void put_across(const isa_wave_t *wave, const isa_inst_t *inst, uint32_t *to, unsigned lane,
                       unsigned from, uint32_t value)
{
  const bool is_there = isa_exec(wave) >> from & 1 || inst->op_sel & 1;
  if (isa_exec(wave) >> lane & 1 && (is_there || inst->op_sel & 2))
    to[lane] = is_there ? value : 0;
}

/* Odd rows of 16 (halves of 32) lanes of the destination change places with even ones of the
 * source. */
static bool run_permlane_swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned step = inst->op == ISA_v_permlane16_swap_b32 ? 16 : 32;
  uint32_t *odd = wave->v[inst->dst.index], *even = wave->v[inst->src[0].index];
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    if (lane & step)
      continue;
    const uint32_t up = even[lane], down = odd[lane + step];
    put_across(wave, inst, even, lane, lane + step, down);
    put_across(wave, inst, odd, lane + step, lane, up);
  }
  return true;
}

/* Bit 4 * a + 2 * b + c of the table is the result for these bits of the sources. */
static uint32_t looked_up(unsigned table, uint32_t a, uint32_t b, uint32_t c)
{
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1)
      result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}

static bool run_bitop3(isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_half = inst->op == ISA_v_bitop3_b16;
  isa_row_t *d = isa_vector_destination(wave, inst, 1);
  ISA_EACH_LANE(lane, d ? isa_exec(wave) : 0) {
    uint32_t s[3];
    for (unsigned n = 0; n < 3; ++n)
      s[n] =
          isa_vector_dword(wave, inst, n, 0, lane) >> (is_half && inst->op_sel >> n & 1 ? 16 : 0);
    const uint32_t value = looked_up((unsigned)inst->simm, s[0], s[1], s[2]), old = d[0][lane];
    const unsigned shift = inst->op_sel >> 3 ? 16 : 0;
    const uint32_t field = is_half ? 0xffffu << shift : UINT32_MAX;
    d[0][lane] = (value << (is_half ? shift : 0) & field) | (old & ~field);
  }
  return true;
}

enum { NONE, ANY, SCALAR, VECTOR, SGPR };

static bool is_kind(isa_operand_t *operand, unsigned kind, const isa_limits_t *limits)
{
  switch (kind) {
  case NONE:
    return true;
  case ANY:
    return isa_operand_require(operand, 1, limits);
  case SCALAR:
    return isa_operand_require(operand, 1, limits) && !isa_is_vector(operand);
  case VECTOR:
    return isa_operand_require(operand, 1, limits) && operand->kind == ISA_OPERAND_VGPR;
  default:
    return isa_operand_require(operand, 1, limits) && operand->kind == ISA_OPERAND_SGPR;
  }
}

/* A 16-bit constant is another one than the same encoding's in f32. */
static bool is_third_ok(isa_inst_t *inst, const isa_limits_t *limits)
{
  if (inst->src[2].kind != ISA_OPERAND_NONE && !isa_operand_require(&inst->src[2], 1, limits))
    return false;
  for (unsigned n = 0; n < 3 && inst->op == ISA_v_bitop3_b16; ++n)
    if (inst->src[n].kind == ISA_OPERAND_INLINE && inst->src[n].index >= ISA_CODE_FLOATS)
      return false;
  return true;
}

bool isa_valu_lane_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  static const struct {
    uint16_t op;
    uint8_t dst, src[2];
    isa_run_t run;
  } rows[] = {
      {ISA_v_nop, NONE, {NONE, NONE}, isa_run_nothing},
      {ISA_v_clrexcp, NONE, {NONE, NONE}, isa_run_nothing}, /* no exceptions are recorded */
      {ISA_v_readfirstlane_b32, SGPR, {ANY, NONE}, run_readfirstlane},
      {ISA_v_readlane_b32, SGPR, {ANY, SCALAR}, run_readlane},
      {ISA_v_writelane_b32, VECTOR, {SCALAR, SCALAR}, run_writelane},
      {ISA_v_swap_b32, VECTOR, {VECTOR, NONE}, run_swap},
      {ISA_v_permlane16_swap_b32, VECTOR, {VECTOR, NONE}, run_permlane_swap},
      {ISA_v_permlane32_swap_b32, VECTOR, {VECTOR, NONE}, run_permlane_swap},
      {ISA_v_bitop3_b32, VECTOR, {ANY, ANY}, run_bitop3},
      {ISA_v_bitop3_b16, VECTOR, {ANY, ANY}, run_bitop3},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].op != inst->op)
      continue;
    if (inst->has_sdwa || inst->has_dpp || !is_kind(&inst->dst, rows[i].dst, limits) ||
        !is_kind(&inst->src[0], rows[i].src[0], limits) ||
        !is_kind(&inst->src[1], rows[i].src[1], limits) || !is_third_ok(inst, limits))
      return false;
    inst->run = rows[i].run;
    return true;
  }
  return false;
}
