/* Scalar memory: loads, stores, atomics, clocks and cache operations. */
#include "softgpu/device/clock.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/checks.h"
#include "softgpu/isa/exec/memory/prepare.h"
#include "softgpu/isa/exec/scalar/operand.h"

static bool is_buffer(const isa_inst_t *inst)
{
  return inst->row->sdst == 4;
}

/* Negative ones are huge. */
static uint64_t offset_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  uint64_t offset = (uint64_t)(int64_t)inst->mem.offset;
  if (inst->mem.soffset.kind != ISA_OPERAND_NONE)
    offset += isa_read32(wave, &inst->mem.soffset);
  return offset;
}

uint64_t isa_smem_address(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return isa_read_s64(wave, inst->mem.saddr.index) + offset_of(wave, inst);
}

/* The address of a checked access to the bytes from `first` on, or NULL; `*absent` when it lies
 * outside of a buffer's range, of which there is no fault. */
static uint8_t *reach(isa_wave_t *wave, const isa_inst_t *inst, uint32_t first, uint32_t bytes,
                      unsigned kind, bool *absent)
{
  isa_range_t *range = isa_range_of(wave, inst);
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  uint64_t offset = offset_of(wave, inst), address;
  *absent = false;
  if (is_buffer(inst)) {
    uint64_t stride = s[1] >> 16 & 0x3fff, size = s[2] * (stride ? stride : 1);
    address = (s[0] | (uint64_t)(s[1] & 0xffff) << 32) + offset + first;
    *absent = offset > size || first + bytes > size - offset; /* no sum that wraps */
    if (*absent)
      return NULL;
  } else {
    address = isa_smem_address(wave, inst) + first;
  }
  if (address & 3) {
    isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, 0, address, bytes);
    return NULL;
  }
  isa_range_refresh(range);
  if (!isa_reach(wave, range, 0, address, bytes, kind))
    return NULL;
  return isa_range_host(range, address);
}

/* Of a buffer's end, each dword counts for itself. */
static bool load_buffer_tail(isa_wave_t *wave, const isa_inst_t *inst)
{
  uint32_t values[16];
  for (unsigned i = 0; i < inst->row->dst; ++i) {
    bool absent;
    uint8_t *at = reach(wave, inst, 4 * i, 4, ISA_LOAD, &absent);
    if (!at && !absent)
      return false;
    values[i] = at ? isa_load32(at) : 0;
  }
  /* Which may be the descriptor's registers. */
  memcpy(&wave->s[inst->dst.index], values, inst->row->dst * sizeof *values);
  return true;
}

static bool run_load(isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned dwords = inst->row->dst;
  const uint32_t bytes =
      is_buffer(inst) ? dwords * 4 : isa_scalar_bytes(isa_smem_address(wave, inst), dwords * 4);
  uint32_t values[16] = {0};
  bool absent;
  uint8_t *at = reach(wave, inst, 0, bytes, ISA_LOAD, &absent);
  if (!at)
    return absent && load_buffer_tail(wave, inst);
  for (unsigned i = 0; i < bytes / 4; ++i)
    values[i] = isa_load32(at + 4 * i);
  memcpy(&wave->s[inst->dst.index], values, dwords * sizeof *values);
  return true;
}

/* From an address that is in the range that the instruction used before. */
__attribute__((always_inline)) static inline bool
load_again(isa_wave_t *wave, const isa_inst_t *inst, const unsigned dwords)
{
  const uint64_t address = isa_smem_address(wave, inst);
  isa_range_t *range = isa_range_of(wave, inst);
  isa_range_refresh(range);
  if (address & 3 || !isa_range_holds(range, address, dwords * 4, false))
    return run_load(wave, inst);
  const uint8_t *at = isa_range_host(range, address);
  uint32_t *dst = &wave->s[inst->dst.index];
  for (unsigned i = 0; i < dwords; ++i)
    dst[i] = isa_load32(__builtin_assume_aligned(at + 4 * i, 4));
  return true;
}

