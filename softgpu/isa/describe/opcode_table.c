#include "softgpu/isa/describe/opcodes.h"

#include <stddef.h>

#include "softgpu/isa/describe/memory.h"

static const isa_opcode_t opcodes[] = {
#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
#include "softgpu/isa/describe/generated/opcodes.inc"
#undef ISA_OPCODE
};

static const char *const names[] = {
    "invalid",
#define ISA_MNEMONIC(name, mnemonic) #mnemonic,
#include "softgpu/isa/describe/generated/mnemonics.inc"
#undef ISA_MNEMONIC
};

static const isa_access_t accesses[ISA_OP_COUNT] = {
#include "softgpu/isa/describe/generated/memory.inc"
};

const char *isa_op_name(unsigned op)
{
  return names[op < ISA_OP_COUNT ? op : ISA_invalid];
}

const isa_access_t *isa_access_of(unsigned op)
{
  return op < ISA_OP_COUNT && accesses[op].kind ? &accesses[op] : NULL;
}

unsigned isa_image_dwords(const isa_inst_t *inst)
{
  const unsigned components = (unsigned)__builtin_popcount((unsigned)inst->offset);
  const bool has_d16 = inst->offset1 >> 31;
  const isa_access_t *access = isa_access_of(inst->op);
  const bool is_atomic = access && access->kind == ISA_ATOMIC;
  if (is_atomic && access->atomic == ISA_ATOMIC_CMPSWAP)
    return components == 4 ? 4 : 2;
  if (is_atomic)
    return components == 2 ? 2 : 1;
  return components == 0 ? 1 : has_d16 ? (components + 1) / 2 : components;
}

/* The table is in order. Chips disagree about some opcodes, which then have a row for each. */
const isa_opcode_t *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number)
{
  size_t low = 0, high = sizeof opcodes / sizeof *opcodes;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const isa_opcode_t *row = &opcodes[middle];
    if (row->encoding < encoding || (row->encoding == encoding && row->number < number))
      low = middle + 1;
    else
      high = middle;
  }
  for (const isa_opcode_t *row = &opcodes[low]; row < opcodes + sizeof opcodes / sizeof *opcodes &&
                                                row->encoding == encoding && row->number == number;
       ++row)
    if (row->chips >> chip & 1)
      return row;
  return NULL;
}
