/* The reference engine's atomic operations, by the words of the mnemonic, and the LDS. */
#include <string.h>

#include "softgpu/isa/base/real.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/isa/memory/reach.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

static bool has(const char *name, const char *part)
{
  return strstr(name, part) != NULL;
}

enum { KEEP_IN = 1, KEEP_OUT = 2, KEEP = KEEP_IN | KEEP_OUT }; /* denormals, as in the mode */

static uint64_t flushed(uint64_t bits, const real_format_t *format, bool keeps)
{
  const unsigned width = format->exponent_bits + format->fraction_bits;
  const uint64_t field = (bits & (((uint64_t)1 << width) - 1)) >> format->fraction_bits;
  return keeps || field ? bits : bits >> width << width;
}

/* A sum, to nearest; the first NaN quieted, or the default one. */
static uint64_t sum_of(uint64_t old, uint64_t data, const real_format_t *format, unsigned keeps,
                       bool is_packed)
{
  old = flushed(old, format, keeps & KEEP_IN);
  data = flushed(data, format, keeps & KEEP_IN);
  real_t x = real_of(old, format), y = real_of(data, format);
  uint64_t quiet_bit = (uint64_t)1 << (format->fraction_bits - 1);
  bool is_plain = is_packed && format == &real_f16; /* of f16 pairs always the default one */
  if (x.kind == REAL_NAN && !is_plain)
    return old | quiet_bit;
  if (y.kind == REAL_NAN && !is_plain)
    return data | quiet_bit;
  uint64_t sum = real_bits(real_sum(x, y, REAL_NEAREST), format, REAL_NEAREST);
  return flushed(sum, format, keeps & KEEP_OUT);
}

static uint64_t packed_sum(uint64_t old, uint64_t data, const real_format_t *format)
{
  return sum_of(old & 0xffff, data & 0xffff, format, KEEP, true) |
         sum_of(old >> 16 & 0xffff, data >> 16 & 0xffff, format, KEEP, true) << 16;
}

static int64_t as_signed(uint64_t value, unsigned bytes)
{
  return bytes == 8 ? (int64_t)value : (int32_t)value;
}

static uint64_t updated_float(const char *name, unsigned bytes, unsigned keeps, uint64_t old,
                              uint64_t data, uint64_t compare)
{
  const real_format_t *format = bytes == 8 ? &real_f64 : &real_f32;
  if (has(name, "pk_add"))
    return packed_sum(old, data, has(name, "bf16") ? &real_bf16 : &real_f16);
  if (has(name, "add"))
    return sum_of(old, data, format, bytes == 4 ? keeps : KEEP, false);
  if (has(name, "cmpst") || has(name, "cmpswap"))
    return real_compare(real_of(old, format), real_of(compare, format)) == 0 ? data : old;
  int order = real_compare(real_of(data, format), real_of(old, format));
  return order == (has(name, "min") ? -1 : 1) ? data : old;
}

static uint64_t updated(const isa_inst_t *inst, unsigned bytes, unsigned keeps, uint64_t old,
                        uint64_t data, uint64_t compare)
{
  const char *name = isa_op_name(inst->op);
  const bool is_float = has(name, "_f16") || has(name, "_bf16") || has(name, "_f32") ||
                        has(name, "_f64") || has(name, "_fmin") || has(name, "_fmax") ||
                        has(name, "_fcmpswap");
  if (is_float)
    return updated_float(name, bytes, keeps, old, data, compare);
  if (has(name, "cmpswap") || has(name, "cmpst"))
    return old == compare ? data : old;
  if (has(name, "swap") || has(name, "wrxchg"))
    return data;
  if (has(name, "mskor"))
    return (old & ~compare) | data;
  if (has(name, "add"))
    return old + data;
  if (has(name, "csub")) /* not below 0 */
    return old < data ? 0 : old - data;
  if (has(name, "rsub"))
    return data - old;
  if (has(name, "sub"))
    return old - data;
  if (has(name, "inc"))
    return old < data ? old + 1 : 0;
  if (has(name, "dec"))
    return old == 0 || old > data ? data : old - 1;
  if (has(name, "and"))
    return old & data;
  if (has(name, "xor"))
    return old ^ data;
  if (has(name, "_or"))
    return old | data;
  bool is_signed = has(name, "smin") || has(name, "smax") || has(name, "_i");
  bool is_less = is_signed ? as_signed(data, bytes) < as_signed(old, bytes) : data < old;
  return is_less == has(name, "min") ? data : old;
}

