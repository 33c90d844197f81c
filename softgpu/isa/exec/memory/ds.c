/* DS: the local data share and lane permutations through it. A work-group runs on one thread, so
 * nothing here needs host atomics. */
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/checks.h"
#include "softgpu/isa/exec/memory/move.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/memory/gws.h"

/* A lane's address in LDS. The addition wraps at 32 bits: LLVM folds offsets into negative
 * addresses for every chip after the first (SIISelLowering, isDSOffsetLegal). */
static uint32_t lds_address(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                            uint32_t offset)
{
  return isa_rows(wave, &inst->mem.vaddr)[0][lane] + offset;
}

bool isa_ds_run_plain(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  isa_lanes_t lanes = {.active = isa_exec(wave)};
  ISA_EACH_LANE(lane, lanes.active) {
    const uint32_t address = lds_address(wave, inst, lane, (uint32_t)inst->mem.offset);
    if (!isa_lanes_put_lds(wave, plan, &lanes, lane, address))
      return false;
  }
  return isa_lanes_run(wave, inst, &lanes);
}

static uint64_t row_value(const isa_row_t *rows, unsigned lane, unsigned bytes)
{
  return rows[0][lane] | (bytes == 8 ? (uint64_t)rows[1][lane] << 32 : 0);
}

/* The old value; 0, and nothing done, when `at` is NULL. */
static uint64_t lds_atomic(const isa_access_t *op, uint32_t mode, uint8_t *at, uint64_t data,
                           uint64_t compare)
{
  const unsigned atomic = isa_atomic_in_lds(op->atomic, op->bytes, mode);
  uint64_t old = 0, new;
  if (!at)
    return 0;
  memcpy(&old, at, op->bytes);
  new = op->bytes == 8 ? isa_atomic64(atomic, old, data, compare)
                       : isa_atomic32(atomic, (uint32_t)old, (uint32_t)data, (uint32_t)compare);
  memcpy(at, &new, op->bytes);
  return old;
}

/* The same where LDS does not hold all of it. False for a fault. */
__attribute__((cold)) static bool atomic_at_end(isa_wave_t *wave, const isa_access_t *op,
                                                unsigned lane, uint32_t address, uint64_t data,
                                                uint64_t compare, uint64_t *old)
{
  uint8_t *last = isa_lds_last_dword(wave, address, op->bytes);
  *old = lds_atomic(op, wave->mode, last, data, compare);
  return last || isa_lds_outside(wave, lane, address, op->bytes);
}

/* Compare-and-store and mask-or have their condition first and their value second. */
static bool run_atomic(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *op = inst->plan;
  const isa_row_t *first = isa_rows(wave, &inst->mem.data[0]);
  const isa_row_t *second = inst->mem.data[1].kind ? isa_rows(wave, &inst->mem.data[1]) : NULL;
  isa_row_t *dst = inst->dst.kind ? isa_rows(wave, &inst->dst) : NULL;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const uint32_t address = lds_address(wave, inst, lane, (uint32_t)inst->mem.offset);
    const uint64_t value = row_value(second ? second : first, lane, op->bytes);
    const uint64_t compare = second ? row_value(first, lane, op->bytes) : 0;
    uint64_t old;
    if (!isa_lds_holds(wave, address, op->bytes)) {
      uint64_t at_end;
      if (!atomic_at_end(wave, op, lane, address, value, compare, &at_end))
        return false;
      old = at_end;
    } else if (address % op->bytes) {
      return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, address, op->bytes);
    } else {
      old = lds_atomic(op, wave->mode, wave->lds + address, value, compare);
    }
    if (dst)
      dst[0][lane] = (uint32_t)old;
    if (dst && op->bytes == 8)
      dst[1][lane] = (uint32_t)(old >> 32);
  }
  return true;
}

static uint64_t element_load(const uint8_t *at, unsigned bytes)
{
  uint64_t wide;
  uint32_t value;
  if (bytes == 8) {
    memcpy(&wide, at, sizeof wide);
    return wide;
  }
  memcpy(&value, at, sizeof value);
  return value;
}

static void element_store(uint8_t *at, unsigned bytes, uint64_t value)
{
  const uint32_t low = (uint32_t)value;
  if (bytes == 8)
    memcpy(at, &value, sizeof value);
  else
    memcpy(at, &low, sizeof low);
}

static uint64_t element_move(const isa_access_t *op, uint8_t *at, uint64_t value)
{
  const uint64_t old = element_load(at, op->bytes);
  if (op->kind != ISA_LOAD)
    element_store(at, op->bytes, value);
  return old;
}

/* The same at the end of LDS or beyond it, where each dword of a load or a store counts for itself
 * and an exchange is done wholly or not at all. */
