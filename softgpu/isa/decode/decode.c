/* Instruction words into isa_inst_t. Bit positions: MI200 ISA document, chapter 13. */
#include <string.h>

#include "softgpu/execute.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/describe/opcodes.h"

enum { LITERAL = 255, SDWA = 249, DPP = 250, FIRST_VGPR = 256 };

/* The instruction being decoded. `bad` is set by the first field that means nothing. */
typedef struct decoder {
  const uint32_t *code;
  isa_inst_t *inst;
  const struct isa_opcode *row;
  unsigned chip;
  bool bad, literal, is_scaled;
} decoder_t;

static uint32_t field(const decoder_t *d, unsigned low, unsigned bits)
{
  uint32_t word = d->code[low / 32];
  return word >> low % 32 & (uint32_t)((1ull << bits) - 1);
}

static int32_t sign_extend(uint32_t value, unsigned bits)
{
  uint32_t sign = 1u << (bits - 1);
  return (int32_t)((value ^ sign) - sign);
}

static void sgpr(decoder_t *d, isa_operand_t *out, unsigned index, unsigned width)
{
  if (!width)
    return;
  if (index + width > 128 || index == 125)
    d->bad = true;
  *out = (isa_operand_t){.kind = ISA_OPERAND_SGPR, .index = (uint16_t)index};
}

static void vgpr(decoder_t *d, isa_operand_t *out, unsigned index, unsigned width,
                 bool accumulation)
{
  if (!width)
    return;
  if (index + width > 256)
    d->bad = true;
  out->kind = accumulation ? ISA_OPERAND_AGPR : ISA_OPERAND_VGPR;
  out->index = (uint16_t)index;
}

/* The 9-bit source encoding; 8-bit scalar sources are its lower half. */
static void source(decoder_t *d, isa_operand_t *out, unsigned code, unsigned width)
{
  if (!width)
    return;
  out->index = (uint16_t)code;
  if (code >= FIRST_VGPR) {
    vgpr(d, out, code - FIRST_VGPR, width, false);
  } else if (code < 128) {
    sgpr(d, out, code, width);
  } else if (code <= 208 || (code >= 240 && code <= 248)) {
    out->kind = ISA_OPERAND_INLINE;
  } else if ((code >= 235 && code <= 239) || (code >= 251 && code <= 254)) {
    out->kind = ISA_OPERAND_SPECIAL;
  } else if (code == LITERAL) {
    out->kind = ISA_OPERAND_LITERAL;
    d->literal = true;
  } else {
    d->bad = true;
  }
}

static void decode_sop(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  source(d, &inst->src[0], field(d, 0, 8), d->row->src[0]);
  source(d, &inst->src[1], field(d, 8, 8), d->row->src[1]);
  if (inst->encoding == ISA_SOP1 || inst->encoding == ISA_SOP2)
    sgpr(d, &inst->dst, field(d, 16, 7), d->row->dst);
  if (inst->op == ISA_s_set_gpr_idx_on)
    inst->simm = (int32_t)field(d, 8, 8);
}

static void decode_sopk(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  uint32_t immediate = field(d, 0, 16);
  bool is_unsigned = (inst->op >= ISA_s_cmpk_eq_i32 && inst->op <= ISA_s_cmpk_lt_u32 &&
                      isa_op_name(inst->op)[10] == 'u') ||
                     inst->op == ISA_s_getreg_b32 || inst->op == ISA_s_setreg_b32 ||
                     inst->op == ISA_s_setreg_imm32_b32;
  inst->simm = is_unsigned ? (int32_t)immediate : sign_extend(immediate, 16);
  sgpr(d, &inst->dst, field(d, 16, 7), d->row->dst);
  if (d->row->flags & ISA_F_LITERAL)
    source(d, &inst->src[0], LITERAL, 1);
}

static bool is_branch(unsigned op)
{
  return op == ISA_s_branch || !strncmp(isa_op_name(op), "s_cbranch", 9);
}