uint64_t isa_reference_exchange(const isa_inst_t *inst, uint8_t *at, unsigned bytes, uint64_t data,
                                uint64_t compare)
{
  const unsigned keeps =
      isa_chip(inst->chip)->flushes_atomics ? 0 : KEEP; /* LLVM's feature of MI300 */
  if (bytes == 8) {
    uint64_t *memory = (uint64_t *)(void *)at, old = isa_load64(at);
    while (!__atomic_compare_exchange_n(memory, &old, updated(inst, 8, keeps, old, data, compare),
                                        false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      ;
    return old;
  }
  uint32_t *memory = (uint32_t *)(void *)at, old = isa_load32(at);
  while (!__atomic_compare_exchange_n(memory, &old,
                                      (uint32_t)updated(inst, 4, keeps, old, data, compare), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
    ;
  return old;
}

/* --- the LDS --- */

/* Lanes give dwords to each other; the lane that another reads from, or writes to. */
static unsigned partner(const isa_inst_t *inst, unsigned lane, uint32_t address)
{
  const unsigned pattern = (unsigned)inst->mem.offset, lanes = isa_chip(inst->chip)->exchanging;
  if (inst->op != ISA_ds_swizzle_b32)
    return lane / lanes * lanes + (address + pattern) / 4 % lanes;
  const unsigned half = lane & 32, in_half = lane & 31;
  if (pattern >= 0xc000) { /* rotated by a count, within the bits outside of a mask */
    unsigned count = pattern >> 5 & 31, mask = pattern & 31;
    unsigned moved = pattern >> 10 & 1 ? in_half + 32 - count : in_half + count;
    return half + ((in_half & mask) | (moved & 31 & ~mask));
  }
  if (pattern >= 0x8000) /* four lanes in any order */
    return lane / 4 * 4 + (pattern >> lane % 4 * 2 & 3);
  unsigned and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
  return half + (((in_half & and_mask) | or_mask) ^ xor_mask);
}

static bool run_permutation(isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool pushes = inst->op == ISA_ds_permute_b32, is_swizzle = inst->op == ISA_ds_swizzle_b32;
  const isa_operand_t *data = is_swizzle ? &inst->mem.vaddr : &inst->mem.data[0];
  uint32_t out[ISA_LANES] = {0};
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    uint32_t address = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1);
    unsigned other = partner(inst, lane, address);
    unsigned from = pushes ? lane : other, to = pushes ? other : lane;
    if (isa_exec(wave) >> from & 1)
      out[to] = (uint32_t)isa_reference_rows(wave, data, 0, from, 1);
  }
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1)
      isa_reference_set(wave, &inst->dst, 0, lane, out[lane]);
  return true;
}

static unsigned pair_bytes(const isa_inst_t *inst)
{
  return has(isa_op_name(inst->op), "b64") ? 8 : 4;
}

/* One of two elements; offsets count elements, or 64 of them. */
static bool find_of_pair(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned i,
                         place_t *place)
{
  const unsigned bytes = pair_bytes(inst);
  const unsigned unit = bytes * (has(isa_op_name(inst->op), "st64") ? 64 : 1);
  const uint32_t address = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1);
  const uint32_t offset = (i ? inst->mem.offset1 : (uint32_t)inst->mem.offset) * unit;
  return isa_reference_lds(wave, lane, address + offset, bytes, 0, place);
}

static bool run_pair(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t, unsigned lane)
{
  const unsigned bytes = pair_bytes(inst);
  uint64_t old[2];
  for (unsigned i = 0; i < 2; ++i) {
    place_t place;
    if (!find_of_pair(wave, inst, lane, i, &place))
      return false;
    const bool is_done = t->kind != 'A' || isa_reference_is_whole(&place);
    old[i] = is_done ? isa_reference_get(&place, 0, bytes) : 0;
    if (t->kind != 'L' && is_done)
      isa_reference_put(&place, 0, bytes,
                        isa_reference_rows(wave, &inst->mem.data[i], 0, lane, bytes / 4));
  }
  for (unsigned i = 0; inst->dst.kind && i < bytes / 2; ++i)
    isa_reference_set(wave, &inst->dst, i, lane,
                      (uint32_t)(old[i / (bytes / 4)] >> i % (bytes / 4) * 32));
  return true;
}

