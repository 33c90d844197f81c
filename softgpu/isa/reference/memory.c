/* The reference engine's memory instructions: a lane at a time, a byte at a time where the memory
 * is not shared with other threads. What an instruction moves is read out of its mnemonic, apart
 * from describe/, whose lines say it to the engine proper. */
#include "softgpu/device/clock.h"
#include "softgpu/isa/reference/reference.h"

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/memory/reach.h"
#include "softgpu/isa/reference/memory.h"

static bool has(const char *name, const char *part)
{
  return strstr(name, part) != NULL;
}

transfer_t isa_reference_transfer(unsigned op)
{
  const char *name = isa_op_name(op);
  transfer_t t = {.bytes = 4};
  const bool is_store = (has(name, "store") && !has(name, "cmpstore")) || has(name, "ds_write");
  t.kind = is_store ? 'S' : has(name, "load") || has(name, "ds_read") ? 'L' : 'A';
  if (t.kind == 'A') {
    t.bytes = has(name, "64") || has(name, "_x2") ? 8 : 4;
    return t;
  }
  t.is_signed = has(name, "sbyte") || has(name, "sshort") || has(name, "_i8") || has(name, "_i16");
  t.is_half = has(name, "d16");
  t.is_high = has(name, "d16_hi");
  t.to_lds = has(name, "load_lds");
  if (has(name, "byte") || has(name, "_u8") || has(name, "_i8") || has(name, "_b8"))
    t.bytes = 1;
  else if (has(name, "short") || has(name, "_u16") || has(name, "_i16") || has(name, "_b16"))
    t.bytes = 2;
  else if (has(name, "dwordx2") || has(name, "b64"))
    t.bytes = 8;
  else if (has(name, "dwordx3") || has(name, "b96"))
    t.bytes = 12;
  else if (has(name, "dwordx4") || has(name, "b128"))
    t.bytes = 16;
  return t;
}

/* --- places --- */

uint8_t *isa_reference_reach(isa_wave_t *wave, unsigned lane, uint64_t address, unsigned bytes,
                             char kind)
{
  isa_range_t range = {0}; /* nothing is remembered */
  const unsigned access = kind == 'L' ? ISA_LOAD : kind == 'S' ? ISA_STORE : ISA_ATOMIC;
  if (!isa_reach(wave, &range, lane, address, bytes, access))
    return NULL;
  return isa_range_host(&range, address);
}

bool isa_reference_lds(isa_wave_t *wave, unsigned lane, uint64_t offset, unsigned bytes, char kind,
                       place_t *place)
{
  const bool is_widened = (kind == 'L' || kind == 'A') && bytes == 4 && offset % 4 == 0;
  const uint64_t size = is_widened ? (wave->lds_bytes + 3ull) / 4 * 4 : wave->lds_bytes;
  if (offset + bytes > size && wave->dispatch->checks & SOFTGPU_CHECK_LDS)
    return isa_wave_fault(wave, SOFTGPU_FAULT_LDS, lane, offset, bytes);
  *place = (place_t){.bytes = bytes};
  for (unsigned i = 0; i < bytes; ++i) {
    const uint64_t end = offset + (bytes < 4 ? bytes : i / 4 * 4 + 4);
    place->at[i] = end > size ? NULL : wave->lds + offset + i;
  }
  return true;
}

bool isa_reference_find_memory(isa_wave_t *wave, unsigned lane, uint64_t address,
                               const transfer_t *t, place_t *place)
{
  uint8_t *at = isa_reference_reach(wave, lane, address, t->bytes, t->kind);
  if (!at)
    return false;
  *place = (place_t){.bytes = t->bytes, .is_shared = true};
  for (unsigned i = 0; i < t->bytes; ++i)
    place->at[i] = at + i;
  return true;
}

bool isa_reference_find_scratch(isa_wave_t *wave, unsigned lane, uint64_t base, uint64_t offset,
                                unsigned bytes, place_t *place)
{
  if (!isa_scratch_at(wave, lane, base, offset, bytes))
    return false;
  *place = (place_t){.bytes = bytes, .is_scratch = true};
  for (unsigned i = 0; i < bytes; ++i)
    place->at[i] = isa_scratch_at(wave, lane, base, offset + i, 1);
  return true;
}

