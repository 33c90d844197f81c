/* Instruction words into isa_inst_t. Where fields are, the family says. */
#include <string.h>

#include "softgpu/isa/decode/decoder.h"

static void (*const readers[ISA_READER_COUNT])(isa_decoder_t *d) = {
    [ISA_READ_sop] = isa_decode_sop,     [ISA_READ_sopk] = isa_decode_sopk,
    [ISA_READ_sopp] = isa_decode_sopp,   [ISA_READ_smem] = isa_decode_smem,
    [ISA_READ_vop] = isa_decode_vop,     [ISA_READ_vop3] = isa_decode_vop3,
    [ISA_READ_vop3p] = isa_decode_vop3p, [ISA_READ_ds] = isa_decode_ds,
    [ISA_READ_flat] = isa_decode_flat,   [ISA_READ_buffer] = isa_decode_buffer,
    [ISA_READ_image] = isa_decode_image, [ISA_READ_vopd] = isa_decode_vopd,
};

/* The row of the opcode; the encoding is the segment's where there are segments. */
static const isa_opcode_t *find_row(isa_decoder_t *d, const isa_fields_t *format)
{
  static const uint8_t segments[4] = {ISA_FLAT, ISA_SCRATCH, ISA_GLOBAL, ISA_ENCODING_COUNT};
  uint32_t number = bits_at(d, format->op_low, format->op_bits);
  unsigned encoding = format->encoding;
  if (encoding == ISA_FLAT)
    encoding = segments[field(d, F_FLAT_SEG)];
  if (encoding == ISA_MTBUF)
    number |= field(d, F_MTBUF_OP3) << 3;
  d->inst->encoding = (uint8_t)encoding;
  return isa_opcode_find(d->chip, encoding, number);
}

static void set_literal(isa_operand_t src[3], uint32_t value)
{
  for (unsigned i = 0; i < 3; ++i)
    if (src[i].kind == ISA_OPERAND_LITERAL)
      src[i].value = value;
}

isa_decode_status_t isa_decode_of(unsigned chip, unsigned lanes, const uint32_t *code,
                                  uint32_t available, isa_inst_t *inst)
{
  uint32_t words[ISA_MOST_DWORDS + 1] = {0}; /* behind a prefix a third dword may be looked at */
  memset(inst, 0, sizeof *inst);
  if (!available)
    return ISA_DECODE_TRUNCATED;
  memcpy(words, code, (available < ISA_MOST_DWORDS ? available : ISA_MOST_DWORDS) * sizeof *words);
  isa_decoder_t d = {.code = words, .inst = inst, .chip = chip, .family = isa_family(chip)};
  const isa_fields_t *format = isa_format_of(d.family, words[0]);
  if (!format)
    return ISA_DECODE_UNKNOWN;
  d.row = find_row(&d, format);
  if (!d.row)
    return ISA_DECODE_UNKNOWN;
  inst->op = d.row->op;
  inst->row = d.row;
  inst->chip = (uint8_t)chip;
  inst->mask_dwords = (uint8_t)(lanes / 32);
  if (inst->op == ISA_v_mfma_ld_scale_b32) {
    if (available <= format->dwords)
      return ISA_DECODE_TRUNCATED; /* whether it is a prefix depends on what follows */
    isa_decode_scaled(&d);
  } else if (d.row->flags & ISA_F_MAI)
    isa_decode_mai(&d);
  else
    readers[format->reader](&d);
  inst->dwords = (uint8_t)(format->dwords + d.has_more + (d.is_scaled ? 2 : 0));
  if (d.bad)
    return ISA_DECODE_UNKNOWN;
  if (inst->dwords > available)
    return ISA_DECODE_TRUNCATED;
  set_literal(inst->src, words[format->dwords]);
  if (inst->encoding == ISA_VOPD)
    set_literal(inst->vopd.src, words[format->dwords]);
  return ISA_DECODED;
}

isa_decode_status_t isa_decode(unsigned chip, const uint32_t *code, uint32_t available,
                               isa_inst_t *inst)
{
  return isa_decode_of(chip, isa_chip(chip)->lanes, code, available, inst);
}
