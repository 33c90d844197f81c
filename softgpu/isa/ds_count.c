/* DS instructions apart from loads, stores and plain atomics: counters of active lanes, addresses
 * by lane number, and two conditional exchanges. MI200 ISA document, chapter 12. */
#include "softgpu/isa/access.h"
#include "softgpu/isa/vmem.h"

/* `bytes` of LDS, naturally aligned; NULL after a fault. */
static uint8_t *lds_at(isa_wave_t *wave, unsigned lane, uint32_t address, uint32_t bytes)
{
  bool is_inside = address < wave->lds_bytes && bytes <= wave->lds_bytes - address;
  if (is_inside && address % bytes == 0)
    return wave->lds + address;
  isa_wave_fault(wave, is_inside ? SOFTGPU_FAULT_MISALIGNED : SOFTGPU_FAULT_LDS, lane, address,
                 bytes);
  return NULL;
}

static uint32_t m0_address(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return (wave->s[ISA_M0] & 0xffff) + (uint32_t)inst->offset;
}

static uint32_t lane_address(const isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  return isa_rows(wave, &inst->vaddr)[0][lane] + (uint32_t)inst->offset;
}

/* All active lanes receive what the counter was. */
static bool count_lanes(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint64_t exec = isa_exec(wave);
  const uint32_t lanes = (uint32_t)__builtin_popcountll(exec);
  uint32_t *dst = isa_rows(wave, &inst->dst)[0], old;
  if (!exec)
    return true;
  uint8_t *at = lds_at(wave, (unsigned)__builtin_ctzll(exec), m0_address(wave, inst), sizeof old);
  if (!at)
    return false;
  memcpy(&old, at, sizeof old);
  const uint32_t new = inst->op == ISA_ds_append ? old + lanes : old - lanes;
  memcpy(at, &new, sizeof new);
  for (uint64_t left = exec; left; left &= left - 1)
    dst[__builtin_ctzll(left)] = old;
  return true;
}

/* A dword for each lane at m0 + offset + 4 * lane. */
static bool move_by_lane(isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_store = inst->op == ISA_ds_write_addtid_b32;
  uint32_t *row = isa_rows(wave, is_store ? &inst->data[0] : &inst->dst)[0];
  for (uint64_t left = isa_exec(wave); left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint8_t *at = lds_at(wave, lane, m0_address(wave, inst) + 4 * lane, sizeof *row);
    if (!at)
      return false;
    if (is_store)
      memcpy(at, &row[lane], sizeof *row);
    else
      memcpy(&row[lane], at, sizeof *row);
  }
  return true;
}

/* Subtracts where it can, else adds the other operand. */
static bool wrap(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *less = isa_rows(wave, &inst->data[0])[0];
  const uint32_t *more = isa_rows(wave, &inst->data[1])[0];
  uint32_t *dst = isa_rows(wave, &inst->dst)[0];
  for (uint64_t left = isa_exec(wave); left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint32_t old;
    uint8_t *at = lds_at(wave, lane, lane_address(wave, inst, lane), sizeof old);
    if (!at)
      return false;
    memcpy(&old, at, sizeof old);
    const uint32_t new = old >= less[lane] ? old - less[lane] : old + more[lane];
    memcpy(at, &new, sizeof new);
    dst[lane] = old;
  }
  return true;
}

/* Of each dword of data, bit 31 says whether the rest is stored. */
static bool exchange_conditionally(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_row_t *data = isa_rows(wave, &inst->data[0]);
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  for (uint64_t left = isa_exec(wave); left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    const uint32_t new[2] = {data[0][lane], data[1][lane]};
    uint8_t *at = lds_at(wave, lane, lane_address(wave, inst, lane), sizeof new);
    if (!at)
      return false;
    for (unsigned i = 0; i < 2; i++) {
      const uint32_t stored = new[i] & 0x7fffffff;
      memcpy(&dst[i][lane], at + 4 * i, sizeof stored);
      if (new[i] >> 31)
        memcpy(at + 4 * i, &stored, sizeof stored);
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