static void decode_sopp(decoder_t *d)
{
  uint32_t immediate = field(d, 0, 16);
  d->inst->simm = is_branch(d->inst->op) ? sign_extend(immediate, 16) : (int32_t)immediate;
}

static void decode_smem(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool is_immediate = field(d, 17, 1), has_register = field(d, 14, 1);
  sgpr(d, &inst->saddr, field(d, 0, 6) << 1, row->sdst);
  sgpr(d, &inst->dst, field(d, 6, 7), row->dst);
  sgpr(d, &inst->data[0], field(d, 6, 7), row->src[0]);
  inst->nv = field(d, 15, 1);
  inst->glc = field(d, 16, 1);
  if (inst->glc && row->src[0] && strstr(isa_op_name(inst->op), "atomic"))
    inst->dst = inst->data[0];
  if (!row->sdst)
    return;
  if (is_immediate)
    inst->offset = sign_extend(field(d, 32, 21), 21);
  if (has_register)
    sgpr(d, &inst->soffset, field(d, 57, 7), 1);
  else if (!is_immediate)
    sgpr(d, &inst->soffset, field(d, 32, 7), 1);
}

static void decode_sdwa(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool scalar[2] = {field(d, 55, 1), field(d, 63, 1)};
  inst->has_sdwa = true;
  source(d, &inst->src[0], field(d, 32, 8) + (scalar[0] ? 0 : FIRST_VGPR), row->src[0]);
  source(d, &inst->src[1], field(d, 9, 8) + (scalar[1] ? 0 : FIRST_VGPR), row->src[1]);
  if (inst->encoding == ISA_VOP1)
    inst->src[1].kind = ISA_OPERAND_NONE;
  for (unsigned i = 0; i < 2; i++) {
    inst->sdwa.src_sel[i] = (uint8_t)field(d, 48 + 8 * i, 3);
    inst->sdwa.sext[i] = field(d, 51 + 8 * i, 1);
    inst->neg |= (uint8_t)(field(d, 52 + 8 * i, 1) << i);
    inst->abs |= (uint8_t)(field(d, 53 + 8 * i, 1) << i);
    if (row->src[i] && inst->sdwa.src_sel[i] > ISA_SEL_DWORD)
      d->bad = true;
  }
  if (inst->encoding == ISA_VOPC) {
    inst->sdwa.dst_sel = ISA_SEL_DWORD;
    if (field(d, 47, 1))
      sgpr(d, &inst->sdst, field(d, 40, 7), 2);
    return;
  }
  inst->sdwa.dst_sel = (uint8_t)field(d, 40, 3);
  inst->sdwa.dst_unused = (uint8_t)field(d, 43, 2);
  inst->clamp = field(d, 45, 1);
  inst->omod = (uint8_t)field(d, 46, 2);
  if (inst->sdwa.dst_sel > ISA_SEL_DWORD || inst->sdwa.dst_unused > 2)
    d->bad = true;
}

static void decode_dpp(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  inst->has_dpp = true;
  vgpr(d, &inst->src[0], field(d, 32, 8), d->row->src[0], false);
  vgpr(d, &inst->src[1], field(d, 9, 8), d->row->src[1], false);
  inst->dpp.ctrl = (uint16_t)field(d, 40, 9);
  inst->dpp.bound_ctrl = field(d, 51, 1);
  for (unsigned i = 0; i < 2; i++) {
    inst->neg |= (uint8_t)(field(d, 52 + 2 * i, 1) << i);
    inst->abs |= (uint8_t)(field(d, 53 + 2 * i, 1) << i);
  }
  inst->dpp.bank_mask = (uint8_t)field(d, 56, 4);
  inst->dpp.row_mask = (uint8_t)field(d, 60, 4);
}

/* v_fmamk/v_madmk and v_fmaak/v_madak: the literal is the factor or the addend, in the order of
 * the assembler's operands. */
