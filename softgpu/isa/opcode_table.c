#include "softgpu/isa/opcodes.h"

#include <stddef.h>
#include <string.h>

static const struct isa_opcode opcodes[] = {
#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
#include "softgpu/isa/gfx9_opcodes.inc"
#undef ISA_OPCODE
};

static const char *const names[] = {
    "invalid",
#define ISA_MNEMONIC(name) #name,
#include "softgpu/isa/gfx9_mnemonics.inc"
#undef ISA_MNEMONIC
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

const struct isa_opcode *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number)
{
  const size_t count = sizeof opcodes / sizeof *opcodes;
  const uint32_t wanted = key(encoding, number);
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (key(opcodes[middle].encoding, opcodes[middle].number) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  /* The chips disagree about some opcodes, which then have a row each. */
  for (; low < count && key(opcodes[low].encoding, opcodes[low].number) == wanted; low++)
    if (opcodes[low].chips >> chip & 1)
      return &opcodes[low];
  return NULL;
}