uint64_t isa_reference_get(const place_t *place, unsigned first, unsigned bytes)
{
  uint64_t value = 0;
  const uint8_t *at = place->at[first];
  if (place->is_shared && at && bytes == 8 && (uintptr_t)at % 8 == 0 &&
      place->at[first + 7] == at + 7)
    return isa_load64(at);
  if (place->is_shared && at && bytes == 4 && (uintptr_t)at % 4 == 0)
    return isa_load32(at);
  for (unsigned i = 0; i < bytes; ++i)
    value |= place->at[first + i] ? (uint64_t)*place->at[first + i] << 8 * i : 0;
  return value;
}

void isa_reference_put(const place_t *place, unsigned first, unsigned bytes, uint64_t value)
{
  uint8_t *at = place->at[first];
  if (place->is_shared && at && bytes == 8 && (uintptr_t)at % 8 == 0 &&
      place->at[first + 7] == at + 7)
    return isa_store64(at, value);
  if (place->is_shared && at && bytes == 4 && (uintptr_t)at % 4 == 0)
    return isa_store32(at, (uint32_t)value);
  for (unsigned i = 0; i < bytes; ++i)
    if (place->at[first + i])
      *place->at[first + i] = (uint8_t)(value >> 8 * i);
}

/* --- what a lane does there --- */

uint64_t isa_reference_rows(isa_wave_t *wave, const isa_operand_t *operand, unsigned row,
                            unsigned lane, unsigned dwords)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < dwords; ++i)
    value |= (uint64_t)isa_reference_register(wave, operand, -1, 1, row + i, lane) << 32 * i;
  return value;
}

void isa_reference_set(isa_wave_t *wave, const isa_operand_t *operand, unsigned row, unsigned lane,
                       uint32_t value)
{
  isa_row_t *rows = operand->kind == ISA_OPERAND_AGPR ? wave->a : wave->v;
  rows[operand->index + row][lane] = value;
}

/* A byte or a short as it goes into a register that held `old`. */
static uint32_t widened(const transfer_t *t, uint64_t raw, uint32_t old)
{
  unsigned bits = 8 * t->bytes;
  uint32_t value = (uint32_t)raw;
  if (t->is_signed && raw >> (bits - 1))
    value |= UINT32_MAX << bits;
  if (!t->is_half)
    return value;
  return t->is_high ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | (value & 0xffff);
}

bool isa_reference_move(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                        const place_t *place, unsigned lane)
{
  const isa_operand_t *operand = t->kind == 'L' ? &inst->dst : &inst->mem.data[0];
  if (t->kind == 'S' && t->bytes < 4) {
    uint64_t value = isa_reference_rows(wave, operand, 0, lane, 1) >> (t->is_high ? 16 : 0);
    isa_reference_put(place, 0, t->bytes, value);
  } else if (t->kind == 'S' && t->bytes == 8) {
    isa_reference_put(place, 0, 8, isa_reference_rows(wave, operand, 0, lane, 2));
  } else if (t->kind == 'S') {
    for (unsigned i = 0; i < t->bytes; i += 4)
      isa_reference_put(place, i, 4, isa_reference_rows(wave, operand, i / 4, lane, 1));
  } else if (t->bytes < 4) {
    uint32_t old =
        wave->dispatch->sram_ecc ? 0 : (uint32_t)isa_reference_rows(wave, operand, 0, lane, 1);
    uint32_t value = widened(t, isa_reference_get(place, 0, t->bytes), old);
    isa_reference_set(wave, operand, 0, lane, value);
  } else {
    uint64_t both = t->bytes == 8 ? isa_reference_get(place, 0, 8) : 0;
    for (unsigned i = 0; i < t->bytes; i += 4) {
      uint64_t value = t->bytes == 8 ? both >> 8 * i : isa_reference_get(place, i, 4);
      isa_reference_set(wave, operand, i / 4, lane, (uint32_t)value);
    }
  }
  return true;
}

/* What a lane has in LDS of a transfer between there and memory: at m0 + offset, one lane's after
 * the other's. */
static unsigned lds_bytes(const transfer_t *t)
{
  return t->bytes < 4 ? 4 : t->bytes;
}

static uint32_t lds_offset(const isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                           unsigned lane)
{
  const uint32_t start = wave->s[ISA_M0] & isa_chip(inst->chip)->lds_base;
  return start + (uint32_t)inst->mem.offset + lds_bytes(t) * lane;
}

