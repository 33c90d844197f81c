#include "softgpu/isa/decode/decoder.h"
#include "softgpu/isa/describe/memory.h"

unsigned isa_scalar_code(const isa_decoder_t *d, unsigned code)
{
  return d->family->null_first && (code == ISA_M0 || code == ISA_NULL) ? code ^ ISA_M0 ^ ISA_NULL
                                                                       : code;
}

void isa_decode_sgpr(isa_decoder_t *d, isa_operand_t *out, unsigned code, unsigned width)
{
  const unsigned index = isa_scalar_code(d, code);
  if (!width)
    return;
  if (index == ISA_NULL ? !d->family->has_null : index + width > ISA_SGPRS)
    d->bad = true;
  *out = (isa_operand_t){.kind = ISA_OPERAND_SGPR, .index = (uint16_t)index};
}

void isa_decode_mask(isa_decoder_t *d, isa_operand_t *out, unsigned index)
{
  isa_decode_sgpr(d, out, index, d->inst->mask_dwords);
}

void isa_decode_vgpr(isa_decoder_t *d, isa_operand_t *out, unsigned index, unsigned width,
                     bool accumulation)
{
  if (!width)
    return;
  if (index + width > 256)
    d->bad = true;
  out->kind = accumulation ? ISA_OPERAND_AGPR : ISA_OPERAND_VGPR;
  out->index = (uint16_t)index;
}

void isa_decode_source(isa_decoder_t *d, isa_operand_t *out, unsigned code, unsigned width)
{
  if (!width)
    return;
  out->index = (uint16_t)code;
  if (code >= ISA_CODE_VGPRS) {
    out->kind = ISA_OPERAND_VGPR;
    out->index = (uint16_t)(code - ISA_CODE_VGPRS);
    d->bad |= out->index + width > 256;
  } else if (code < ISA_SGPRS) {
    isa_decode_sgpr(d, out, code, width);
  } else if (code <= ISA_CODE_LAST_INTEGER ||
             (code >= ISA_CODE_FLOATS && code <= ISA_CODE_LAST_FLOAT)) {
    out->kind = ISA_OPERAND_INLINE;
  } else if ((code >= ISA_CODE_APERTURES && code <= ISA_CODE_POPS_WAVE) ||
             (code >= ISA_CODE_VCCZ && code <= ISA_CODE_LDS_DIRECT)) {
    out->kind = ISA_OPERAND_SPECIAL;
  } else if (code == ISA_CODE_LITERAL) {
    out->kind = ISA_OPERAND_LITERAL;
    d->has_more = true;
  } else {
    d->bad = true;
  }
}

void isa_decode_literal(isa_decoder_t *d, const isa_opcode_t *row, isa_operand_t src[3])
{
  const bool is_factor = row->flags & ISA_F_FACTOR;
  if (is_factor)
    src[2] = src[1];
  isa_decode_source(d, &src[is_factor ? 1 : 2], ISA_CODE_LITERAL, 1);
}

bool isa_decode_is_atomic(const isa_inst_t *inst)
{
  const isa_access_t *access = isa_access_of(inst->op);
  return access && access->kind == ISA_ATOMIC;
}
