/* FLAT, GLOBAL and SCRATCH instructions. */
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/move.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/operand.h"

static uint64_t scalar_base(const isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t base =
      inst->mem.saddr.kind == ISA_OPERAND_NONE ? 0 : isa_read_s64(wave, inst->mem.saddr.index);
  return base + (uint64_t)(int64_t)inst->mem.offset;
}

static uint64_t lane_address(const isa_wave_t *wave, const isa_inst_t *inst, uint64_t base,
                             unsigned lane)
{
  if (!inst->mem.vaddr.kind) /* of global_load_dword_addtid, the lane's dword */
    return base + 4 * lane;
  const isa_row_t *row = isa_rows(wave, &inst->mem.vaddr);
  if (inst->mem.saddr.kind != ISA_OPERAND_NONE)
    return base + row[0][lane];
  return base + (row[0][lane] | (uint64_t)row[1][lane] << 32);
}

/* --- GLOBAL --- */

/* Whole dwords that are all in the range that the instruction used before. False when they are not,
 * and nothing is done. */
static bool run_whole(isa_wave_t *wave, const isa_inst_t *inst, const isa_range_t *range)
{
  const isa_access_t *plan = inst->plan;
  const bool is_store = plan->kind == ISA_STORE;
  if ((plan->kind != ISA_LOAD && !is_store) || plan->bytes < 4 || !inst->mem.vaddr.kind ||
      (is_store && !(range->flags & SOFTGPU_MEMORY_WRITE)))
    return false;
  const isa_mover_t *mover = isa_mover();
  const isa_row_t *address = isa_rows(wave, &inst->mem.vaddr);
  uint8_t *base = isa_range_host(range, range->base);
  isa_moves_t moves;
  if (!mover->look_wide(wave, address[0], inst->mem.saddr.kind ? NULL : address[1],
                        scalar_base(wave, inst) - range->base, plan->bytes, &moves) ||
      !isa_moves_are_within(&moves, 0, range->size))
    return false;
  if (is_store)
    mover->store(wave, isa_rows(wave, &inst->mem.data[0]), plan->bytes / 4u, base, &moves);
  else
    mover->load(wave, isa_rows(wave, &inst->dst), plan->bytes / 4u, base, &moves);
  return true;
}

ISA_GOES_ON(run_global)
static bool run_global(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  isa_range_t *range = isa_range_of(wave, inst);
  isa_range_refresh(range);
  if (run_whole(wave, inst, range))
    return true;
  uint64_t base = scalar_base(wave, inst);
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  ISA_EACH_LANE(lane, lanes.active) {
    uint64_t address = lane_address(wave, inst, base, lane);
    if (!isa_reach(wave, range, lane, address, plan->bytes, plan->kind))
      return false;
    lanes.at[lane] = isa_range_host(range, address);
  }
  return isa_lanes_run(wave, inst, &lanes);
}

/* Where a work-item's private segment begins, of lane 0. */
static uint64_t flat_scratch(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return isa_chip(inst->chip)->has_flat_scratch ? isa_read_s64(wave, ISA_FLAT_SCRATCH)
                                                : wave->flat_scratch;
}

/* --- FLAT: the upper half of an address may select LDS or scratch --- */

static bool flat_put(isa_wave_t *wave, const isa_inst_t *inst, isa_lanes_t *lanes, unsigned lane,
                     uint64_t address)
{
  const isa_access_t *plan = inst->plan;
  const uint32_t high = (uint32_t)(address >> 32), low = (uint32_t)address;
  if (high == wave->dispatch->shared_aperture_hi)
    return isa_lanes_put_lds(wave, plan, lanes, lane, low);
  if (high == wave->dispatch->private_aperture_hi) {
    const uint64_t base = flat_scratch(wave, inst);
    lanes->swizzled |= 1ull << lane;
    lanes->at[lane] = isa_scratch_at(wave, lane, base, low, plan->bytes);
    return lanes->at[lane] != NULL;
  }
  isa_range_t *range = isa_range_of(wave, inst);
  if (!isa_reach(wave, range, lane, address, plan->bytes, plan->kind))
    return false;
  lanes->at[lane] = isa_range_host(range, address);
  return true;
}

/* Whether no address of a range selects LDS or scratch. */
static bool is_memory_only(const isa_wave_t *wave, const isa_range_t *range)
{
  const uint64_t first = range->base >> 32, last = (range->base + range->size - 1) >> 32;
  const uint64_t shared_aperture = wave->dispatch->shared_aperture_hi;
  const uint64_t private_aperture = wave->dispatch->private_aperture_hi;
  return (shared_aperture < first || shared_aperture > last) &&
         (private_aperture < first || private_aperture > last);
}

ISA_GOES_ON(run_flat)
static bool run_flat(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_range_t *range = isa_range_of(wave, inst);
  isa_range_refresh(range);
  if (is_memory_only(wave, range) && run_whole(wave, inst, range))
    return true;
  uint64_t base = scalar_base(wave, inst);
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  ISA_EACH_LANE(lane, lanes.active)
    if (!flat_put(wave, inst, &lanes, lane, lane_address(wave, inst, base, lane)))
      return false;
  return isa_lanes_run(wave, inst, &lanes);
}

static bool run_scratch(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  uint64_t base = flat_scratch(wave, inst);
  uint32_t scalar = inst->mem.saddr.kind ? wave->s[inst->mem.saddr.index] : 0;
  const isa_row_t *row = inst->mem.vaddr.kind ? isa_rows(wave, &inst->mem.vaddr) : NULL;
  isa_lanes_t lanes = {.active = isa_exec(wave), .swizzled = ISA_ALL_LANES};
  ISA_EACH_LANE(lane, lanes.active) {
    uint32_t offset = scalar + (row ? row[0][lane] : 0) + (uint32_t)inst->mem.offset;
    lanes.at[lane] = isa_scratch_at(wave, lane, base, offset, plan->bytes);
    if (!lanes.at[lane])
      return false;
  }
  return isa_lanes_run(wave, inst, &lanes);
}

bool isa_flat_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *plan = isa_access_of(inst->op);
  const bool is_scratch = inst->encoding == ISA_SCRATCH;
  unsigned address_dwords = is_scratch || inst->mem.saddr.kind ? 1 : 2;
  if (!plan || inst->mem.lds || !isa_operand_prepare(&inst->dst, row->dst, limits) ||
      !isa_operand_prepare(&inst->mem.data[0], row->src[0], limits) ||
      !isa_operand_prepare(&inst->mem.vaddr, address_dwords, limits) ||
      !isa_operand_prepare(&inst->mem.saddr, is_scratch ? 1 : 2, limits))
    return false;
  inst->plan = plan;
  inst->is_alone = plan->kind == ISA_LOAD_LDS;
  if (is_scratch)
    inst->run = run_scratch;
  else if (inst->encoding == ISA_FLAT)
    ISA_RUNS(inst, run_flat);
  else
    ISA_RUNS(inst, run_global);
  return true;
}
