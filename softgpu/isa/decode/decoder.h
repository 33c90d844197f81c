/* What the functions that decode encodings share. Internal to decode/. */
#ifndef SOFTGPU_ISA_DECODE_DECODER_H
#define SOFTGPU_ISA_DECODE_DECODER_H

#include "softgpu/isa/decode/family.h"

/* The instruction being decoded. `bad` is set by the first field that means nothing, `has_more` by
 * what the next dword is for: a literal, SDWA or DPP. */
typedef struct isa_decoder {
  const uint32_t *code;
  isa_inst_t *inst;
  const isa_opcode_t *row;
  const isa_family_t *family;
  unsigned chip;
  bool bad, has_more, is_scaled;
} isa_decoder_t;

static inline uint32_t bits_at(const isa_decoder_t *d, unsigned low, unsigned bits)
{
  uint32_t word = d->code[low / 32];
  return word >> low % 32 & (uint32_t)((1ull << bits) - 1);
}

static inline uint32_t field(const isa_decoder_t *d, isa_field_t name)
{
  const isa_place_t place = d->family->fields[name];
  return bits_at(d, place.low, place.bits);
}

static inline int32_t signed_field(const isa_decoder_t *d, isa_field_t name)
{
  const uint32_t sign = 1u << (d->family->fields[name].bits - 1);
  return (int32_t)((field(d, name) ^ sign) - sign);
}

/* --- operands; those of no width are not there --- */

/* A scalar operand's code as isa_code_t has it. */
unsigned isa_scalar_code(const isa_decoder_t *d, unsigned code);
void isa_decode_sgpr(isa_decoder_t *d, isa_operand_t *out, unsigned code, unsigned width);
/* A mask of lanes. */
void isa_decode_mask(isa_decoder_t *d, isa_operand_t *out, unsigned code);
void isa_decode_vgpr(isa_decoder_t *d, isa_operand_t *out, unsigned index, unsigned width,
                     bool accumulation);
/* The 9-bit source encoding; 8-bit scalar sources are its lower half. */
void isa_decode_source(isa_decoder_t *d, isa_operand_t *out, unsigned code, unsigned width);
/* v_fmamk/v_madmk and v_fmaak/v_madak: the literal is the factor or the addend, in the order of
 * the assembler's operands. */
void isa_decode_literal(isa_decoder_t *d, const isa_opcode_t *row, isa_operand_t src[3]);

/* Whether the result is a register only where glc asks for it. */
bool isa_decode_is_atomic(const isa_inst_t *inst);

/* --- encodings --- */

void isa_decode_sop(isa_decoder_t *d);
void isa_decode_sopk(isa_decoder_t *d);
void isa_decode_sopp(isa_decoder_t *d);
void isa_decode_smem(isa_decoder_t *d);
void isa_decode_vop(isa_decoder_t *d);
void isa_decode_vop3(isa_decoder_t *d);
void isa_decode_vop3p(isa_decoder_t *d);
void isa_decode_mai(isa_decoder_t *d);
void isa_decode_scaled(isa_decoder_t *d);
void isa_decode_ds(isa_decoder_t *d);
void isa_decode_flat(isa_decoder_t *d);
void isa_decode_buffer(isa_decoder_t *d);
void isa_decode_image(isa_decoder_t *d);
void isa_decode_vopd(isa_decoder_t *d);

#endif