/* Into LDS; when that is, is decided elsewhere in the engine. */
static bool move_to_lds(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                        const place_t *places)
{
  const unsigned bytes = lds_bytes(t);
  isa_lds_load_t load = {.base = lds_offset(wave, inst, t, 0), .stride = bytes};
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    place_t lds;
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    if (!isa_reference_lds(wave, lane, lds_offset(wave, inst, t, lane), bytes, 0, &lds))
      return false;
    for (unsigned i = 0; i < bytes && lds.at[i]; i += 4) {
      const uint64_t value = isa_reference_get(&places[lane], i, t->bytes < 4 ? t->bytes : 4);
      load.words[lane][i / 4] = t->bytes < 4 ? widened(t, value, 0) : (uint32_t)value;
      ++load.dwords[lane];
    }
  }
  return isa_lds_load(wave, inst, &load);
}

/* And from there, as if the lane's dword of LDS were its register. */
static bool move_from_lds(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                          const place_t *places)
{
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    place_t lds = {0};
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    if (!isa_reference_lds(wave, lane, lds_offset(wave, inst, t, lane), 4, 0, &lds))
      return false;
    isa_reference_put(&places[lane], 0, 4, isa_reference_get(&lds, 0, 4));
  }
  return true;
}

/* Of an atomic operation that is not done without a word. */
static bool is_misaligned(const place_t *place)
{
  return isa_reference_is_whole(place) &&
         ((uintptr_t)place->at[0] % place->bytes || (place->is_scratch && place->bytes == 8));
}

/* Both data and the value to compare with are in data[0]. */
static bool exchange(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t,
                     const place_t *place, unsigned lane)
{
  const unsigned dwords = t->bytes / 4;
  const bool is_compare = has(isa_op_name(inst->op), "cmpswap");
  uint64_t data = isa_reference_rows(wave, &inst->mem.data[0], 0, lane, dwords), old = 0;
  uint64_t compare =
      is_compare ? isa_reference_rows(wave, &inst->mem.data[0], dwords, lane, dwords) : 0;
  uint8_t *at = isa_reference_is_whole(place) ? place->at[0] : NULL;
  if (is_misaligned(place))
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, isa_device_address(wave, at),
                          t->bytes);
  if (at)
    old = isa_reference_exchange(inst, at, t->bytes, data, compare);
  for (unsigned i = 0; inst->dst.kind && i < dwords; ++i)
    isa_reference_set(wave, &inst->dst, i, lane, (uint32_t)(old >> 32 * i));
  return true;
}

/* --- addresses --- */

/* Where the wave's private memory begins for FLAT and SCRATCH. */
static uint64_t scratch_base(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_operand_t pair = {.kind = ISA_OPERAND_SGPR, .index = ISA_FLAT_SCRATCH};
  return isa_chip(inst->chip)->has_flat_scratch ? isa_reference_scalar(wave, &pair, 2, 64)
                                                : wave->flat_scratch;
}

/* What an instruction's VGPRs say of an address; of those that have none, the lane's dword. */
static uint64_t lane_address(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  if (!inst->mem.vaddr.kind)
    return 4 * lane;
  return isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, inst->mem.saddr.kind ? 1 : 2);
}

static bool find_flat(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t, unsigned lane,
                      place_t *place)
{
  const bool has_base = inst->mem.saddr.kind != ISA_OPERAND_NONE;
  const uint64_t offset = (uint64_t)(int64_t)inst->mem.offset;
  const uint64_t scratch = scratch_base(wave, inst);
  if (inst->encoding == ISA_SCRATCH) {
    uint32_t private_offset = (uint32_t)offset;
    private_offset += has_base ? wave->s[inst->mem.saddr.index] : 0;
    private_offset +=
        inst->mem.vaddr.kind ? (uint32_t)isa_reference_rows(wave, &inst->mem.vaddr, 0, lane, 1) : 0;
    return isa_reference_find_scratch(wave, lane, scratch, private_offset, t->bytes, place);
  }
  uint64_t address = lane_address(wave, inst, lane) + offset;
  if (has_base)
    address += isa_reference_scalar(wave, &inst->mem.saddr, 2, 64);
  if (inst->encoding == ISA_FLAT && address >> 32 == wave->dispatch->shared_aperture_hi)
    return isa_reference_lds(wave, lane, address & UINT32_MAX, t->bytes, t->kind, place);
  if (inst->encoding == ISA_FLAT && address >> 32 == wave->dispatch->private_aperture_hi)
    return isa_reference_find_scratch(wave, lane, scratch, address & UINT32_MAX, t->bytes, place);
  return isa_reference_find_memory(wave, lane, address, t, place);
}