static bool exchange(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                     const place_t *place, unsigned lane)
{
  const unsigned dwords = t->bytes / 4;
  const bool has_two = inst->mem.data[1].kind != ISA_OPERAND_NONE; /* the condition comes first */
  const bool is_reversed = has(isa_op_name(inst->op), "cmpstore"); /* it comes last */
  uint64_t first = isa_reference_rows(wave, &inst->mem.data[is_reversed], 0, lane, dwords);
  uint64_t second =
      has_two ? isa_reference_rows(wave, &inst->mem.data[!is_reversed], 0, lane, dwords) : 0;
  const bool is_whole = isa_reference_is_whole(place);
  uint64_t offset = is_whole ? (uint64_t)(place->at[0] - wave->lds) : 0, old = 0;
  if (offset % t->bytes)
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, offset, t->bytes);
  if (is_whole) {
    old = isa_reference_get(place, 0, t->bytes);
    second = has_two ? second : first;
    isa_reference_put(place, 0, t->bytes,
                      updated(inst, t->bytes, wave->mode >> 4 & 3, old, second, first));
  }
  for (unsigned i = 0; inst->dst.kind && i < dwords; ++i)
    isa_reference_set(wave, &inst->dst, i, lane, (uint32_t)(old >> 32 * i));
  return true;
}

/* A dword or two of LDS at m0 + `offset`, or at an address of the lane's: must be aligned, and all
 * in LDS, or nothing is. */
static bool find_aligned(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, uint32_t offset,
                         unsigned bytes, place_t *place)
{
  uint32_t base = inst->mem.vaddr.kind
                      ? (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1)
                      : wave->s[ISA_M0] & 0xffff;
  uint32_t address = base + (uint32_t)inst->mem.offset + offset;
  if (!isa_reference_lds(wave, lane, address, bytes, 0, place))
    return false;
  if (!isa_reference_is_whole(place))
    *place = (place_t){.bytes = bytes};
  return !isa_reference_is_whole(place) || address % bytes == 0 ||
         isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, address, bytes);
}

/* The counter loses or gains a lane's one at a time; all see what it was before. */
static bool run_count(isa_wave_t *wave, const isa_inst_t *inst)
{
  place_t place = {0};
  bool is_found = false;
  uint64_t old = 0;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    if (!is_found && !find_aligned(wave, inst, lane, 0, 4, &place))
      return false;
    if (!is_found)
      old = isa_reference_get(&place, 0, 4);
    is_found = true;
    uint64_t now = isa_reference_get(&place, 0, 4);
    isa_reference_put(&place, 0, 4, inst->op == ISA_ds_append ? now + 1 : now - 1);
    isa_reference_set(wave, &inst->dst, 0, lane, (uint32_t)old);
  }
  return true;
}

static bool find_rare(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, place_t *place)
{
  const bool is_by_lane = !inst->mem.vaddr.kind, is_wide = inst->op == ISA_ds_condxchg32_rtn_b64;
  return find_aligned(wave, inst, lane, is_by_lane ? 4 * lane : 0, is_wide ? 8 : 4, place);
}

static bool run_rare(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const bool is_wide = inst->op == ISA_ds_condxchg32_rtn_b64;
  place_t place = {0};
  if (!find_rare(wave, inst, lane, &place))
    return false;
  uint64_t old = isa_reference_get(&place, 0, is_wide ? 8 : 4);
  uint32_t first = inst->mem.data[0].kind
                       ? (uint32_t)isa_reference_rows(wave, &inst->mem.data[0], 0, lane, 1)
                       : 0;
  if (inst->op == ISA_ds_write_addtid_b32) {
    isa_reference_put(&place, 0, 4, first);
    return true;
  }
  if (inst->op == ISA_ds_wrap_rtn_b32) {
    uint64_t second = isa_reference_rows(wave, &inst->mem.data[1], 0, lane, 1);
    isa_reference_put(&place, 0, 4, old < first ? old + second : old - first);
  }
  uint64_t both = is_wide ? isa_reference_rows(wave, &inst->mem.data[0], 0, lane, 2) : 0;
  for (unsigned i = 0; i < 2; ++i)
    if (both >> (32 * i + 31) & 1)
      isa_reference_put(&place, 4 * i, 4, both >> 32 * i & 0x7fffffff);
  for (unsigned i = 0; i < (is_wide ? 2 : 1); ++i)
    isa_reference_set(wave, &inst->dst, i, lane, (uint32_t)(old >> 32 * i));
  return true;
}

static bool has_two_addresses(const isa_inst_t *inst)
{
  const isa_access_t *access = isa_access_of(inst->op);
  return access && access->unit;
}

