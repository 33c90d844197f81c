/* The tables by which instructions of a family of chips are decoded: describe/formats.isa and those
 * of the families' folders. */
#ifndef SOFTGPU_ISA_DECODE_FAMILY_H
#define SOFTGPU_ISA_DECODE_FAMILY_H

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"

/* F_ENCODING_NAME: the fields of all families' encodings. */
typedef enum isa_field {
#define ISA_FIELD(name) F_##name,
#include "softgpu/isa/describe/generated/fields.inc"
#undef ISA_FIELD
  ISA_FIELD_COUNT
} isa_field_t;

/* Where a field is: bits from bit `low` on, counted through the dwords. A family that has none of
 * that name has one of no bits, which is 0. */
typedef struct isa_place {
  uint8_t low, bits;
} isa_place_t;

/* How an encoding's fields are read. */
typedef enum isa_reader {
  ISA_READ_sop,
  ISA_READ_sopk,
  ISA_READ_sopp,
  ISA_READ_smem,
  ISA_READ_vop,
  ISA_READ_vop3,
  ISA_READ_vop3p,
  ISA_READ_ds,
  ISA_READ_flat,
  ISA_READ_buffer,
  ISA_READ_image,
  ISA_READ_vopd,
  ISA_READER_COUNT
} isa_reader_t;

typedef struct isa_fields {
  uint8_t encoding, shift;
  uint32_t prefix; /* of the first dword, shifted right by `shift` */
  uint8_t op_low, op_bits, dwords;
  uint8_t reader; /* isa_reader_t */
} isa_fields_t;

typedef struct isa_family {
  const isa_place_t *fields; /* by isa_field_t */
  const isa_fields_t *formats;
  size_t format_count;
  const isa_opcode_t *opcodes; /* in order */
  size_t opcode_count;
  bool has_null;      /* ISA_NULL is an operand: 0, or nowhere */
  bool null_first;    /* its code and that of M0 are exchanged */
  bool long_literals; /* encodings of 64 bits may have a literal, too */
  bool has_sve;       /* SCRATCH: a bit says whether there is a VGPR address */
} isa_family_t;

const isa_family_t *isa_family(unsigned chip);

/* NULL: there is none. */
const isa_fields_t *isa_format_of(const isa_family_t *family, uint32_t word);

#endif