static bool is_buffer(const isa_inst_t *inst)
{
  return inst->encoding == ISA_MUBUF || inst->encoding == ISA_MTBUF;
}

static bool find(isa_wave_t *wave, const isa_inst_t *inst, const transfer_t *t, unsigned lane,
                 place_t *place)
{
  return (is_buffer(inst) ? isa_reference_find_buffer : find_flat)(wave, inst, t, lane, place);
}

static bool is_typed(const isa_inst_t *inst)
{
  return is_buffer(inst) && has(isa_op_name(inst->op), "_format_");
}

bool isa_reference_place(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                         const transfer_t *t, place_t *place)
{
  return find(wave, inst, t, lane, place);
}

bool isa_reference_memory_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const transfer_t t = isa_reference_transfer(inst->op);
  const bool is_from_lds = has(isa_op_name(inst->op), "store_lds");
  place_t place, lds;
  if (is_typed(inst))
    return isa_reference_format_passes(wave, inst, lane);
  if (!find(wave, inst, &t, lane, &place))
    return false;
  if (is_from_lds || t.to_lds || inst->mem.lds)
    return isa_reference_lds(wave, lane, lds_offset(wave, inst, &t, lane), lds_bytes(&t), 0, &lds);
  return t.kind != 'A' || !is_misaligned(&place);
}

bool isa_reference_memory_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                 unsigned part, place_t *place)
{
  const transfer_t t = isa_reference_transfer(inst->op);
  if (part || (is_buffer(inst) && !inst->row->sdst))
    return false;
  if (t.to_lds || (inst->mem.lds && t.kind == 'L'))
    return isa_reference_lds(wave, lane, lds_offset(wave, inst, &t, lane), lds_bytes(&t), 0, place);
  if (t.kind == 'L')
    return false;
  return is_typed(inst) ? isa_reference_format_place(wave, inst, lane, place)
                        : find(wave, inst, &t, lane, place);
}

bool isa_reference_memory(isa_wave_t *wave, const isa_inst_t *inst)
{
  const transfer_t t = isa_reference_transfer(inst->op);
  place_t places[ISA_LANES];
  if (is_buffer(inst) && !inst->row->sdst)
    return true; /* a cache operation */
  if (is_typed(inst))
    return isa_reference_format(wave, inst);
  /* buffer.c refuses to split a load into LDS, too. */
  if (inst->mem.lds && t.bytes > 4 && isa_reference_is_swizzled(wave, inst) &&
      !isa_reference_is_private(wave, inst))
    return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) /* nothing is done when one faults */
    if (isa_exec(wave) >> lane & 1 && !find(wave, inst, &t, lane, &places[lane]))
      return false;
  if (has(isa_op_name(inst->op), "store_lds"))
    return move_from_lds(wave, inst, &t, places);
  if (t.to_lds || inst->mem.lds)
    return move_to_lds(wave, inst, &t, places);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1 &&
        !(t.kind == 'A' ? exchange(wave, inst, &t, &places[lane], lane)
                        : isa_reference_move(wave, inst, &t, &places[lane], lane)))
      return false;
  return true;
}

/* --- scalar memory --- */

/* False for a fault. Outside of a buffer there is no place. */
static bool find_scalar(isa_wave_t *wave, const isa_inst_t *inst, uint64_t more, transfer_t *t,
                        place_t *place)
{
  const uint32_t *s = &wave->s[inst->mem.saddr.index];
  uint64_t offset = (uint64_t)(int64_t)inst->mem.offset;
  if (inst->mem.soffset.kind)
    offset += isa_reference_scalar(wave, &inst->mem.soffset, 1, 32);
  *place = (place_t){.bytes = t->bytes};
  uint64_t base = s[0] | (uint64_t)s[1] << 32;
  if (inst->row->sdst == 4) {
    uint64_t stride = s[1] >> 16 & 0x3fff, size = stride ? stride * s[2] : s[2];
    if (offset > size || size - offset < more + t->bytes) /* a negative offset is a huge one */
      return true;
    base &= 0xffffffffffff;
  }
  base += offset + more;
  if (base % 4)
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, 0, base, t->bytes);
  const bool is_load = t->kind == 'L' && inst->row->sdst != 4;
  const unsigned bytes = is_load ? isa_scalar_bytes(base, t->bytes) : t->bytes;
  uint8_t *at = isa_reference_reach(wave, 0, base, bytes, t->kind);
  if (!at)
    return false;
  place->is_shared = true;
  for (unsigned i = 0; i < 64 && i < bytes; ++i)
    place->at[i] = at + i;
  return true;
}

