/* Reads of LDS that was not written, races in LDS, reads of kernel arguments that were not
 * supplied, scalar stores that are not written back. */
#include "softgpu/isa/exec/memory/checks.h"

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/lds_load.h"

/* --- LDS --- */

/* What the lane stores of its registers. */
static void set_words(isa_touch_t *touch, const isa_inst_t *inst, unsigned element, unsigned form)
{
  const isa_operand_t *data = &inst->mem.data[element];
  if (touch->reads || !data->kind)
    return;
  touch->words = &isa_rows(touch->wave, data)[0][touch->lane];
  touch->apart = ISA_LANES;
  touch->shift = form >= ISA_FORM_HIGH_ZERO ? 16 : 0;
}

static bool check_ds(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_ds_touch_t what = isa_ds_touch(inst);
  isa_touch_t touch = isa_touch_of(wave, what.kind, what.bytes);
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    touch.lane = lane;
    for (unsigned i = 0; i < what.count; ++i) {
      touch.address = isa_rows(wave, &inst->mem.vaddr)[0][touch.lane] + what.offset[i];
      set_words(&touch, inst, i, what.form);
      if (!isa_shadow_check(&touch))
        return false;
    }
  }
  return true;
}

/* --- kernel arguments --- */

static bool check_kernarg(isa_wave_t *wave, unsigned lane, uint64_t address, uint32_t bytes)
{
  const softgpu_dispatch_t *dispatch = wave->dispatch;
  const uint64_t from = dispatch->kernarg + dispatch->missing_from;
  const uint64_t to = dispatch->kernarg + dispatch->missing_to;
  if (from >= to || address >= to || (address < from && from - address >= bytes))
    return true;
  const uint64_t first = address > from ? address : from;
  return isa_wave_fault(wave, SOFTGPU_FAULT_KERNARG_MISSING, lane, first, bytes);
}

static bool check_smem(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  const bool is_load = plan && plan->kind == ISA_LOAD && inst->row->sdst == 2;
  return !is_load || check_kernarg(wave, 0, isa_smem_address(wave, inst), inst->row->dst * 4u);
}

/* --- scalar stores: the scalar cache keeps them until it is told to write back --- */

static void note_scalar_store(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  if (inst->op == ISA_s_dcache_wb || inst->op == ISA_s_dcache_wb_vol)
    wave->stored_at = 0;
  else if (plan && plan->kind == ISA_STORE && !wave->stored_at) /* atomics are done in memory */
    wave->stored_at = wave->pc;
}

static bool check_end(isa_wave_t *wave)
{
  if (!wave->stored_at)
    return true;
  isa_wave_fault(wave, SOFTGPU_FAULT_STORE_UNWRITTEN, 0, 0, 0);
  wave->fault->other_pc_offset = (uint32_t)(wave->stored_at - wave->entry);
  return false;
}

/* --- FLAT and GLOBAL: LDS by its aperture, arguments by their address --- */

static bool check_flat(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  const isa_row_t *row = isa_rows(wave, &inst->mem.vaddr);
  const bool has_base = inst->mem.saddr.kind != ISA_OPERAND_NONE;
  const uint64_t base = has_base ? isa_read_s64(wave, inst->mem.saddr.index) : 0;
  isa_touch_t touch = isa_touch_of(wave, plan->kind, plan->bytes);
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    touch.lane = lane;
    uint64_t address = base + (uint64_t)(int64_t)inst->mem.offset + row[0][lane];
    address += has_base ? 0 : (uint64_t)row[1][lane] << 32;
    const bool in_lds =
        inst->encoding == ISA_FLAT && address >> 32 == wave->dispatch->shared_aperture_hi;
    touch.address = (uint32_t)address;
    set_words(&touch, inst, 0, plan->form);
    if (in_lds && wave->shadow && !isa_shadow_check(&touch))
      return false;
    if (!in_lds && touch.reads && !check_kernarg(wave, lane, address, plan->bytes))
      return false;
  }
  return true;
}

static bool check(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  switch (inst->encoding) {
  case ISA_DS:
    return !wave->shadow || check_ds(wave, inst);
  case ISA_SMEM:
    if (wave->dispatch->checks & SOFTGPU_CHECK_STORES)
      note_scalar_store(wave, inst);
    return check_smem(wave, inst);
  case ISA_SOPP:
    return check_end(wave);
  case ISA_MUBUF:
  case ISA_MTBUF:
  case ISA_SCRATCH:
  case ISA_MIMG:
    return true;
  default:
    return plan->kind == ISA_CACHE || check_flat(wave, inst);
  }
}

uint64_t isa_checks_failing(isa_wave_t *wave, const isa_inst_t *inst, unsigned from)
{
  const uint64_t exec = isa_exec(wave);
  uint64_t failing = 0;
  ISA_EACH_LANE(lane, exec >> from << from) {
    isa_set_exec(wave, 1ull << lane);
    if (!check(wave, inst))
      failing |= 1ull << lane;
  }
  isa_set_exec(wave, exec);
  return failing;
}

static bool run_checked(isa_wave_t *wave, const isa_inst_t *inst)
{
  /* A fault of the check is at the instruction; the engine has moved on already. */
  wave->pc -= inst->dwords * 4u;
  bool ok = check(wave, inst);
  wave->pc += inst->dwords * 4u;
  return ok && inst->unchecked(wave, inst);
}

void isa_checks_prepare(isa_inst_t *inst, uint32_t checks)
{
  const bool is_end = inst->op == ISA_s_endpgm && checks & SOFTGPU_CHECK_STORES;
  if (!is_end && !isa_is_memory(inst))
    return;
  inst->unchecked = inst->run;
  inst->run = run_checked;
}
