/* FLAT, GLOBAL and SCRATCH instructions. */
#include "softgpu/isa/access.h"
#include "softgpu/isa/opcodes.h"
#include "softgpu/isa/scalar.h"
#include "softgpu/isa/vmem.h"

static uint64_t scalar_base(const isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t base = inst->saddr.kind == ISA_OPERAND_NONE ? 0 : isa_read_s64(wave, inst->saddr.index);
  return base + (uint64_t)(int64_t)inst->offset;
}

static uint64_t lane_address(const isa_wave_t *wave, const isa_inst_t *inst, uint64_t base,
                             unsigned lane)
{
  const isa_row_t *row = isa_rows(wave, &inst->vaddr);
  if (inst->saddr.kind != ISA_OPERAND_NONE)
    return base + row[0][lane];
  return base + (row[0][lane] | (uint64_t)row[1][lane] << 32);
}

/* --- GLOBAL, all lanes active, consecutive addresses: one check and one block of memory --- */

/* The address of lane 0 when lane i's is `bytes` * i further; else 0. */
static uint64_t consecutive(const isa_wave_t *wave, const isa_inst_t *inst, uint32_t bytes)
{
  const isa_row_t *row = isa_rows(wave, &inst->vaddr);
  uint32_t first = row[0][0], wrong = 0;
  if (first > UINT32_MAX - ISA_LANES * bytes)
    return 0;
  for (uint32_t lane = 0; lane < ISA_LANES; lane++)
    wrong |= row[0][lane] ^ (first + lane * bytes);
  if (inst->saddr.kind != ISA_OPERAND_NONE)
    return wrong ? 0 : scalar_base(wave, inst) + first;
  uint32_t high = row[1][0];
  for (uint32_t lane = 0; lane < ISA_LANES; lane++)
    wrong |= row[1][lane] ^ high;
  return wrong ? 0 : scalar_base(wave, inst) + (first | (uint64_t)high << 32);
}

static void load_block(isa_row_t *dst, const uint8_t *at, unsigned dwords)
{
  const uint32_t(*memory)[ISA_LANES] = (const void *)at;
  uint32_t block[ISA_LANES * 4];
  if (dwords == 1) {
    memcpy(dst[0], memory, sizeof *dst);
    return;
  }
  memcpy(block, at, sizeof *dst * dwords);
  for (unsigned i = 0; i < dwords; i++)
    for (unsigned lane = 0; lane < ISA_LANES; lane++)
      dst[i][lane] = block[lane * dwords + i];
}

static void store_block(isa_row_t *data, uint8_t *at, unsigned dwords)
{
  uint32_t block[ISA_LANES * 4];
  if (dwords == 1) {
    memcpy(at, data[0], sizeof *data);
    return;
  }
  for (unsigned i = 0; i < dwords; i++)
    for (unsigned lane = 0; lane < ISA_LANES; lane++)
      block[lane * dwords + i] = data[i][lane];
  memcpy(at, block, sizeof *data * dwords);
}

/* True when the access was done in one block. */
static bool run_block(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                      isa_range_t *range)
{
  bool store = plan->kind == ISA_STORE;
  if ((plan->kind != ISA_LOAD && !store) || plan->bytes < 4 || isa_exec(wave) != UINT64_MAX)
    return false;
  uint64_t address = consecutive(wave, inst, plan->bytes);
  if (!address || !isa_range_holds(range, address, (uint64_t)plan->bytes * ISA_LANES, store))
    return false;
  if (store)
    store_block(isa_rows(wave, &inst->data[0]), isa_range_host(range, address), plan->bytes / 4);
  else
    load_block(isa_rows(wave, &inst->dst), isa_range_host(range, address), plan->bytes / 4);
  return true;
}

static bool run_global(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  isa_range_t *range = isa_range_of(wave, inst);
  isa_range_refresh(range);
  if (run_block(wave, inst, plan, range))
    return true;
  uint64_t base = scalar_base(wave, inst);
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  for (uint64_t left = lanes.active; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint64_t address = lane_address(wave, inst, base, lane);
    if (!isa_reach(wave, range, lane, address, plan->bytes, isa_writes_memory(plan)))
      return false;
    lanes.at[lane] = isa_range_host(range, address);
  }
  return isa_lanes_run(wave, inst, &lanes);
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
    const uint64_t base = isa_read_s64(wave, ISA_FLAT_SCRATCH);
    lanes->swizzled |= 1ull << lane;
    lanes->at[lane] = isa_scratch_at(wave, lane, base, low, plan->bytes);
    return lanes->at[lane] != NULL;
  }
  isa_range_t *range = isa_range_of(wave, inst);
  if (!isa_reach(wave, range, lane, address, plan->bytes, isa_writes_memory(plan)))
    return false;
  lanes->at[lane] = isa_range_host(range, address);
  return true;
}

static bool run_flat(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t base = scalar_base(wave, inst);
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  isa_range_refresh(isa_range_of(wave, inst));
  for (uint64_t left = lanes.active; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    if (!flat_put(wave, inst, &lanes, lane, lane_address(wave, inst, base, lane)))
      return false;
  }
  return isa_lanes_run(wave, inst, &lanes);
}

static bool run_scratch(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  uint64_t base = isa_read_s64(wave, ISA_FLAT_SCRATCH);
  uint32_t scalar = inst->saddr.kind ? wave->s[inst->saddr.index] : 0;
  const isa_row_t *row = inst->vaddr.kind ? isa_rows(wave, &inst->vaddr) : NULL;
  isa_lanes_t lanes = {.active = isa_exec(wave), .swizzled = UINT64_MAX};
  for (uint64_t left = lanes.active; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint32_t offset = scalar + (row ? row[0][lane] : 0) + (uint32_t)inst->offset;
    lanes.at[lane] = isa_scratch_at(wave, lane, base, offset, plan->bytes);
    if (!lanes.at[lane])
      return false;
  }
  return isa_lanes_run(wave, inst, &lanes);
}

bool isa_flat_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  static const struct {
    const char *prefix;
    bool (*run)(isa_wave_t *, const isa_inst_t *);
  } families[] = {{"flat_", run_flat}, {"global_", run_global}, {"scratch_", run_scratch}};
  unsigned family = inst->encoding - ISA_FLAT;
  const struct isa_opcode *row = inst->row;
  const isa_access_t *plan =
      isa_access_find(isa_op_name(inst->op) + strlen(families[family].prefix));
  unsigned address_dwords = family == 2 || inst->saddr.kind ? 1 : 2;
  if (!plan || inst->lds || !isa_vector_allocated(&inst->dst, row->dst, limits) ||
      !isa_vector_allocated(&inst->data[0], row->src[0], limits) ||
      !isa_vector_allocated(&inst->vaddr, address_dwords, limits) ||
      !isa_scalar_prepare(&inst->saddr, family == 2 ? 1 : 2, limits))
    return false;
  inst->plan = plan;
  inst->run = families[family].run;
  return true;
}