static void place_literal(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  bool is_factor =
      inst->op == ISA_v_fmamk_f32 || inst->op == ISA_v_madmk_f32 || inst->op == ISA_v_madmk_f16;
  if (is_factor)
    inst->src[2] = inst->src[1];
  source(d, &inst->src[is_factor ? 1 : 2], LITERAL, 1);
}

/* VOP1, VOP2 and VOPC in their 32-bit, SDWA and DPP forms. */
static void decode_vop(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  unsigned src0 = field(d, 0, 9);
  if (inst->encoding == ISA_VOPC)
    sgpr(d, &inst->sdst, 106, 2);
  else if (row->flags & ISA_F_DST_SGPR)
    sgpr(d, &inst->dst, field(d, 17, 8), row->dst);
  else
    vgpr(d, &inst->dst, field(d, 17, 8), row->dst, inst->op == ISA_v_accvgpr_mov_b32);
  if (row->flags & ISA_F_CARRY_OUT)
    sgpr(d, &inst->sdst, 106, 2);
  if (row->flags & ISA_F_CARRY_IN)
    sgpr(d, &inst->src[2], 106, 2);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  if (src0 == SDWA && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_SDWA);
    decode_sdwa(d);
  } else if (src0 == DPP && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_DPP);
    decode_dpp(d);
  } else {
    source(d, &inst->src[0], src0, row->src[0]);
    vgpr(d, &inst->src[1], field(d, 9, 8), row->src[1], false);
  }
  if (inst->op == ISA_v_accvgpr_mov_b32 && inst->src[0].kind == ISA_OPERAND_VGPR)
    inst->src[0].kind = ISA_OPERAND_AGPR;
  if (row->flags & ISA_F_LITERAL)
    place_literal(d);
}

static void vop3_source_of(decoder_t *d, unsigned i, bool is_accumulation, unsigned width)
{
  unsigned code = field(d, 32 + 9 * i, 9);
  if (code == LITERAL && width)
    d->bad = true; /* GFX9 has no literals in 64-bit encodings */
  source(d, &d->inst->src[i], code, width);
  if (is_accumulation && d->inst->src[i].kind == ISA_OPERAND_VGPR)
    d->inst->src[i].kind = ISA_OPERAND_AGPR;
}

static void vop3_source(decoder_t *d, unsigned i, bool is_accumulation)
{
  vop3_source_of(d, i, is_accumulation, d->row->src[i]);
}

static void decode_vop3(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool is_compare = row->number < 0x100;
  if (row->flags & ISA_F_DST_SGPR)
    sgpr(d, is_compare ? &inst->sdst : &inst->dst, field(d, 0, 8), row->dst);
  else
    vgpr(d, &inst->dst, field(d, 0, 8), row->dst, false);
  if (row->flags & ISA_F_VOP3B) {
    sgpr(d, &inst->sdst, field(d, 8, 7), row->sdst);
  } else {
    inst->abs = (uint8_t)field(d, 8, 3);
    inst->op_sel = (uint8_t)field(d, 11, 4);
  }
  for (unsigned i = 0; i < 3; i++)
    vop3_source(d, i, false);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  inst->clamp = field(d, 15, 1);
  inst->omod = (uint8_t)field(d, 59, 2);
  inst->neg = (uint8_t)field(d, 61, 3);
  if (inst->op == ISA_v_bitop3_b16 || inst->op == ISA_v_bitop3_b32) {
    inst->simm = inst->omod << 6 | inst->abs << 3 | inst->neg;
    inst->omod = inst->abs = inst->neg = 0;
  }
}

static void decode_vop3p(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  vgpr(d, &inst->dst, field(d, 0, 8), d->row->dst, false);
  for (unsigned i = 0; i < 3; i++)
    vop3_source(d, i, false);
  inst->neg_hi = (uint8_t)field(d, 8, 3);
  inst->op_sel = (uint8_t)field(d, 11, 3);
  inst->op_sel_hi = (uint8_t)(field(d, 59, 2) | field(d, 14, 1) << 2);
  inst->clamp = field(d, 15, 1);
  inst->neg = (uint8_t)field(d, 61, 3);
}