static bool load_scalars(isa_wave_t *wave, const isa_inst_t *inst, transfer_t *t)
{
  const unsigned dwords = inst->row->dst;
  uint32_t values[16];
  place_t place;
  t->bytes = (uint8_t)(4 * dwords);
  if (!find_scalar(wave, inst, 0, t, &place))
    return false;
  const bool is_whole = place.at[0];
  t->bytes = is_whole ? t->bytes : 4;
  for (unsigned i = 0; i < dwords; ++i) { /* at a buffer's end each dword counts for itself */
    if (!is_whole && !find_scalar(wave, inst, 4 * i, t, &place))
      return false;
    values[i] = (uint32_t)isa_reference_get(&place, is_whole ? 4 * i : 0, 4);
  }
  for (unsigned i = 0; inst->dst.index != ISA_NULL && i < dwords; ++i)
    wave->s[inst->dst.index + i] = values[i]; /* which may be the descriptor's registers */
  return true;
}

static bool exchange_scalar(isa_wave_t *wave, const isa_inst_t *inst, transfer_t *t)
{
  const unsigned dwords = t->bytes / 4;
  uint64_t data = isa_reference_scalar(wave, &inst->mem.data[0], dwords, 64), compare = 0;
  isa_operand_t second = inst->mem.data[0];
  place_t place;
  if (!find_scalar(wave, inst, 0, t, &place))
    return false;
  if (!place.at[0])
    return true;
  if ((uintptr_t)place.at[0] % t->bytes)
    return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, 0, (uintptr_t)place.at[0], t->bytes);
  second.index = (uint16_t)(second.index + dwords);
  if (has(isa_op_name(inst->op), "cmpswap"))
    compare = isa_reference_scalar(wave, &second, dwords, 64);
  uint64_t old = isa_reference_exchange(inst, place.at[0], t->bytes, data, compare);
  for (unsigned i = 0; inst->mem.glc && i < dwords; ++i)
    wave->s[inst->dst.index + i] = (uint32_t)(old >> 32 * i);
  return true;
}

bool isa_reference_smem_writes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                               unsigned part, place_t *place)
{
  transfer_t t = isa_reference_transfer(inst->op);
  const isa_access_t *access = isa_access_of(inst->op);
  if (lane || part || !access || access->kind < ISA_STORE || access->kind == ISA_CACHE)
    return false;
  t.bytes = t.kind == 'S' ? (uint8_t)(4 * inst->row->src[0]) : t.bytes;
  return find_scalar(wave, inst, 0, &t, place);
}

bool isa_reference_smem(isa_wave_t *wave, const isa_inst_t *inst)
{
  const char *name = isa_op_name(inst->op);
  transfer_t t = isa_reference_transfer(inst->op);
  place_t place;
  if (inst->op == ISA_s_memtime || inst->op == ISA_s_memrealtime) {
    isa_reference_write(wave, &inst->dst, 2,
                        inst->op == ISA_s_memtime ? softgpu_wave_cycles() : softgpu_wave_ticks());
    return true;
  }
  if (has(name, "dcache") || has(name, "gl1_inv") || has(name, "atc_probe"))
    return true;
  if (t.kind == 'L')
    return load_scalars(wave, inst, &t);
  if (t.kind == 'A')
    return exchange_scalar(wave, inst, &t);
  t.bytes = (uint8_t)(4 * inst->row->src[0]);
  if (!find_scalar(wave, inst, 0, &t, &place))
    return false;
  for (unsigned i = 0; i < inst->row->src[0]; ++i)
    isa_reference_put(&place, 4 * i, 4, wave->s[inst->mem.data[0].index + i]);
  return true;
}
