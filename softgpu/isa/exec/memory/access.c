/* Moving data between registers and the lanes' memory. HSA runs waves in
 * unaligned access mode: plain vector loads and stores take any address. Atomics must be naturally
 * aligned, scalar accesses dword-aligned. */
#include "softgpu/isa/exec/memory/access.h"

#include "softgpu/isa/memory/lds_load.h"

#include "softgpu/isa/describe/opcodes.h"

uint8_t *isa_lds_last_dword(const isa_wave_t *wave, uint64_t address, uint32_t bytes)
{
  const bool is_last = bytes == 4 && address % 4 == 0 && address < wave->lds_bytes;
  return is_last ? wave->lds + address : NULL;
}

bool isa_lanes_put_lds(isa_wave_t *wave, const isa_access_t *plan, isa_lanes_t *lanes,
                       unsigned lane, uint64_t address)
{
  const uint64_t left = address < wave->lds_bytes ? wave->lds_bytes - address : 0;
  lanes->at[lane] = left ? wave->lds + address : NULL;
  const bool may_be_last = plan->kind == ISA_LOAD || plan->kind == ISA_ATOMIC;
  if (left >= plan->bytes || (may_be_last && isa_lds_last_dword(wave, address, plan->bytes)))
    return true;
  lanes->dwords[lane] = (uint8_t)(left / 4);
  lanes->absent |= 1ull << lane;
  return isa_lds_outside(wave, lane, address, plan->bytes);
}

/* --- one lane, any address --- */

/* The byte after `at` in swizzled scratch memory: the lane's next dword lies after those of the
 * other 63 lanes. */
static uint8_t *next_byte(uint8_t *at)
{
  return ((uintptr_t)at & 3) == 3 ? at + 4 * ISA_LANES - 3 : at + 1;
}

void isa_lane_read(const isa_lanes_t *lanes, unsigned lane, uint32_t words[4], unsigned bytes)
{
  uint8_t *at = lanes->at[lane], raw[16];
  if (lanes->absent >> lane & 1) {
    memset(words, 0, 16);
    for (unsigned i = 0; i < lanes->dwords[lane]; ++i)
      words[i] = isa_load32(at + 4 * i);
  } else if (lanes->swizzled >> lane & 1) {
    for (unsigned i = 0; i < bytes; ++i, at = next_byte(at))
      raw[i] = *at;
    memcpy(words, raw, bytes);
  } else if (bytes == 4) {
    words[0] = isa_load32(at);
  } else if (bytes == 8) {
    uint64_t value = isa_load64(at);
    memcpy(words, &value, sizeof value);
  } else if (bytes < 4) {
    memcpy(words, at, bytes);
  } else {
    for (unsigned i = 0; i < bytes / 4; ++i)
      words[i] = isa_load32(at + 4 * i);
  }
}

void isa_lane_write(const isa_lanes_t *lanes, unsigned lane, const uint32_t words[4],
                    unsigned bytes)
{
  uint8_t *at = lanes->at[lane], raw[16];
  if (lanes->absent >> lane & 1) {
    for (unsigned i = 0; i < lanes->dwords[lane]; ++i)
      isa_store32(at + 4 * i, words[i]);
  } else if (lanes->swizzled >> lane & 1) {
    memcpy(raw, words, bytes);
    for (unsigned i = 0; i < bytes; ++i, at = next_byte(at))
      *at = raw[i];
  } else if (bytes == 4) {
    isa_store32(at, words[0]);
  } else if (bytes == 8) {
    uint64_t value;
    memcpy(&value, words, sizeof value);
    isa_store64(at, value);
  } else if (bytes % 4) {
    memcpy(at, words, bytes);
  } else {
    for (unsigned i = 0; i < bytes / 4; ++i)
      isa_store32(at + 4 * i, words[i]);
  }
}

/* What a load of less than a dword leaves in the register. */
static uint32_t widen(uint32_t raw, uint32_t before, unsigned bytes, unsigned form)
{
  uint32_t value = bytes == 1 ? raw & 0xff : raw & 0xffff;
  if (form & 1)
    value = bytes == 1 ? (uint32_t)(int8_t)raw : (uint32_t)(int16_t)raw;
  if (form >= ISA_FORM_HIGH_ZERO)
    return (before & 0xffff) | value << 16;
  if (form >= ISA_FORM_D16_ZERO)
    return (before & 0xffff0000) | (value & 0xffff);
  return value;
}

/* What most accesses are: one dword for each lane, which lies in one piece, all in range. */
static bool are_plain_dwords(const isa_access_t *plan, const isa_lanes_t *lanes)
{
  return plan->bytes == 4 && !(lanes->absent | lanes->swizzled);
}

static void load_dwords(uint32_t *row, const isa_lanes_t *lanes)
{
  ISA_EACH_LANE(lane, lanes->active)
    row[lane] = isa_load32(lanes->at[lane]);
}

static void store_dwords(const uint32_t *row, const isa_lanes_t *lanes)
{
  ISA_EACH_LANE(lane, lanes->active)
    isa_store32(lanes->at[lane], row[lane]);
}

