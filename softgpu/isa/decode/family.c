#include "softgpu/isa/decode/family.h"

#define ISA_OPCODE(encoding, number, name, chips, flags, dst, sdst, src0, src1, src2)              \
  {ISA_##encoding, number, ISA_##name, chips, flags, dst, sdst, {src0, src1, src2}},
#define ISA_FORMAT(encoding, shift, prefix, op_low, op_bits, dwords, reader)
#define ISA_FIELD(name, low, bits) [F_##name] = {low, bits},

static const isa_place_t gfx9_fields[ISA_FIELD_COUNT] = {
#include "softgpu/isa/describe/generated/formats.inc"
};

static const isa_place_t gfx10_fields[ISA_FIELD_COUNT] = {
#include "softgpu/isa/describe/generated/gfx10/formats.inc"
};

static const isa_place_t gfx11_fields[ISA_FIELD_COUNT] = {
#include "softgpu/isa/describe/generated/gfx11/formats.inc"
};

#undef ISA_FIELD
#undef ISA_FORMAT
#define ISA_FIELD(name, low, bits)
#define ISA_FORMAT(encoding, shift, prefix, op_low, op_bits, dwords, reader)                       \
  {ISA_##encoding, shift, prefix, op_low, op_bits, dwords, ISA_READ_##reader},

/* First match wins: longer prefixes stand before the ones they refine. */
static const isa_fields_t gfx9_formats[] = {
#include "softgpu/isa/describe/generated/formats.inc"
};

static const isa_fields_t gfx10_formats[] = {
#include "softgpu/isa/describe/generated/gfx10/formats.inc"
};

static const isa_fields_t gfx11_formats[] = {
#include "softgpu/isa/describe/generated/gfx11/formats.inc"
};

static const isa_opcode_t gfx9_opcodes[] = {
#include "softgpu/isa/describe/generated/opcodes.inc"
};

static const isa_opcode_t gfx10_opcodes[] = {
#include "softgpu/isa/describe/generated/gfx10/opcodes.inc"
};

static const isa_opcode_t gfx11_opcodes[] = {
#include "softgpu/isa/describe/generated/gfx11/opcodes.inc"
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define TABLES(family)                                                                             \
  .fields = family##_fields, .formats = family##_formats, .format_count = COUNT(family##_formats), \
  .opcodes = family##_opcodes, .opcode_count = COUNT(family##_opcodes)

static const isa_family_t families[ISA_FAMILY_COUNT] = {
    [ISA_FAMILY_GFX9] = {TABLES(gfx9)},
    [ISA_FAMILY_GFX10] = {TABLES(gfx10), .has_null = true, .long_literals = true},
    [ISA_FAMILY_GFX11] = {TABLES(gfx11), .has_null = true, .null_first = true, .has_sve = true,
                          .long_literals = true},
};

const isa_family_t *isa_family(unsigned chip)
{
  return &families[isa_chip(chip)->family];
}

const isa_fields_t *isa_format_of(const isa_family_t *family, uint32_t word)
{
  for (size_t i = 0; i < family->format_count; ++i)
    if (word >> family->formats[i].shift == family->formats[i].prefix)
      return &family->formats[i];
  return NULL;
}

/* Chips disagree about some opcodes, which then have a row for each. */
const isa_opcode_t *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number)
{
  const isa_family_t *family = isa_family(chip);
  const isa_opcode_t *const opcodes = family->opcodes;
  size_t low = 0, high = family->opcode_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const isa_opcode_t *row = &opcodes[middle];
    if (row->encoding < encoding || (row->encoding == encoding && row->number < number))
      low = middle + 1;
    else
      high = middle;
  }
  const isa_opcode_t *const end = opcodes + family->opcode_count;
  for (const isa_opcode_t *row = &opcodes[low];
       row < end && row->encoding == encoding && row->number == number; ++row)
    if (row->chips >> isa_chip(chip)->member & 1)
      return row;
  return NULL;
}
