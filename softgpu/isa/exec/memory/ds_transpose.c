/* gfx950's reads of LDS that transpose: ds_read_b64_tr_b16, _b8, _b4 and ds_read_b96_tr_b6.
 *
 * What the 64 or 96 bits of 16 lanes hold is a matrix of 16 columns and as many rows as a lane has
 * elements, row after row; lane i of the 16 gets column i. (AMD's CDNA4 ISA document, "MFMA
 * Transpose Load from LDS", says what for; Triton's chooseDotDsReadB64TrLayout, which lane gets
 * what.) Of an inactive lane, which reads nothing, the others get 0. */
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/prepare.h"

enum { COLUMNS = 16 };

/* The bits of all lanes. False for a fault. */
static bool read_lanes(isa_wave_t *wave, const isa_inst_t *inst, uint32_t words[ISA_LANES][4])
{
  const unsigned bytes = inst->row->dst * 4u;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const uint32_t address = isa_rows(wave, &inst->mem.vaddr)[0][lane] + (uint32_t)inst->mem.offset;
    if (isa_lds_holds(wave, address, bytes)) {
      memcpy(words[lane], wave->lds + address, bytes);
      continue;
    }
    if (!isa_lds_outside(wave, lane, address, bytes))
      return false;
    for (unsigned i = 0; i < bytes / 4 && isa_lds_holds(wave, address + 4ull * i, 4); ++i)
      memcpy(&words[lane][i], wave->lds + address + 4 * i, 4);
  }
  return true;
}

static uint32_t element_at(const uint32_t words[4], unsigned item, unsigned bits)
{
  const unsigned bit = item * bits, shift = bit % 32;
  const uint64_t two = words[bit / 32] | (uint64_t)(bit / 32 < 3 ? words[bit / 32 + 1] : 0) << 32;
  return (uint32_t)(two >> shift) & ((1u << bits) - 1);
}

static bool run_transpose(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_access_t *plan = inst->plan;
  const unsigned bits = plan->element_bits, dwords = inst->row->dst;
  const unsigned items = dwords * 32 / bits;
  uint32_t words[ISA_LANES][4] = {{0}};
  isa_row_t *dst = isa_rows(wave, &inst->dst);
  if (!read_lanes(wave, inst, words))
    return false;
  ISA_EACH_LANE(lane, isa_exec(wave)) {
    const unsigned column = lane % COLUMNS;
    uint64_t out[2] = {0};
    for (unsigned row = 0; row < items; ++row) {
      const unsigned from = lane - column + (row * COLUMNS + column) / items;
      const uint64_t value = element_at(words[from], column % items, bits);
      const unsigned bit = row * bits;
      out[bit / 64] |= value << bit % 64;
      if (bit % 64 + bits > 64)
        out[1] |= value >> (64 - bit % 64);
    }
    for (unsigned i = 0; i < dwords; ++i)
      dst[i][lane] = (uint32_t)(out[i / 2] >> 32 * (i % 2));
  }
  return true;
}

void isa_ds_transpose_prepare(isa_inst_t *inst, const isa_access_t *plan)
{
  inst->plan = plan;
  inst->run = run_transpose;
}
