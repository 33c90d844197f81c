#include "softgpu/isa/describe/opcodes.h"

#include <stddef.h>
#include <string.h>

#include "softgpu/execute.h"

#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
static const struct isa_opcode opcodes[] = {
#include "softgpu/isa/describe/gfx9_opcodes.inc"
};
/* Where gfx950 is not as gfx942; ISA_invalid: it has no such opcode. */
static const struct isa_opcode gfx950_opcodes[] = {
#include "softgpu/isa/describe/gfx950_opcodes.inc"
};
#undef ISA_OPCODE

static const char *const names[] = {
    "invalid",
#define ISA_MNEMONIC(name)              #name,
#define ISA_MNEMONIC_AS(name, mnemonic) #mnemonic,
#include "softgpu/isa/describe/gfx9_mnemonics.inc"

#include "softgpu/isa/describe/gfx950_mnemonics.inc"
#undef ISA_MNEMONIC
#undef ISA_MNEMONIC_AS
};

const char *isa_op_name(unsigned op)
{
  return names[op < ISA_OP_COUNT ? op : ISA_invalid];
}

bool isa_has_two_addresses(unsigned op)
{
  const char *name = isa_op_name(op);
  return strstr(name, "ds_read2") || strstr(name, "ds_write2") || strstr(name, "ds_wrxchg2");
}

unsigned isa_image_dwords(const isa_inst_t *inst)
{
  const unsigned components = (unsigned)__builtin_popcount((unsigned)inst->offset);
  const bool has_d16 = inst->offset1 >> 31;
  if (inst->op == ISA_image_atomic_cmpswap)
    return components == 4 ? 4 : 2;
  if (strstr(isa_op_name(inst->op), "atomic"))
    return components == 2 ? 2 : 1;
  return components == 0 ? 1 : has_d16 ? (components + 1) / 2 : components;
}

static uint32_t key(unsigned encoding, unsigned number)
{
  return encoding << 16 | number;
}

/* In a sorted table. The chips disagree about some opcodes, which then have a row each. */
static const struct isa_opcode *search(const struct isa_opcode *table, size_t count, unsigned chip,
                                       uint32_t wanted)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (key(table[middle].encoding, table[middle].number) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < count && key(table[low].encoding, table[low].number) == wanted; low++)
    if (table[low].chips >> chip & 1)
      return &table[low];
  return NULL;
}

const struct isa_opcode *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number)
{
  const uint32_t wanted = key(encoding, number);
  if (chip == SOFTGPU_GFX950) {
    const size_t count = sizeof gfx950_opcodes / sizeof *gfx950_opcodes;
    const struct isa_opcode *row = search(gfx950_opcodes, count, chip, wanted);
    if (row)
      return row->op == ISA_invalid ? NULL : row;
    chip = SOFTGPU_GFX942;
  }
  return search(opcodes, sizeof opcodes / sizeof *opcodes, chip, wanted);
}
