/* The reference engine's data that vector instructions take from other lanes: DPP. */
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/reference/reference.h"

/* The lane that DPP reads for `lane`; -1 for none. */
static int dpp_source(unsigned ctrl, int lane)
{
  const int column = lane % 16, row = lane - column, n = (int)(ctrl & 15);
  if (ctrl <= 0xff)
    return lane / 4 * 4 + (int)(ctrl >> lane % 4 * 2 & 3);
  switch (ctrl & 0x1f0) {
  case 0x100:
    return column + n <= 15 ? lane + n : -1;
  case 0x110:
    return column - n >= 0 ? lane - n : -1;
  case 0x120:
    return row + (column + 16 - n) % 16;
  case 0x150:
    return row + n;
  case 0x160:
    return row + (column ^ n);
  default:
    break;
  }
  switch (ctrl) {
  case 0x130:
    return lane == 63 ? -1 : lane + 1;
  case 0x134:
    return lane == 63 ? 0 : lane + 1;
  case 0x138:
    return lane - 1;
  case 0x13c:
    return lane == 0 ? 63 : lane - 1;
  case 0x140:
    return row + 15 - column;
  case 0x141:
    return lane / 8 * 8 + 7 - lane % 8;
  case 0x142:
    return row - 1; /* -1 in the first row */
  default:
    return lane >= 32 ? 31 : -1;
  }
}

/* DPP8 names, of each group of eight lanes, the one that each reads. */
static int dpp8_source(const isa_inst_t *inst, unsigned lane)
{
  return (int)(lane / 8 * 8 + ((uint32_t)inst->simm >> lane % 8 * 3 & 7));
}

bool isa_reference_takes_part(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                              int *from)
{
  const isa_dpp_t *dpp = &inst->vop.dpp;
  const uint64_t exec = isa_exec(wave);
  *from = (int)lane;
  if (inst->vop.has_dpp) {
    *from = inst->vop.has_dpp8 ? dpp8_source(inst, lane) : dpp_source(dpp->ctrl, (int)lane);
    if (*from >= 0 && !dpp->fi && !(exec >> *from & 1))
      *from = -1;
  }
  if (inst->vop.has_dpp && !inst->vop.has_dpp8) {
    if (!(dpp->row_mask >> lane / 16 & 1) || !(dpp->bank_mask >> lane % 16 / 4 & 1) ||
        (*from < 0 && !dpp->bound_ctrl))
      return false;
  }
  return exec >> lane & 1;
}

/* MI200 ISA document, "DPP": quads' permutations, shifts and rotations of rows, of the wave by one
 * lane, mirrors, broadcasts; and one lane for its row. RDNA2 ISA document: nothing of the wave and
 * no broadcasts from row to row, but lanes by XOR. */
bool isa_reference_allows_dpp(const isa_inst_t *inst)
{
  const unsigned ctrl = inst->vop.dpp.ctrl, row = ctrl & 0x1f0, count = ctrl & 15;
  if (inst->vop.has_dpp8)
    return true;
  if (isa_chip(inst->chip)->dpp_in_rows && (row == 0x130 || row == 0x140 || row == 0x160))
    return row == 0x160 || (row == 0x140 && count < 2);
  if (row >= 0x100 && row <= 0x120)
    return count > 0;
  if (row == 0x130)
    return count % 4 == 0;
  return ctrl < 0x100 || row == 0x150 || (row == 0x140 && count < 4);
}
