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

/* Every lane gets that of its row which sources 1 and 2 name, or of the row's neighbour: four bits
 * a lane. op_sel says whether inactive ones are read, and else whether 0 is. */
static void permute_rows(isa_wave_t *wave, const isa_inst_t *inst, unsigned other_row)
{
  const uint64_t selects = isa_reference_scalar(wave, &inst->src[1], 1, 32) |
                           isa_reference_scalar(wave, &inst->src[2], 1, 32) << 32;
  const bool reads_inactive = inst->vop.op_sel & 1, reads_zero = inst->vop.op_sel & 2;
  uint32_t values[ISA_LANES];
  for (unsigned i = 0; i < ISA_LANES; ++i)
    values[i] = lane_value(wave, &inst->src[0], i);
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    const unsigned from = (i / 16 ^ other_row) * 16 + (unsigned)(selects >> i % 16 * 4 & 15);
    const bool is_read = reads_inactive || isa_exec(wave) >> from & 1;
    if (isa_exec(wave) >> i & 1 && (is_read || reads_zero))
      wave->v[inst->dst.index][i] = is_read ? values[from] : 0;
  }
}

/* Registers that M0 is added to, or both of its halves. */
static bool is_relative(unsigned op, bool *moves_source, bool *moves_destination, bool *has_two)
{
  *has_two = op == ISA_v_movrelsd_2_b32 || op == ISA_v_swaprel_b32;
  *moves_source = *has_two || op == ISA_v_movrels_b32 || op == ISA_v_movrelsd_b32;
  *moves_destination = *has_two || op == ISA_v_movreld_b32 || op == ISA_v_movrelsd_b32;
  return *moves_source || *moves_destination;
}

enum { BEYOND = UINT16_MAX };

static uint16_t moved_index(const isa_wave_t *wave, unsigned index, uint32_t by)
{
  const uint64_t sum = (uint64_t)index + by;
  return sum < wave->vgprs ? (uint16_t)sum : BEYOND;
}

bool isa_reference_moves(const isa_wave_t *wave, const isa_inst_t *inst, isa_inst_t *moved)
{
  bool source, destination, has_two;
  const uint32_t m0 = wave->s[ISA_M0];
  if (!is_relative(inst->op, &source, &destination, &has_two))
    return false;
  *moved = *inst;
  if (source)
    moved->src[0].index = moved_index(wave, inst->src[0].index, has_two ? m0 & 0x3ff : m0);
  if (destination)
    moved->dst.index = moved_index(wave, inst->dst.index, has_two ? m0 >> 16 & 0x3ff : m0);
  return true;
}

/* Both are destinations: where one is beyond the registers, nothing happens. */
static void swap(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned x = inst->dst.index, y = inst->src[0].index;
  for (unsigned i = 0; x != BEYOND && y != BEYOND && i < ISA_LANES; ++i) {
    const uint32_t first = wave->v[x][i];
    if (!(isa_exec(wave) >> i & 1))
      continue;
    wave->v[x][i] = wave->v[y][i];
    wave->v[y][i] = first;
  }
}

/* Halves of registers, each of which may be the upper one. */
static void swap_halves(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint32_t *const rows[2] = {wave->v[inst->dst.index], wave->v[inst->src[0].index]};
  const unsigned shifts[2] = {inst->dst.half == ISA_HIGH_HALF ? 16 : 0,
                              inst->src[0].half == ISA_HIGH_HALF ? 16 : 0};
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    const uint32_t halves[2] = {rows[0][i] >> shifts[0] & 0xffff, rows[1][i] >> shifts[1] & 0xffff};
    for (unsigned n = 0; n < 2 && isa_exec(wave) >> i & 1; ++n)
      rows[n][i] = (rows[n][i] & ~(0xffffu << shifts[n])) | halves[1 - n] << shifts[n];
  }
}

/* The other half of the wave's, active there or not. Of waves of 32 there is none, and nothing
 * happens. */
static void exchange_halves(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint32_t values[ISA_LANES];
  for (unsigned i = 0; i < ISA_LANES; ++i)
    values[i] = lane_value(wave, &inst->src[0], i);
  for (unsigned i = 0; ISA_LANES == 64 && i < ISA_LANES; ++i)
    if (isa_exec(wave) >> i & 1)
      wave->v[inst->dst.index][i] = values[(i + 32) % ISA_LANES];
}

bool isa_reference_lanes(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_operand_t *dst = &inst->dst, *source = &inst->src[0];
  const unsigned lane = (unsigned)isa_reference_scalar(wave, &inst->src[1], 1, 32) % ISA_LANES;
  switch (inst->op) {
  case ISA_v_nop:
  case ISA_v_pipeflush:
  case ISA_v_clrexcp:
    return true;
  case ISA_v_readfirstlane_b32:
    isa_reference_write(wave, dst, 1, lane_value(wave, source, first_active(wave)));
    return true;
  case ISA_v_readlane_b32:
    isa_reference_write(wave, dst, 1, lane_value(wave, source, lane));
    return true;
  case ISA_v_writelane_b32: {
    uint32_t index = dst->index + (wave->gpr_index_mode & 8 ? wave->s[ISA_M0] & 255 : 0);
    if (index < wave->vgprs)
      wave->v[index][lane] = (uint32_t)isa_reference_scalar(wave, source, 1, 32);
    return true;
  }
  case ISA_v_swap_b32:
    swap(wave, inst);
    return true;
  case ISA_v_swap_b16:
    swap_halves(wave, inst);
    return true;
  case ISA_v_permlane64_b32:
    exchange_halves(wave, inst);
    return true;
  case ISA_v_swaprel_b32: {
    isa_inst_t moved;
    isa_reference_moves(wave, inst, &moved);
    swap(wave, &moved);
    return true;
  }
  case ISA_v_permlane16_b32:
    permute_rows(wave, inst, 0);
    return true;
  case ISA_v_permlanex16_b32:
    permute_rows(wave, inst, 1);
    return true;
  case ISA_v_pk_mov_b32: { /* the low result from source 0's pair, the high one from source 1's */
    uint32_t values[2][ISA_LANES];
    for (unsigned n = 0; n < 2; ++n)
      for (unsigned i = 0; i < ISA_LANES; ++i) {
        const isa_operand_t *pair = &inst->src[n];
        unsigned second = inst->vop.op_sel >> n & 1;
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
