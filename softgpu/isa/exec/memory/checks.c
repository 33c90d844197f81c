/* Reads of LDS that was not written, races in LDS, reads of kernel arguments that were not
 * supplied, scalar stores that are not written back. */
#include "softgpu/isa/exec/memory/checks.h"

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/lds_load.h"

/* --- LDS --- */

typedef struct touch {
  isa_wave_t *wave;
  unsigned lane;
  uint32_t address, bytes;
  uint32_t since; /* epoch from which on it may have happened */
  bool reads, writes, is_atomic;
} touch_t;

static uint32_t pc_offset(const isa_wave_t *wave)
{
  return (uint32_t)(wave->pc - wave->entry);
}

static bool report_race(const touch_t *touch, unsigned byte, unsigned other, uint32_t pc)
{
  isa_wave_t *wave = touch->wave;
  isa_wave_fault(wave, SOFTGPU_FAULT_LDS_RACE, touch->lane, touch->address + byte, 1);
  wave->fault->other_wave = other;
  wave->fault->other_pc_offset = pc;
  return false;
}

/* Conflicts with another wave since the last barrier. Of two atomics there is none; nor is a plain
 * read of what another wave changes atomically taken for one, for that is how flags are polled. */
static bool check_race(const touch_t *touch, const isa_shadow_cell_t *cell, unsigned byte)
{
  const unsigned self = touch->wave->index;
  const bool plain = !touch->is_atomic, writes = touch->writes;
  const bool written = cell->write_epoch >= touch->since && cell->writer != self;
  const bool read = cell->read_epoch >= touch->since && cell->reader != self;
  if (written && !(cell->by_atomic && (touch->is_atomic || !writes)))
    return report_race(touch, byte, cell->writer, cell->write_pc);
  if (read && writes && plain)
    return report_race(touch, byte, cell->reader, cell->read_pc);
  return true;
}

static void note(const touch_t *touch, isa_shadow_cell_t *cell, uint32_t epoch, uint32_t pc)
{
  const uint8_t self = (uint8_t)touch->wave->index;
  if (touch->writes) {
    cell->write_epoch = epoch;
    cell->write_pc = pc;
    cell->writer = self;
    cell->by_atomic = touch->is_atomic;
  } else {
    const bool others = cell->read_epoch == epoch && cell->reader != self;
    cell->reader = others ? ISA_SHADOW_MANY : self;
    cell->read_epoch = epoch;
    cell->read_pc = pc;
  }
}

/* What lies outside of LDS is left to the instruction. */
static bool check_lds(const touch_t *touch)
{
  isa_wave_t *wave = touch->wave;
  isa_shadow_t *shadow = wave->shadow;
  const uint32_t checks = wave->dispatch->checks;
  if (touch->address >= wave->lds_bytes || touch->bytes > wave->lds_bytes - touch->address)
    return true;
  for (uint32_t i = 0; i < touch->bytes; ++i) {
    isa_shadow_cell_t *cell = &shadow->cells[touch->address + i];
    if (checks & SOFTGPU_CHECK_LDS && touch->reads && cell->write_epoch == 0)
      return isa_wave_fault(wave, SOFTGPU_FAULT_LDS_UNWRITTEN, touch->lane, touch->address,
                            touch->bytes);
    if (checks & SOFTGPU_CHECK_RACES && !check_race(touch, cell, i))
      return false;
  }
  for (uint32_t i = 0; i < touch->bytes; ++i)
    note(touch, &shadow->cells[touch->address + i], shadow->epoch, pc_offset(wave));
  return true;
}

static touch_t touch_of(isa_wave_t *wave, unsigned kind, uint32_t bytes)
{
  return (touch_t){.wave = wave,
                   .bytes = bytes,
                   .since = wave->shadow ? wave->shadow->epoch : 0,
                   .reads = kind == ISA_LOAD || kind == ISA_ATOMIC,
                   .writes = kind != ISA_LOAD,
                   .is_atomic = kind == ISA_ATOMIC};
}

static bool check_ds(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_ds_touch_t what = isa_ds_touch(inst);
  touch_t touch = touch_of(wave, what.kind, what.bytes);
  for (uint64_t left = isa_exec(wave); left; left &= left - 1) {
    touch.lane = (unsigned)__builtin_ctzll(left);
    for (unsigned i = 0; i < what.count; ++i) {
      touch.address = isa_rows(wave, &inst->vaddr)[0][touch.lane] + what.offset[i];
      if (!check_lds(&touch))
        return false;
    }
  }
  return true;
}

bool isa_check_landing(isa_wave_t *wave, const isa_lds_load_t *load)
{
  const uint64_t pc = wave->pc;
  touch_t touch = touch_of(wave, ISA_STORE, 0);
  touch.since = load->epoch;
  wave->pc = load->pc;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    touch.lane = lane;
    touch.address = load->base + load->stride * lane;
    touch.bytes = 4u * load->dwords[lane];
    if (touch.bytes && !check_lds(&touch))
      return false; /* the fault is at the load */
  }
  wave->pc = pc;
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
  const isa_row_t *row = isa_rows(wave, &inst->vaddr);
  const bool has_base = inst->saddr.kind != ISA_OPERAND_NONE;
  const uint64_t base = has_base ? isa_read_s64(wave, inst->saddr.index) : 0;
  touch_t touch = touch_of(wave, plan->kind, plan->bytes);
  for (uint64_t left = isa_exec(wave); left; left &= left - 1) {
    const unsigned lane = touch.lane = (unsigned)__builtin_ctzll(left);
    uint64_t address = base + (uint64_t)(int64_t)inst->offset + row[0][lane];
    address += has_base ? 0 : (uint64_t)row[1][lane] << 32;
    const bool in_lds =
        inst->encoding == ISA_FLAT && address >> 32 == wave->dispatch->shared_aperture_hi;
    touch.address = (uint32_t)address;
    if (in_lds && wave->shadow && !check_lds(&touch))
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

static bool run_checked(isa_wave_t *wave, const isa_inst_t *inst)
{
  /* A fault of the check is at the instruction; the engine has moved on already. */
  wave->pc -= inst->dwords * 4u;
  bool ok = check(wave, inst);
  wave->pc += inst->dwords * 4u;
  return ok && inst->unchecked(wave, inst);
}

void isa_checks_prepare(isa_inst_t *inst)
{
  inst->unchecked = inst->run;
  inst->run = run_checked;
}