static uint64_t element_at_end(isa_wave_t *wave, const isa_access_t *op, uint64_t address,
                               uint64_t value)
{
  uint64_t old = 0;
  for (unsigned i = 0; i < op->bytes / 4u && op->kind != ISA_ATOMIC; ++i) {
    if (!isa_lds_holds(wave, address + 4 * i, 4))
      break;
    uint8_t *at = wave->lds + address + 4 * i;
    if (op->kind == ISA_STORE)
      element_store(at, 4, value >> 32 * i);
    else
      old |= element_load(at, 4) << 32 * i;
  }
  return old;
}

bool isa_ds_run_pair(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *op = inst->plan;
  const uint32_t offsets[2] = {(uint32_t)inst->mem.offset * op->unit, inst->mem.offset1 * op->unit};
  const uint32_t bytes = op->bytes, dwords = bytes / 4u;
  isa_row_t *dst = inst->dst.kind ? isa_rows(wave, &inst->dst) : NULL;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    uint64_t old[2];
    for (unsigned i = 0; i < 2; ++i) {
      const uint32_t address = lds_address(wave, inst, lane, offsets[i]);
      const uint64_t value =
          op->kind == ISA_LOAD ? 0 : row_value(isa_rows(wave, &inst->mem.data[i]), lane, bytes);
      if (isa_lds_holds(wave, address, bytes))
        old[i] = element_move(op, wave->lds + address, value);
      else if (isa_lds_outside(wave, lane, address, bytes))
        old[i] = element_at_end(wave, op, address, value);
      else
        return false;
    }
    for (unsigned i = 0; dst && i < 2 * dwords; ++i)
      dst[i][lane] = (uint32_t)(old[i / dwords] >> 32 * (i % dwords));
  }
  return true;
}

/* Whether no lane's element lies where another lane has its other one, `apart` bytes away. (If one
 * does, the lanes' order counts.) */
static bool are_disjoint(const isa_moves_t *moves, uint32_t apart)
{
  return !moves->exec || (uint64_t)moves->last - moves->first + moves->bytes <= apart;
}

ISA_GOES_ON(run_store_pair)
static bool run_store_pair(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *pair = inst->plan;
  const isa_mover_t *mover = isa_mover();
  const uint32_t offsets[2] = {(uint32_t)inst->mem.offset * pair->unit,
                               inst->mem.offset1 * pair->unit};
  const uint32_t bytes = pair->bytes, dwords = bytes / 4;
  const uint32_t apart =
      offsets[0] < offsets[1] ? offsets[1] - offsets[0] : offsets[0] - offsets[1];
  const isa_moves_t *moves = mover->look(wave, inst, isa_rows(wave, &inst->mem.vaddr)[0], bytes);
  if (!isa_moves_are_within(moves, offsets[0], wave->lds_bytes) ||
      !isa_moves_are_within(moves, offsets[1], wave->lds_bytes) || !are_disjoint(moves, apart))
    return isa_ds_run_pair(wave, inst);
  for (unsigned i = 0; i < 2; ++i)
    mover->store(wave, isa_rows(wave, &inst->mem.data[i]), dwords, wave->lds + offsets[i], moves);
  return true;
}

/* --- permutations: lanes exchange dwords, no memory is touched --- */

/* Lane i reads from the lane that its address names; inactive lanes supply 0. */
/* The lane that an address names, of `all` among which lanes exchange. */
static inline unsigned exchanged(unsigned lane, unsigned all, uint32_t address)
{
  return (lane & ~(all - 1)) | (address / 4 & (all - 1));
}

ISA_GOES_ON(run_bpermute)
static bool run_bpermute(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *address = isa_rows(wave, &inst->mem.vaddr)[0];
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  const uint64_t exec = isa_exec(wave);
  const unsigned all = isa_chip(inst->chip)->exchanging;
  isa_row_t data;
  memcpy(data, isa_rows(wave, &inst->mem.data[0]), sizeof data);
  isa_row_t out;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    const unsigned from = exchanged(lane, all, address[lane] + (uint32_t)inst->mem.offset);
    out[lane] = exec >> from & 1 ? data[from] : 0;
  }
  ISA_EACH_LANE(lane, exec)
    dst[lane] = out[lane];
  return true;
}

/* Lane i writes to the lane that its address names; the highest lane wins. */
static bool run_permute(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *address = isa_rows(wave, &inst->mem.vaddr)[0];
  const uint32_t *data = isa_rows(wave, &inst->mem.data[0])[0];
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  const unsigned all = isa_chip(inst->chip)->exchanging;
  isa_row_t out = {0};
  ISA_EACH_LANE(lane, isa_exec(wave))
    out[exchanged(lane, all, address[lane] + (uint32_t)inst->mem.offset)] = data[lane];
  ISA_EACH_LANE(lane, isa_exec(wave))
    dst[lane] = out[lane];
  return true;
}

