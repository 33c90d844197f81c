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

static bool swap_rows(const isa_wave_t *wave, uint32_t *a, uint32_t *b)
{
  uint64_t exec = isa_exec(wave);
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    uint32_t from_a = a[i], from_b = b[i];
    a[i] = exec >> i & 1 ? from_b : from_a;
    b[i] = exec >> i & 1 ? from_a : from_b;
  }
  return true;
}

static bool run_swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  return swap_rows(wave, wave->v[inst->dst.index], wave->v[inst->src[0].index]);
}

/* --- registers whose numbers M0 adds to --- */

/* What it adds to the numbers of source and destination. */
typedef struct added {
  uint32_t source, destination;
} added_t;

static added_t added_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t m0 = wave->s[ISA_M0];
  switch (inst->op) {
  case ISA_v_movreld_b32:
    return (added_t){0, m0};
  case ISA_v_movrels_b32:
    return (added_t){m0, 0};
  case ISA_v_movrelsd_b32:
    return (added_t){m0, m0};
  default: /* v_movrelsd_2_b32, v_swaprel_b32 */
    return (added_t){m0 & 0x3ff, m0 >> 16 & 0x3ff};
  }
}

static bool is_within(const isa_wave_t *wave, const isa_operand_t *operand, uint32_t added)
{
  return added < wave->vgprs && operand->index + added < wave->vgprs;
}

/* One that is not there is not written. */
static bool run_swaprel(isa_wave_t *wave, const isa_inst_t *inst)
{
  const added_t added = added_of(wave, inst);
  return !is_within(wave, &inst->dst, added.destination) ||
         !is_within(wave, &inst->src[0], added.source) ||
         swap_rows(wave, wave->v[inst->dst.index + added.destination],
                   wave->v[inst->src[0].index + added.source]);
}

/* v_mov_b32 with other registers. A source that is not there is v0; nor is a destination written
 * that is not there. (SDWA and DPP, which it may have, are why it is not a loop.) */
static bool run_movrel(isa_wave_t *wave, const isa_inst_t *inst)
{
  const added_t added = added_of(wave, inst);
  const isa_inst_t *const stop = wave->stop;
  isa_inst_t moved[2] = {*inst};
  if (!is_within(wave, &inst->dst, added.destination))
    return true;
  moved->dst.index = (uint16_t)(inst->dst.index + added.destination);
  if (added.source)
    moved->src[0].index = is_within(wave, &inst->src[0], added.source)
                              ? (uint16_t)(inst->src[0].index + added.source)
                              : 0;
  wave->stop = &moved[1];
  const bool ok = isa_valu_build()->general(wave, moved);
  wave->stop = stop;
  return ok;
}

/* --- lanes that take from others --- */

/* What a lane gets of another one: as DPP has it, FI takes what an inactive lane has, else
 * BOUND_CTRL makes it 0, else nothing is written. */
static void put_across(const isa_wave_t *wave, const isa_inst_t *inst, uint32_t *to, unsigned lane,
                       unsigned from, uint32_t value)
{
  const bool is_there = isa_exec(wave) >> from & 1 || inst->vop.op_sel & 1;
  if (isa_exec(wave) >> lane & 1 && (is_there || inst->vop.op_sel & 2))
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

/* Lanes of one half of a wave of 64 get what those of the other one have. */
static bool run_permlane64(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_row_t had;
  memcpy(had, wave->v[inst->src[0].index], sizeof had);
  ISA_EACH_LANE(lane, ISA_LANES == 64 ? isa_exec(wave) : 0)
    wave->v[inst->dst.index][lane] = had[lane ^ 32];
  return true;
}

static bool run_swap_halves(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned at[2] = {inst->dst.half == ISA_HIGH_HALF ? 16 : 0,
                          inst->src[0].half == ISA_HIGH_HALF ? 16 : 0};
  uint32_t *const rows[2] = {wave->v[inst->dst.index], wave->v[inst->src[0].index]};
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const uint32_t values[2] = {rows[0][lane] >> at[0] & 0xffff, rows[1][lane] >> at[1] & 0xffff};
    for (unsigned n = 0; n < 2; ++n)
      rows[n][lane] = (rows[n][lane] & ~(0xffffu << at[n])) | values[1 - n] << at[n];
  }
  return true;
}