#define LOAD_AGAIN(dwords)                                                                         \
  static bool load_again_##dwords(isa_wave_t *wave, const isa_inst_t *inst)                        \
  {                                                                                                \
    return isa_go_on(wave, inst, load_again(wave, inst, dwords));                                  \
  }
LOAD_AGAIN(1)
LOAD_AGAIN(2)
LOAD_AGAIN(4)
LOAD_AGAIN(8)
LOAD_AGAIN(16)

static isa_run_t find_load_again(unsigned dwords)
{
  static const isa_run_t functions[] = {
      [1] = load_again_1, [2] = load_again_2,   [4] = load_again_4,
      [8] = load_again_8, [16] = load_again_16,
  };
  return dwords < sizeof functions / sizeof *functions ? functions[dwords] : NULL;
}

static bool run_store(isa_wave_t *wave, const isa_inst_t *inst)
{
  unsigned dwords = inst->row->src[0];
  bool absent;
  uint8_t *at = reach(wave, inst, 0, dwords * 4, ISA_STORE, &absent);
  if (!at)
    return absent;
  for (unsigned i = 0; i < dwords; ++i)
    isa_store32(at + 4 * i, wave->s[inst->mem.data[0].index + i]);
  return true;
}

static bool run_atomic(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  uint32_t *data = &wave->s[inst->mem.data[0].index], *out = &wave->s[inst->dst.index];
  bool absent, is_compare = plan->atomic == ISA_ATOMIC_CMPSWAP;
  uint8_t *at = reach(wave, inst, 0, plan->bytes, ISA_ATOMIC, &absent);
  if (!at)
    return absent;
  if ((uintptr_t)at % plan->bytes)
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, 0, (uintptr_t)at, plan->bytes);
  if (plan->bytes == 4) {
    uint32_t old = isa_atomic_memory32(at, plan->atomic, data[0], is_compare ? data[1] : 0);
    if (inst->mem.glc)
      out[0] = old;
    return true;
  }
  uint64_t value = data[0] | (uint64_t)data[1] << 32;
  uint64_t compare = is_compare ? data[2] | (uint64_t)data[3] << 32 : 0;
  uint64_t old = isa_atomic_memory64(at, plan->atomic, value, compare);
  if (inst->mem.glc)
    isa_write_s64(wave, inst->dst.index, old);
  return true;
}

static bool run_memtime(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_write_s64(wave, inst->dst.index, softgpu_wave_cycles());
  return true;
}

static bool run_memrealtime(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_write_s64(wave, inst->dst.index, softgpu_wave_ticks());
  return true;
}

bool isa_smem_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  static const isa_run_t run[] = {
      [ISA_LOAD] = run_load,
      [ISA_STORE] = run_store,
      [ISA_ATOMIC] = run_atomic,
      [ISA_CACHE] = isa_run_nothing,
  };
  const isa_opcode_t *row = inst->row;
  const isa_access_t *plan = isa_access_of(inst->op);
  if (!isa_operand_prepare(&inst->dst, row->dst, limits) ||
      !isa_operand_prepare(&inst->mem.data[0], row->src[0], limits) ||
      !isa_operand_prepare(&inst->mem.saddr, row->sdst, limits) ||
      !isa_operand_prepare(&inst->mem.soffset, 1, limits))
    return false;
  if (inst->op == ISA_s_memtime) {
    inst->run = run_memtime;
  } else if (inst->op == ISA_s_memrealtime) {
    inst->run = run_memrealtime;
  } else if (plan) {
    inst->plan = plan;
    const isa_run_t again =
        is_buffer(inst) || plan->kind != ISA_LOAD ? NULL : find_load_again(row->dst);
    if (again)
      isa_runs_on(inst, again);
    else
      inst->run = run[plan->kind];
  }
  return inst->run != NULL;
}
