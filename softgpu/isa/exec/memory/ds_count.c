/* DS instructions apart from loads, stores and plain atomics: counters of active lanes, addresses
 * by lane number, and two conditional exchanges. MI200 ISA document, chapter 12. */
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/prepare.h"

/* Out of range there is 0, and what is stored is dropped. */
static uint32_t dword_at(const uint8_t *at)
{
  uint32_t value = 0;
  if (at)
    memcpy(&value, at, sizeof value);
  return value;
}

static void dword_put(uint8_t *at, uint32_t value)
{
  if (at)
    memcpy(at, &value, sizeof value);
}

static uint32_t m0_address(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return (wave->s[ISA_M0] & 0xffff) + (uint32_t)inst->mem.offset;
}

static uint32_t lane_address(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  return isa_rows(wave, &inst->mem.vaddr)[0][lane] + (uint32_t)inst->mem.offset;
}

/* All active lanes receive what the counter was. */
static bool count_lanes(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint64_t exec = isa_exec(wave);
  const uint32_t lanes = (uint32_t)__builtin_popcountll(exec);
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  uint8_t *at;
  if (!exec)
    return true;
  if (!isa_lds_element(wave, (unsigned)__builtin_ctzll(exec), m0_address(wave, inst), 4, &at))
    return false;
  const uint32_t old = dword_at(at);
  dword_put(at, inst->op == ISA_ds_append ? old + lanes : old - lanes);
  ISA_EACH_LANE(lane, exec)
    dst[lane] = old;
  return true;
}

/* A dword for each lane at m0 + offset + 4 * lane. */
static bool move_by_lane(isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_store = inst->op == ISA_ds_write_addtid_b32;
  uint32_t *row = isa_rows(wave, is_store ? &inst->mem.data[0] : &inst->dst)[0];
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    uint8_t *at;
    if (!isa_lds_element(wave, lane, m0_address(wave, inst) + 4 * lane, 4, &at))
      return false;
    if (is_store)
      dword_put(at, row[lane]);
    else
      row[lane] = dword_at(at);
  }
  return true;
}

/* Subtracts where it can, else adds the other operand. */
static bool wrap(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *less = isa_rows(wave, &inst->mem.data[0])[0];
  const uint32_t *more = isa_rows(wave, &inst->mem.data[1])[0];
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    uint8_t *at;
    if (!isa_lds_element(wave, lane, lane_address(wave, inst, lane), 4, &at))
      return false;
    const uint32_t old = dword_at(at);
    dword_put(at, old >= less[lane] ? old - less[lane] : old + more[lane]);
    dst[lane] = old;
  }
  return true;
}

/* Of each dword of data, bit 31 says whether the rest is stored. */
static bool exchange_conditionally(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_row_t *data = isa_rows(wave, &inst->mem.data[0]);
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const uint32_t new[2] = {data[0][lane], data[1][lane]};
    uint8_t *at;
    if (!isa_lds_element(wave, lane, lane_address(wave, inst, lane), sizeof new, &at))
      return false;
    for (unsigned i = 0; i < 2; ++i) {
      uint8_t *dword = at ? at + 4 * i : NULL;
      dst[i][lane] = dword_at(dword);
      if (new[i] >> 31)
        dword_put(dword, new[i] & 0x7fffffff);
    }
  }
  return true;
}

bool isa_ds_count_prepare(isa_inst_t *inst)
{
  switch (inst->op) {
  case ISA_ds_append:
  case ISA_ds_consume:
    inst->run = count_lanes;
    return true;
  case ISA_ds_read_addtid_b32:
  case ISA_ds_write_addtid_b32:
    inst->run = move_by_lane;
    return true;
  case ISA_ds_wrap_rtn_b32:
    inst->run = wrap;
    return true;
  case ISA_ds_condxchg32_rtn_b64:
    inst->run = exchange_conditionally;
    return true;
  default:
    return false;
  }
}