/* Those of mixed formats are as wide as cbsz and blgp say. */
static unsigned mai_width(const decoder_t *d, unsigned i)
{
  if (!isa_mfma_is_mixed(d->inst->op))
    return d->row->src[i];
  return isa_mfma_mixed_dwords(i ? d->inst->blgp : d->inst->cbsz);
}

static void decode_mai(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  bool is_read = inst->op == ISA_v_accvgpr_read_b32, is_write = inst->op == ISA_v_accvgpr_write_b32;
  bool is_sparse = !strncmp(isa_op_name(inst->op), "v_smfmac", 8);
  bool accumulates_in_agprs = field(d, 15, 1);
  vgpr(d, &inst->dst, field(d, 0, 8), d->row->dst, is_write || (accumulates_in_agprs && !is_read));
  inst->cbsz = (uint8_t)field(d, 8, 3);
  inst->abid = (uint8_t)field(d, 11, 4);
  inst->blgp = (uint8_t)field(d, 61, 3);
  const bool is_mixed = isa_mfma_is_mixed(inst->op);
  d->bad |= is_mixed && (inst->cbsz > ISA_MFMA_LAST_MIXED || inst->blgp > ISA_MFMA_LAST_MIXED);
  vop3_source_of(d, 0, is_read || (field(d, 59, 1) && !is_write), mai_width(d, 0));
  vop3_source_of(d, 1, field(d, 60, 1), mai_width(d, 1));
  vop3_source(d, 2, accumulates_in_agprs && !is_sparse);
  d->bad |= is_mixed && inst->abid != d->is_scaled;
}

/* v_mfma_ld_scale_b32 and the v_mfma_f32_*_f8f6f4 behind it, which are one instruction. */
static void decode_scaled(decoder_t *d)
{
  decoder_t prefix = *d;
  d->code += 2;
  d->is_scaled = true;
  d->row = isa_opcode_find(d->chip, ISA_VOP3P, field(d, 16, 7));
  d->bad = field(d, 23, 9) != 0x1a7 || !d->row || !isa_mfma_is_mixed(d->row->op);
  if (d->bad)
    return;
  isa_inst_t *inst = d->inst;
  inst->op = d->row->op;
  inst->row = d->row;
  decode_mai(d);
  inst->has_scale = true;
  inst->op_sel = (uint8_t)field(&prefix, 11, 2);
  inst->op_sel_hi = (uint8_t)field(&prefix, 59, 2);
  for (unsigned i = 0; i < 2; i++) {
    const unsigned code = field(&prefix, 32 + 9 * i, 9);
    d->bad |= code == LITERAL;
    source(d, &inst->data[i], code, 1);
  }
}

static void decode_ds(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool accumulation = field(d, 25, 1);
  bool has_two_addresses = isa_has_two_addresses(inst->op);
  inst->offset = (int32_t)field(d, 0, has_two_addresses ? 8 : 16);
  if (has_two_addresses)
    inst->offset1 = field(d, 8, 8);
  inst->gds = field(d, 16, 1);
  vgpr(d, &inst->vaddr, field(d, 32, 8), row->src[2], accumulation && isa_is_gws(inst->op));
  vgpr(d, &inst->data[0], field(d, 40, 8), row->src[0], accumulation);
  vgpr(d, &inst->data[1], field(d, 48, 8), row->src[1], accumulation);
  vgpr(d, &inst->dst, field(d, 56, 8), row->dst, accumulation);
}