static bool is_rare(unsigned op)
{
  return op == ISA_ds_read_addtid_b32 || op == ISA_ds_write_addtid_b32 ||
         op == ISA_ds_wrap_rtn_b32 || op == ISA_ds_condxchg32_rtn_b64;
}

static bool find(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t, unsigned lane,
                 place_t *place)
{
  const uint32_t address = (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1);
  return isa_reference_lds(wave, lane, address + (uint32_t)inst->mem.offset, t->bytes, t->kind,
                           place);
}

static bool run_lane(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t, unsigned lane)
{
  place_t place;
  if (is_rare(inst->op))
    return run_rare(wave, inst, lane);
  if (has_two_addresses(inst))
    return run_pair(wave, inst, t, lane);
  if (!find(wave, inst, t, lane, &place))
    return false;
  return t->kind == 'A' ? exchange(wave, inst, t, &place, lane)
                        : isa_reference_move(wave, inst, t, &place, lane);
}

static bool is_transposed(const isa_inst_t *inst)
{
  return strstr(isa_op_name(inst->op), "_tr_b");
}

static bool is_count(unsigned op)
{
  return op == ISA_ds_append || op == ISA_ds_consume;
}

bool isa_reference_ds_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  transfer_t t = isa_reference_transfer(inst->op);
  place_t place;
  if (is_count(inst->op)) /* the lowest active lane's business */
    return isa_exec(wave) & ((1ull << lane) - 1) || find_aligned(wave, inst, lane, 0, 4, &place);
  if (is_rare(inst->op))
    return find_rare(wave, inst, lane, &place);
  if (has_two_addresses(inst))
    return find_of_pair(wave, inst, lane, 0, &place) && find_of_pair(wave, inst, lane, 1, &place);
  if (!isa_access_of(inst->op))
    return true; /* reaches no memory */
  if (is_transposed(inst))
    t.bytes = (uint8_t)(4 * inst->row->dst);
  return find(wave, inst, &t, lane, &place) && (t.kind != 'A' || !isa_reference_is_whole(&place) ||
                                                (uint64_t)(place.at[0] - wave->lds) % t.bytes == 0);
}

static bool writes_to_lds(const isa_inst_t *inst)
{
  const isa_access_t *access = isa_access_of(inst->op);
  if (inst->row->flags & ISA_F_GWS)
    return false;
  if (is_count(inst->op) || is_rare(inst->op))
    return inst->op != ISA_ds_read_addtid_b32;
  return access && (access->kind == ISA_STORE || access->kind == ISA_ATOMIC);
}

bool isa_reference_ds_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane, unsigned part,
                             place_t *place)
{
  const transfer_t t = isa_reference_transfer(inst->op);
  if (!writes_to_lds(inst) || part > (has_two_addresses(inst) ? 1u : 0u))
    return false;
  if (is_count(inst->op)) /* the lowest active lane's business */
    return !(isa_exec(wave) & ((1ull << lane) - 1)) && find_aligned(wave, inst, lane, 0, 4, place);
  if (is_rare(inst->op))
    return find_rare(wave, inst, lane, place);
  return has_two_addresses(inst) ? find_of_pair(wave, inst, lane, part, place)
                                 : find(wave, inst, &t, lane, place);
}

/* Which resource, and what the lowest active lane says of it; lane 0 when none is. */
static bool run_gws(isa_wave_t *wave, const isa_inst_t *inst)
{
  unsigned lane = 0;
  while (lane < ISA_LANES && !(isa_exec(wave) >> lane & 1))
    ++lane;
  const uint32_t value = inst->row->src[2] ? (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0,
                                                                          lane % ISA_LANES, 1)
                                           : 0;
  return isa_gws_run(wave, inst, (wave->s[ISA_M0] / 65536 + (uint32_t)inst->mem.offset) % 64,
                     value);
}

bool isa_reference_ds(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (inst->row->flags & ISA_F_GWS)
    return run_gws(wave, inst);
  const transfer_t t = isa_reference_transfer(inst->op);
  if (inst->op == ISA_ds_nop)
    return true;
  if (inst->op == ISA_ds_permute_b32 || inst->op == ISA_ds_bpermute_b32 ||
      inst->op == ISA_ds_swizzle_b32)
    return run_permutation(wave, inst);
#if ISA_LANES == 64 /* GFX9 has it */
  if (is_transposed(inst))
    return isa_reference_transpose(wave, inst);
#endif
  if (is_count(inst->op))
    return run_count(wave, inst);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1 && !run_lane(wave, inst, &t, lane))
      return false;
  return true;
}