/* Every lane of a row of 16 takes from one of that row, or of the row beside it; from which, four
 * bits of sources 1 and 2 say, of all rows the same. */
static bool run_permlane(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned beside = inst->op == ISA_v_permlanex16_b32 ? 16 : 0;
  const uint64_t selects =
      isa_read32(wave, &inst->src[1]) | (uint64_t)isa_read32(wave, &inst->src[2]) << 32;
  uint32_t *const to = wave->v[inst->dst.index], had[ISA_LANES];
  memcpy(had, wave->v[inst->src[0].index], sizeof had);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    const unsigned from = ((lane & ~15u) ^ beside) | (selects >> 4 * (lane & 15) & 15);
    put_across(wave, inst, to, lane, from, had[from]);
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
      s[n] = isa_vector_dword(wave, inst, n, 0, lane) >>
             (is_half && inst->vop.op_sel >> n & 1 ? 16 : 0);
    const uint32_t value = looked_up((unsigned)inst->simm, s[0], s[1], s[2]), old = d[0][lane];
    const unsigned shift = inst->vop.op_sel >> 3 ? 16 : 0;
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
static bool is_constant_ok(const isa_inst_t *inst)
{
  for (unsigned n = 0; n < 3 && inst->op == ISA_v_bitop3_b16; ++n)
    if (inst->src[n].kind == ISA_OPERAND_INLINE && inst->src[n].index >= ISA_CODE_FLOATS)
      return false;
  return true;
}

bool isa_valu_lane_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  static const struct {
    uint16_t op;
    uint8_t dst, src[3];
    isa_run_t run;
  } rows[] = {
      {ISA_v_nop, NONE, {NONE}, isa_run_nothing},
      {ISA_v_clrexcp, NONE, {NONE}, isa_run_nothing},   /* no exceptions are recorded */
      {ISA_v_pipeflush, NONE, {NONE}, isa_run_nothing}, /* each is complete before the next */
      {ISA_v_readfirstlane_b32, SGPR, {ANY}, run_readfirstlane},
      {ISA_v_readlane_b32, SGPR, {ANY, SCALAR}, run_readlane},
      {ISA_v_writelane_b32, VECTOR, {SCALAR, SCALAR}, run_writelane},
      {ISA_v_swap_b32, VECTOR, {VECTOR}, run_swap},
      {ISA_v_swap_b16, VECTOR, {VECTOR}, run_swap_halves},
      {ISA_v_permlane64_b32, VECTOR, {VECTOR}, run_permlane64},
      {ISA_v_swaprel_b32, VECTOR, {VECTOR}, run_swaprel},
      {ISA_v_movreld_b32, VECTOR, {ANY}, run_movrel},
      {ISA_v_movrels_b32, VECTOR, {VECTOR}, run_movrel},
      {ISA_v_movrelsd_b32, VECTOR, {VECTOR}, run_movrel},
      {ISA_v_movrelsd_2_b32, VECTOR, {VECTOR}, run_movrel},
      {ISA_v_permlane16_b32, VECTOR, {VECTOR, SCALAR, SCALAR}, run_permlane},
      {ISA_v_permlanex16_b32, VECTOR, {VECTOR, SCALAR, SCALAR}, run_permlane},
      {ISA_v_permlane16_swap_b32, VECTOR, {VECTOR}, run_permlane_swap},
      {ISA_v_permlane32_swap_b32, VECTOR, {VECTOR}, run_permlane_swap},
      {ISA_v_bitop3_b32, VECTOR, {ANY, ANY, ANY}, run_bitop3},
      {ISA_v_bitop3_b16, VECTOR, {ANY, ANY, ANY}, run_bitop3},
  };
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].op != inst->op)
      continue;
    const bool is_move = rows[i].run == run_movrel;
    for (unsigned n = 0; n < 3; ++n)
      if (!is_kind(&inst->src[n], rows[i].src[n], limits))
        return false;
    if ((is_move ? inst->vop.clamp : inst->vop.has_sdwa || inst->vop.has_dpp) ||
        !is_kind(&inst->dst, rows[i].dst, limits) || !is_constant_ok(inst))
      return false;
    inst->plan = is_move ? &isa_valu_build()->ops[ISA_v_mov_b32] : inst->plan;
    inst->run = rows[i].run;
    return true;
  }
  return false;
}
