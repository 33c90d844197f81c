#include "softgpu/isa/describe/opcodes.h"

#include <stddef.h>

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/memory.h"

static const char *const names[] = {
    "invalid",
#define ISA_MNEMONIC(name, mnemonic) #mnemonic,
#include "softgpu/isa/describe/generated/mnemonics.inc"
#undef ISA_MNEMONIC
};

static const char *const gfx10_names[ISA_OP_COUNT] = {
#include "softgpu/isa/describe/generated/gfx10/spellings.inc"
};

static const char *const gfx11_names[ISA_OP_COUNT] = {
#include "softgpu/isa/describe/generated/gfx11/spellings.inc"
};

/* NULL: as the first one does. */
static const char *const *const spellings[ISA_FAMILY_COUNT] = {
    [ISA_FAMILY_GFX10] = gfx10_names, [ISA_FAMILY_GFX11] = gfx11_names};

static const isa_access_t accesses[ISA_OP_COUNT] = {
#include "softgpu/isa/describe/generated/memory.inc"
};

const char *isa_op_name(unsigned op)
{
  return names[op < ISA_OP_COUNT ? op : ISA_invalid];
}

const char *isa_op_name_on(unsigned chip, unsigned op)
{
  const char *const *own = spellings[isa_chip(chip)->family];
  return own && op < ISA_OP_COUNT && own[op] ? own[op] : isa_op_name(op);
}

const isa_access_t *isa_access_of(unsigned op)
{
  return op < ISA_OP_COUNT && accesses[op].kind ? &accesses[op] : NULL;
}

unsigned isa_image_dwords(const isa_inst_t *inst)
{
  const unsigned components = (unsigned)__builtin_popcount(inst->mem.image.dmask);
  const isa_access_t *access = isa_access_of(inst->op);
  const bool is_atomic = access && access->kind == ISA_ATOMIC;
  if (is_atomic && access->atomic == ISA_ATOMIC_CMPSWAP)
    return components == 4 ? 4 : 2;
  if (is_atomic)
    return components == 2 ? 2 : 1;
  return components == 0 ? 1 : inst->mem.image.d16 ? (components + 1) / 2 : components;
}
