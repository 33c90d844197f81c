/* VOPD: two instructions of the vector ALU in one, of which both read before either writes. Each is
 * prepared as if it were alone, and what one writes mostly does not matter to the other. */
#include <string.h>

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/vector/valu.h"

/* One of both, as the decoder would have it alone. */
static isa_inst_t half_of(const isa_inst_t *inst, bool is_second)
{
  const isa_opcode_t *row = is_second ? inst->vopd.row : inst->row;
  isa_inst_t half = {.op = row->op,
                     .encoding = ISA_VOP2,
                     .dwords = inst->dwords,
                     .chip = inst->chip,
                     .row = row,
                     .mask_dwords = inst->mask_dwords,
                     .dst = is_second ? inst->vopd.dst : inst->dst};
  memcpy(half.src, is_second ? inst->vopd.src : inst->src, sizeof half.src);
  return half;
}

bool isa_dual_halves(const isa_inst_t *inst, const isa_limits_t *limits, isa_inst_t halves[2])
{
  if (!inst->row || !inst->vopd.row) /* it was not decoded */
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    halves[i] = half_of(inst, i);
    if (!isa_valu_prepare(&halves[i], limits))
      return false;
  }
  return true;
}

static bool reads(const isa_inst_t *half, unsigned index)
{
  for (unsigned n = 0; n < 3; ++n)
    if (half->src[n].kind == ISA_OPERAND_VGPR && half->src[n].index == index)
      return true;
  return false;
}

/* Each reads what the other writes: the first one's result is kept back. */
static void run_crossed(isa_wave_t *wave, const isa_inst_t *first, const isa_inst_t *second)
{
  isa_row_t before, result, *const row = &wave->v[first->dst.index];
  memcpy(before, *row, sizeof before);
  first->run(wave, first);
  memcpy(result, *row, sizeof result);
  memcpy(*row, before, sizeof before);
  second->run(wave, second);
  memcpy(*row, result, sizeof result);
}

ISA_GOES_ON(run_dual)
static bool run_dual(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_inst_t *const stop = wave->stop, *first = inst->plan;
  isa_inst_t own[2];
  if (!first) { /* it is of no program */
    const isa_limits_t limits = {.chip = inst->chip,
                                 .lanes = ISA_LANES,
                                 .sgprs = wave->sgprs,
                                 .vgprs = wave->vgprs,
                                 .first_agpr = wave->vgprs};
    if (!isa_dual_halves(inst, &limits, own))
      return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
    first = own;
  }
  const isa_inst_t *const second = first + 1;
  if (!reads(second, first->dst.index)) {
    first->run(wave, first);
    second->run(wave, second);
  } else if (!reads(first, second->dst.index)) {
    second->run(wave, second);
    first->run(wave, first);
  } else {
    run_crossed(wave, first, second);
  }
  wave->stop = stop;
  return true;
}

bool isa_dual_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  isa_inst_t halves[2];
  if (!isa_dual_halves(inst, limits, halves))
    return false;
  ISA_RUNS(inst, run_dual);
  return true;
}