/* FLAT, GLOBAL and SCRATCH. */
static void decode_flat(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool accumulation = field(d, 55, 1);
  unsigned saddr = field(d, 48, 7), address_width = 2;
  bool has_saddr = saddr != 0x7f && inst->encoding != ISA_FLAT, has_vaddr = true;
  inst->offset =
      inst->encoding == ISA_FLAT ? (int32_t)field(d, 0, 12) : sign_extend(field(d, 0, 13), 13);
  if (inst->encoding == ISA_SCRATCH) {
    /* From gfx942 on the lds bit says whether there is a VGPR address; before, saddr excludes
     * it. */
    has_vaddr = d->chip == SOFTGPU_GFX90A ? !has_saddr : field(d, 13, 1);
    address_width = 1;
  } else {
    inst->lds = field(d, 13, 1);
    address_width = has_saddr ? 1 : 2;
  }
  inst->glc = field(d, 16, 1);
  inst->slc = field(d, 17, 1);
  inst->scc = field(d, 25, 1);
  if (has_saddr)
    sgpr(d, &inst->saddr, saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (has_vaddr)
    vgpr(d, &inst->vaddr, field(d, 32, 8), address_width, false);
  vgpr(d, &inst->data[0], field(d, 40, 8), row->src[0], accumulation);
  if (inst->glc || !(row->flags & ISA_F_GLC_RETURNS))
    vgpr(d, &inst->dst, field(d, 56, 8), row->dst, accumulation);
}

static void decode_buffer(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  bool accumulation = field(d, 55, 1);
  inst->offset = (int32_t)field(d, 0, 12);
  inst->offen = field(d, 12, 1);
  inst->idxen = field(d, 13, 1);
  inst->glc = field(d, 14, 1);
  inst->scc = field(d, inst->encoding == ISA_MUBUF ? 15 : 53, 1);
  if (inst->encoding == ISA_MUBUF)
    inst->lds = field(d, 16, 1);
  else
    inst->offset1 = field(d, 19, 7);
  inst->slc = field(d, inst->encoding == ISA_MUBUF ? 17 : 54, 1);
  if (!row->sdst)
    return; /* a cache operation */
  vgpr(d, &inst->vaddr, field(d, 32, 8), (unsigned)inst->offen + inst->idxen, false);
  vgpr(d, &inst->dst, field(d, 40, 8), inst->lds ? 0 : row->dst, accumulation);
  vgpr(d, &inst->data[0], field(d, 40, 8), row->src[0], accumulation);
  if (inst->glc && strstr(isa_op_name(inst->op), "atomic"))
    inst->dst = inst->data[0];
  sgpr(d, &inst->saddr, field(d, 48, 5) << 2, row->sdst);
  source(d, &inst->soffset, field(d, 56, 8), 1);
  if (inst->soffset.kind == ISA_OPERAND_LITERAL)
    d->bad = true;
}

static bool takes_d16(unsigned op)
{
  return op == ISA_image_load || op == ISA_image_load_mip || op == ISA_image_store ||
         op == ISA_image_store_mip || op == ISA_image_sample;
}

static void decode_image(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const struct isa_opcode *row = d->row;
  const bool accumulation = field(d, 16, 1), has_d16 = field(d, 63, 1);
  inst->offset = (int32_t)field(d, 8, 4);
  inst->offset1 = field(d, 0, 18) | (uint32_t)has_d16 << 31;
  inst->scc = field(d, 7, 1);
  inst->glc = field(d, 13, 1);
  inst->slc = field(d, 25, 1);
  d->bad |= field(d, 0, 1) || (has_d16 && !takes_d16(inst->op)) ||
            (!row->src[1] && field(d, 53, 5)); /* no sampler */
  vgpr(d, &inst->vaddr, field(d, 32, 8), row->src[2], false);
  vgpr(d, row->dst ? &inst->dst : &inst->data[0], field(d, 40, 8), isa_image_dwords(inst),
       accumulation);
  sgpr(d, &inst->saddr, field(d, 48, 5) << 2, row->sdst);
  sgpr(d, &inst->soffset, field(d, 53, 5) << 2, row->src[1]);
}

typedef struct format {
  uint8_t encoding, shift;
  uint32_t prefix; /* of the first dword, shifted right by `shift` */
  uint8_t op_low, op_bits, dwords;
  void (*decode)(decoder_t *d);
} format_t;

/* First match wins: longer prefixes stand before the ones they refine. */
static const format_t formats[] = {
    {ISA_SOP1, 23, 0x17d, 8, 8, 1, decode_sop},     {ISA_SOPC, 23, 0x17e, 16, 7, 1, decode_sop},
    {ISA_SOPP, 23, 0x17f, 16, 7, 1, decode_sopp},   {ISA_SOPK, 28, 0xb, 23, 5, 1, decode_sopk},
    {ISA_SOP2, 30, 0x2, 23, 7, 1, decode_sop},      {ISA_VOP1, 25, 0x3f, 9, 8, 1, decode_vop},
    {ISA_VOPC, 25, 0x3e, 17, 8, 1, decode_vop},     {ISA_VOP2, 31, 0, 25, 6, 1, decode_vop},
    {ISA_SMEM, 26, 0x30, 18, 8, 2, decode_smem},    {ISA_VOP3P, 23, 0x1a7, 16, 7, 2, decode_vop3p},
    {ISA_VOP3, 26, 0x34, 16, 10, 2, decode_vop3},   {ISA_DS, 26, 0x36, 17, 8, 2, decode_ds},
    {ISA_FLAT, 26, 0x37, 18, 7, 2, decode_flat},    {ISA_MUBUF, 26, 0x38, 18, 7, 2, decode_buffer},
    {ISA_MTBUF, 26, 0x3a, 15, 4, 2, decode_buffer}, {ISA_MIMG, 26, 0x3c, 18, 7, 2, decode_image},
};

static const format_t *find_format(uint32_t word)
{
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (word >> formats[i].shift == formats[i].prefix)
      return &formats[i];
  return NULL;
}

static unsigned dword_count(const decoder_t *d, const format_t *format)
{
  /* SDWA and DPP are second dwords of the 32-bit VALU encodings, as the literal is. */
  return format->dwords + (unsigned)(d->literal || d->inst->has_sdwa || d->inst->has_dpp) +
         (d->inst->has_scale ? 2 : 0);
}

isa_decode_status_t isa_decode(unsigned chip, const uint32_t *code, uint32_t available,
                               isa_inst_t *inst)
{
  static const uint8_t segments[4] = {ISA_FLAT, ISA_SCRATCH, ISA_GLOBAL, ISA_ENCODING_COUNT};
  uint32_t words[ISA_MOST_DWORDS] = {0};
  memset(inst, 0, sizeof *inst);
  if (!available)
    return ISA_DECODE_TRUNCATED;
  memcpy(words, code, (available < ISA_MOST_DWORDS ? available : ISA_MOST_DWORDS) * sizeof *words);
  const format_t *format = find_format(words[0]);
  if (!format)
    return ISA_DECODE_UNKNOWN;
  decoder_t d = {.code = words, .inst = inst, .chip = chip};
  inst->encoding = format->encoding == ISA_FLAT ? segments[words[0] >> 14 & 3] : format->encoding;
  d.row = isa_opcode_find(chip, inst->encoding, field(&d, format->op_low, format->op_bits));
  if (!d.row)
    return ISA_DECODE_UNKNOWN;
  inst->op = d.row->op;
  inst->row = d.row;
  inst->chip = (uint8_t)chip;
  if (inst->op == ISA_v_mfma_ld_scale_b32)
    decode_scaled(&d);
  else if (d.row->flags & ISA_F_MAI)
    decode_mai(&d);
  else
    format->decode(&d);
  inst->dwords = (uint8_t)dword_count(&d, format);
  if (d.bad)
    return ISA_DECODE_UNKNOWN;
  if (inst->dwords > available)
    return ISA_DECODE_TRUNCATED;
  for (unsigned i = 0; i < 3; i++)
    if (inst->src[i].kind == ISA_OPERAND_LITERAL)
      inst->src[i].value = words[format->dwords];
  return ISA_DECODED;
}