static void load_lanes(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                       const isa_lanes_t *lanes)
{
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  const unsigned bytes = plan->bytes;
  const uint32_t kept = isa_half_kept(wave, inst);
  if (are_plain_dwords(plan, lanes)) {
    load_dwords(dst[0], lanes);
    return;
  }
  ISA_EACH_LANE(lane, lanes->active) {
    uint32_t words[4] = {0};
    isa_lane_read(lanes, lane, words, bytes);
    if (bytes < 4)
      dst[0][lane] = widen(words[0], dst[0][lane] & kept, bytes, plan->form);
    for (unsigned i = 0; i < bytes / 4; ++i)
      dst[i][lane] = words[i];
  }
}

static void store_lanes(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                        const isa_lanes_t *lanes)
{
  isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  unsigned bytes = plan->bytes;
  if (are_plain_dwords(plan, lanes)) {
    store_dwords(data[0], lanes);
    return;
  }
  ISA_EACH_LANE(lane, lanes->active) {
    uint32_t words[4] = {data[0][lane]};
    if (bytes < 4 && plan->form >= ISA_FORM_HIGH_ZERO)
      words[0] >>= 16;
    for (unsigned i = 1; i < bytes / 4; ++i)
      words[i] = data[i][lane];
    isa_lane_write(lanes, lane, words, bytes);
  }
}

/* data[0] holds the new value, of compare-and-swap followed by the value to compare with. */
static bool atomic_lanes(isa_wave_t *wave, const isa_inst_t *inst, const isa_access_t *plan,
                         const isa_lanes_t *lanes)
{
  isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  isa_row_t *dst = inst->dst.kind ? isa_rows(wave, &inst->dst) : NULL;
  const bool is_compare =
      plan->atomic == ISA_ATOMIC_CMPSWAP || plan->atomic == ISA_ATOMIC_CMPSWAP_F;
  const bool is_wide = plan->bytes == 8;
  ISA_EACH_LANE(lane, lanes->active) {
    uint8_t *at = lanes->at[lane];
    uint64_t old = 0;
    if (lanes->absent >> lane & 1) {
      /* out of range: returns 0 */
    } else if ((uintptr_t)at % plan->bytes || (is_wide && lanes->swizzled >> lane & 1)) {
      return isa_wave_fault(wave, SOFTGPU_FAULT_MISALIGNED, lane, isa_device_address(wave, at),
                            plan->bytes);
    } else if (is_wide) {
      uint64_t value = data[0][lane] | (uint64_t)data[1][lane] << 32;
      uint64_t compare = is_compare ? data[2][lane] | (uint64_t)data[3][lane] << 32 : 0;
      old = isa_atomic_memory64(at, plan->atomic, value, compare);
    } else {
      uint32_t compare = is_compare ? data[1][lane] : 0;
      unsigned atomic = isa_atomic_in_memory(plan->atomic, 4, inst->chip);
      old = isa_atomic_memory32(at, atomic, data[0][lane], compare);
    }
    if (dst) {
      dst[0][lane] = (uint32_t)old;
      if (is_wide)
        dst[1][lane] = (uint32_t)(old >> 32);
    }
  }
  return true;
}

bool isa_lanes_load_lds(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes)
{
  const isa_access_t *plan = inst->plan;
  const uint32_t base = isa_lds_base(wave, inst), bytes = isa_lds_stride(plan);
  isa_lds_load_t load;
  load.base = base;
  load.stride = bytes;
  memset(load.dwords, 0, sizeof load.dwords);
  ISA_EACH_LANE(lane, lanes->active) {
    const uint32_t address = base + bytes * lane;
    const uint32_t within = address < wave->lds_bytes ? (wave->lds_bytes - address) / 4 : 0;
    const uint32_t dwords = within < bytes / 4 ? within : bytes / 4;
    uint32_t *words = load.words[lane];
    if (dwords < bytes / 4 && !isa_lds_outside(wave, lane, address, bytes))
      return false;
    load.dwords[lane] = (uint8_t)dwords;
    words[0] = 0;
    isa_lane_read(lanes, lane, words, plan->bytes);
    if (plan->bytes < 4)
      words[0] = widen(words[0], 0, plan->bytes, plan->form);
  }
  return isa_lds_load(wave, inst, &load);
}

bool isa_lanes_store_lds(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes)
{
  const uint32_t base = isa_lds_base(wave, inst), bytes = sizeof(uint32_t);
  ISA_EACH_LANE(lane, lanes->active) {
    const uint32_t address = base + bytes * lane;
    uint32_t words[4] = {0}; /* what is beyond LDS reads as */
    if (isa_lds_holds(wave, address, bytes))
      memcpy(words, wave->lds + address, bytes);
    else if (!isa_lds_outside(wave, lane, address, bytes))
      return false;
    if (!(lanes->absent >> lane & 1))
      isa_lane_write(lanes, lane, words, bytes);
  }
  return true;
}

bool isa_lanes_run(isa_wave_t *wave, const isa_inst_t *inst, const isa_lanes_t *lanes)
{
  const isa_access_t *plan = inst->plan;
  if (plan->kind == ISA_ATOMIC)
    return atomic_lanes(wave, inst, plan, lanes);
  if (plan->kind == ISA_LOAD_LDS)
    return isa_lanes_load_lds(wave, inst, lanes);
  if (plan->kind == ISA_LOAD)
    load_lanes(wave, inst, plan, lanes);
  else
    store_lanes(wave, inst, plan, lanes);
  return true;
}