/* The lane that lane `i` reads from. */
static unsigned swizzle_source(unsigned i, unsigned pattern)
{
  if (pattern >> 15 && pattern < 0xc000) /* any permutation of four lanes */
    return (i & ~3u) | (pattern >> 2 * (i & 3) & 3);
  if (pattern >> 15) { /* rotation of groups of lanes within 32 */
    unsigned mask = pattern & 31, count = pattern >> 5 & 31;
    unsigned moved = pattern >> 10 & 1 ? i - count : i + count;
    return (i & 32) | (i & mask) | (moved & ~mask & 31);
  }
  return (i & 32) | ((((i & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)) & 31);
}

static bool run_swizzle(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_row_t data;
  memcpy(data, isa_rows(wave, &inst->mem.vaddr), sizeof data);
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    unsigned from = swizzle_source(lane, (unsigned)inst->mem.offset);
    dst[lane] = isa_exec(wave) >> from & 1 ? data[from] : 0;
  }
  return true;
}

/* The first active lane says how many; with none active, as in v_readfirstlane, lane 0. */
static bool run_gws(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint64_t exec = isa_exec(wave);
  const unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
  const uint32_t value = inst->mem.vaddr.kind ? isa_rows(wave, &inst->mem.vaddr)[0][lane] : 0;
  return isa_gws_run(wave, inst, (wave->s[ISA_M0] >> 16) + (uint32_t)inst->mem.offset, value);
}

isa_ds_touch_t isa_ds_touch(const isa_inst_t *inst)
{
  const isa_access_t *op = isa_access_of(inst->op);
  if (!op) /* permutations */
    return (isa_ds_touch_t){.count = 0};
  isa_ds_touch_t touch = {.kind = op->kind, .bytes = op->bytes, .form = op->form, .count = 1};
  touch.offset[0] = (uint32_t)inst->mem.offset * (op->unit ? op->unit : 1);
  if (op->unit) {
    touch.count = 2;
    touch.offset[1] = inst->mem.offset1 * op->unit;
  }
  return touch;
}

/* GFX11's comparisons have the new value first and what it is compared with second: the reverse. */
static void exchange_comparand(isa_inst_t *inst)
{
  switch (inst->op) {
  case ISA_ds_cmpstore_b32:
  case ISA_ds_cmpstore_f32:
  case ISA_ds_cmpstore_b64:
  case ISA_ds_cmpstore_f64:
  case ISA_ds_cmpstore_rtn_b32:
  case ISA_ds_cmpstore_rtn_f32:
  case ISA_ds_cmpstore_rtn_b64:
  case ISA_ds_cmpstore_rtn_f64: {
    const isa_operand_t first = inst->mem.data[0];
    inst->mem.data[0] = inst->mem.data[1];
    inst->mem.data[1] = first;
    break;
  }
  default:
    break;
  }
}

bool isa_ds_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *op = isa_access_of(inst->op);
  const bool is_gws = row->flags & ISA_F_GWS;
  if (inst->mem.gds != is_gws || !isa_operand_prepare(&inst->dst, row->dst, limits) ||
      !isa_operand_prepare(&inst->mem.data[0], row->src[0], limits) ||
      !isa_operand_prepare(&inst->mem.data[1], row->src[1], limits) ||
      !isa_operand_prepare(&inst->mem.vaddr, row->src[2], limits))
    return false;
  exchange_comparand(inst);
  if (inst->op == ISA_ds_bpermute_b32) {
    ISA_RUNS(inst, run_bpermute);
  } else if (inst->op == ISA_ds_permute_b32) {
    inst->run = run_permute;
  } else if (inst->op == ISA_ds_swizzle_b32 && inst->mem.offset < 0xe000) {
    inst->run = run_swizzle;
  } else if (inst->op == ISA_ds_nop) {
    inst->run = isa_run_nothing;
  } else if (is_gws) {
    inst->run = run_gws;
    inst->is_alone = true;
#if ISA_LANES == 64 /* GFX9 has it */
  } else if (op && op->element_bits) {
    isa_ds_transpose_prepare(inst, op);
#endif
  } else if (op && op->unit) {
    inst->plan = op;
    if (op->kind == ISA_LOAD)
      isa_runs_on(inst, isa_mover()->ds_load_pair);
    else if (op->kind == ISA_STORE)
      ISA_RUNS(inst, run_store_pair);
    else
      inst->run = isa_ds_run_pair;
  } else if (op) {
    inst->plan = op;
    if (op->kind != ISA_ATOMIC && op->bytes >= 4)
      isa_runs_on(inst, op->kind == ISA_LOAD ? isa_mover()->ds_load : isa_mover()->ds_store);
    else
      inst->run = op->kind == ISA_ATOMIC ? run_atomic : isa_ds_run_plain;
  } else {
    return isa_ds_count_prepare(inst);
  }
  return inst->run != NULL;
}
