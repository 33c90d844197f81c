/* The vector ALU and matrices. */
#include "softgpu/isa/decode/decoder.h"
#include "softgpu/isa/describe/matrix.h"

/* Of an operand that is half a register, which half: in 32 bits the number's eighth bit says it. */
static unsigned whole_number(const isa_decoder_t *d, isa_operand_t *out, unsigned number,
                             uint32_t flag)
{
  if (!(d->row->flags & flag))
    return number;
  out->half = number & 0x80 ? ISA_HIGH_HALF : ISA_LOW_HALF;
  return number & ~0x80u;
}

static void short_vgpr(isa_decoder_t *d, isa_operand_t *out, unsigned number, unsigned width,
                       uint32_t half_flag)
{
  if (width)
    isa_decode_vgpr(d, out, whole_number(d, out, number, half_flag), width, false);
}

static void short_source(isa_decoder_t *d, isa_operand_t *out, unsigned code, unsigned width)
{
  if (code >= ISA_CODE_VGPRS)
    short_vgpr(d, out, code - ISA_CODE_VGPRS, width, ISA_F_HALF_0);
  else
    isa_decode_source(d, out, code, width);
}

static void decode_sdwa(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool scalar[2] = {field(d, F_SDWA_S0), field(d, F_SDWA_S1)};
  inst->vop.has_sdwa = d->has_more = true;
  isa_decode_source(d, &inst->src[0], field(d, F_SDWA_VSRC0) + (scalar[0] ? 0 : ISA_CODE_VGPRS),
                    row->src[0]);
  isa_decode_source(d, &inst->src[1], field(d, F_SDWA_VSRC1) + (scalar[1] ? 0 : ISA_CODE_VGPRS),
                    row->src[1]);
  if (inst->encoding == ISA_VOP1)
    inst->src[1].kind = ISA_OPERAND_NONE;
  for (unsigned i = 0; i < 2; ++i) {
    inst->vop.sdwa.src_sel[i] = (uint8_t)(i ? field(d, F_SDWA_SEL1) : field(d, F_SDWA_SEL0));
    inst->vop.sdwa.sext[i] = i ? field(d, F_SDWA_SEXT1) : field(d, F_SDWA_SEXT0);
    if (row->src[i] && inst->vop.sdwa.src_sel[i] > ISA_SEL_DWORD)
      d->bad = true;
  }
  inst->vop.neg = (uint8_t)(field(d, F_SDWA_NEG0) | field(d, F_SDWA_NEG1) << 1);
  inst->vop.abs = (uint8_t)(field(d, F_SDWA_ABS0) | field(d, F_SDWA_ABS1) << 1);
  if (inst->encoding == ISA_VOPC) {
    inst->vop.sdwa.dst_sel = ISA_SEL_DWORD;
    if (field(d, F_SDWA_SD) && row->flags & ISA_F_ONLY_EXEC)
      d->bad = true;
    else if (field(d, F_SDWA_SD))
      isa_decode_mask(d, &inst->sdst, field(d, F_SDWA_SDST));
    return;
  }
  inst->vop.sdwa.dst_sel = (uint8_t)field(d, F_SDWA_DST_SEL);
  inst->vop.sdwa.dst_unused = (uint8_t)field(d, F_SDWA_DST_UNUSED);
  inst->vop.clamp = field(d, F_SDWA_CLAMP);
  inst->vop.omod = (uint8_t)field(d, F_SDWA_OMOD);
  if (inst->vop.sdwa.dst_sel > ISA_SEL_DWORD || inst->vop.sdwa.dst_unused > 2)
    d->bad = true;
}

static void read_dpp(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  inst->vop.has_dpp = d->has_more = true;
  inst->vop.dpp.ctrl = (uint16_t)field(d, F_DPP_CTRL);
  inst->vop.dpp.bound_ctrl = field(d, F_DPP_BOUND_CTRL);
  inst->vop.dpp.fi = field(d, F_DPP_FI);
  inst->vop.dpp.bank_mask = (uint8_t)field(d, F_DPP_BANK_MASK);
  inst->vop.dpp.row_mask = (uint8_t)field(d, F_DPP_ROW_MASK);
}

static void read_dpp8(isa_decoder_t *d, unsigned code)
{
  d->inst->vop.has_dpp = d->inst->vop.has_dpp8 = d->has_more = true;
  d->inst->simm = (int32_t)field(d, F_DPP8_LANES);
  d->inst->vop.dpp.fi = code == ISA_CODE_DPP8_FI;
}

static bool is_dpp8(const isa_decoder_t *d, unsigned code)
{
  return d->family->has_null && (code == ISA_CODE_DPP8 || code == ISA_CODE_DPP8_FI);
}

/* In 32 bits; source 0 is where the code stood for it. */
static void decode_dpp(isa_decoder_t *d, unsigned code)
{
  isa_inst_t *inst = d->inst;
  if (is_dpp8(d, code)) {
    read_dpp8(d, code);
  } else {
    read_dpp(d);
    inst->vop.neg = (uint8_t)(field(d, F_DPP_NEG0) | field(d, F_DPP_NEG1) << 1);
    inst->vop.abs = (uint8_t)(field(d, F_DPP_ABS0) | field(d, F_DPP_ABS1) << 1);
  }
  short_vgpr(d, &inst->src[0], field(d, F_DPP_VSRC0), d->row->src[0], ISA_F_HALF_0);
  short_vgpr(d, &inst->src[1], field(d, F_DPP_VSRC1), d->row->src[1], ISA_F_HALF_1);
}

/* VOP1, VOP2 and VOPC in their 32-bit, SDWA and DPP forms. */
void isa_decode_vop(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  unsigned src0 = field(d, F_VOP2_SRC0);
  if (inst->encoding == ISA_VOPC)
    isa_decode_mask(d, &inst->sdst, row->flags & ISA_F_ONLY_EXEC ? ISA_EXEC : ISA_VCC);
  else if (row->flags & ISA_F_DST_SGPR)
    isa_decode_sgpr(d, &inst->dst, field(d, F_VOP2_VDST), row->dst);
  else
    short_vgpr(d, &inst->dst, field(d, F_VOP2_VDST), row->dst, ISA_F_HALF_DST);
  if (row->flags & ISA_F_CARRY_OUT)
    isa_decode_mask(d, &inst->sdst, ISA_VCC);
  if (row->flags & ISA_F_CARRY_IN)
    isa_decode_mask(d, &inst->src[2], ISA_VCC);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  if (src0 == ISA_CODE_SDWA && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_SDWA);
    decode_sdwa(d);
  } else if ((src0 == ISA_CODE_DPP || is_dpp8(d, src0)) && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_DPP);
    decode_dpp(d, src0);
  } else {
    short_source(d, &inst->src[0], src0, row->src[0]);
    short_vgpr(d, &inst->src[1], field(d, F_VOP2_VSRC1), row->src[1], ISA_F_HALF_1);
  }
  if (inst->op == ISA_v_accvgpr_mov_b32) {
    inst->dst.kind = ISA_OPERAND_AGPR;
    if (inst->src[0].kind == ISA_OPERAND_VGPR)
      inst->src[0].kind = ISA_OPERAND_AGPR;
  }
  if (row->flags & ISA_F_LITERAL)
    isa_decode_literal(d, row, inst->src);
}

/* In 64 bits it is a third dword, which has source 0 and no modifiers. */
static void decode_long_dpp(isa_decoder_t *d, unsigned code)
{
  d->bad |= !(d->row->flags & ISA_F_DPP);
  ++d->code; /* as behind 32 bits */
  if (is_dpp8(d, code))
    read_dpp8(d, code);
  else
    read_dpp(d);
  isa_decode_vgpr(d, &d->inst->src[0], field(d, F_DPP_VSRC0), d->row->src[0], false);
  --d->code;
}

static void vop3_source_of(isa_decoder_t *d, unsigned i, bool is_accumulation, unsigned width)
{
  const uint32_t codes[3] = {field(d, F_VOP3_SRC0), field(d, F_VOP3_SRC1), field(d, F_VOP3_SRC2)};
  const unsigned code = codes[i];
  if (code == ISA_CODE_LITERAL && width && !d->family->long_literals)
    d->bad = true;
  if (i == 0 && d->family->has_null && (code == ISA_CODE_DPP || is_dpp8(d, code)))
    decode_long_dpp(d, code);
  else
    isa_decode_source(d, &d->inst->src[i], code, width);
  if (is_accumulation && d->inst->src[i].kind == ISA_OPERAND_VGPR)
    d->inst->src[i].kind = ISA_OPERAND_AGPR;
}

static void vop3_source(isa_decoder_t *d, unsigned i, bool is_accumulation)
{
  vop3_source_of(d, i, is_accumulation, isa_source_dwords(d->inst, i));
}

/* In 64 bits op_sel says which half of a register an operand is. */
static void mark_halves(isa_inst_t *inst)
{
  static const uint32_t flags[4] = {ISA_F_HALF_0, ISA_F_HALF_1, ISA_F_HALF_2, ISA_F_HALF_DST};
  isa_operand_t *const operands[4] = {&inst->src[0], &inst->src[1], &inst->src[2], &inst->dst};
  for (unsigned i = 0; i < 4; ++i)
    if (inst->row->flags & flags[i] && operands[i]->kind == ISA_OPERAND_VGPR)
      operands[i]->half = inst->vop.op_sel >> i & 1 ? ISA_HIGH_HALF : ISA_LOW_HALF;
}

void isa_decode_vop3(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool is_compare = row->number < 0x100;
  if (is_compare)
    isa_decode_mask(d, &inst->sdst,
                    row->flags & ISA_F_ONLY_EXEC ? ISA_EXEC : field(d, F_VOP3_VDST));
  else if (row->flags & ISA_F_DST_SGPR)
    isa_decode_sgpr(d, &inst->dst, field(d, F_VOP3_VDST), row->dst);
  else
    isa_decode_vgpr(d, &inst->dst, field(d, F_VOP3_VDST), row->dst, false);
  if (row->flags & ISA_F_VOP3B) {
    isa_decode_mask(d, &inst->sdst, field(d, F_VOP3B_SDST));
  } else {
    inst->vop.abs = (uint8_t)field(d, F_VOP3_ABS);
    inst->vop.op_sel = (uint8_t)field(d, F_VOP3_OP_SEL);
  }
  for (unsigned i = 0; i < 3; ++i)
    vop3_source(d, i, false);
  mark_halves(inst);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  inst->vop.clamp = field(d, F_VOP3_CLAMP);
  inst->vop.omod = (uint8_t)field(d, F_VOP3_OMOD);
  inst->vop.neg = (uint8_t)field(d, F_VOP3_NEG);
  if (inst->op == ISA_v_bitop3_b16 || inst->op == ISA_v_bitop3_b32) {
    inst->simm = inst->vop.omod << 6 | inst->vop.abs << 3 | inst->vop.neg;
    inst->vop.omod = inst->vop.abs = inst->vop.neg = 0;
  }
}

void isa_decode_vop3p(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  isa_decode_vgpr(d, &inst->dst, field(d, F_VOP3P_VDST), isa_result_dwords(inst), false);
  for (unsigned i = 0; i < 3; ++i)
    vop3_source(d, i, false);
  inst->vop.neg_hi = (uint8_t)field(d, F_VOP3P_NEG_HI);
  inst->vop.op_sel = (uint8_t)field(d, F_VOP3P_OP_SEL);
  inst->vop.op_sel_hi = (uint8_t)(field(d, F_VOP3P_OP_SEL_HI) | field(d, F_VOP3P_OP_SEL_HI2) << 2);
  inst->vop.clamp = field(d, F_VOP3P_CLAMP);
  inst->vop.neg = (uint8_t)field(d, F_VOP3P_NEG);
}

/* Those of mixed formats are as wide as cbsz and blgp say. */
static unsigned mai_width(const isa_decoder_t *d, unsigned i)
{
  if (!(d->row->flags & ISA_F_MIXED))
    return d->row->src[i];
  return isa_mfma_mixed_dwords(i ? d->inst->vop.blgp : d->inst->vop.cbsz);
}

void isa_decode_mai(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  bool is_read = inst->op == ISA_v_accvgpr_read_b32, is_write = inst->op == ISA_v_accvgpr_write_b32;
  const bool is_sparse = d->row->flags & ISA_F_SPARSE;
  bool accumulates_in_agprs = field(d, F_MAI_ACC_CD);
  isa_decode_vgpr(d, &inst->dst, field(d, F_MAI_VDST), d->row->dst,
                  is_write || (accumulates_in_agprs && !is_read));
  inst->vop.cbsz = (uint8_t)field(d, F_MAI_CBSZ);
  inst->vop.abid = (uint8_t)field(d, F_MAI_ABID);
  inst->vop.blgp = (uint8_t)field(d, F_MAI_BLGP);
  const bool is_mixed = d->row->flags & ISA_F_MIXED;
  d->bad |=
      is_mixed && (inst->vop.cbsz > ISA_MFMA_LAST_MIXED || inst->vop.blgp > ISA_MFMA_LAST_MIXED);
  vop3_source_of(d, 0, is_read || (field(d, F_MAI_ACC0) && !is_write), mai_width(d, 0));
  vop3_source_of(d, 1, field(d, F_MAI_ACC1), mai_width(d, 1));
  vop3_source(d, 2, accumulates_in_agprs && !is_sparse);
  d->bad |= is_mixed && inst->vop.abid != d->is_scaled;
}

/* v_mfma_ld_scale_b32 and the v_mfma_f32_*_f8f6f4 after it, which are one instruction. Alone it has
 * a name, and nothing executes it. */
void isa_decode_scaled(isa_decoder_t *d)
{
  isa_decoder_t prefix = *d;
  const bool is_alike = d->code[2] >> 23 == d->code[0] >> 23; /* VOP3P, too; it can be anything */
  d->code += 2;
  d->row = is_alike ? isa_opcode_find(d->chip, ISA_VOP3P, field(d, F_MAI_OP)) : NULL;
  if (!d->row || !(d->row->flags & ISA_F_MIXED)) {
    *d = prefix;
    isa_decode_vop3p(d);
    return;
  }
  isa_inst_t *inst = d->inst;
  d->is_scaled = true;
  inst->op = d->row->op;
  inst->row = d->row;
  isa_decode_mai(d);
  inst->vop.has_scale = true;
  inst->vop.op_sel = (uint8_t)field(&prefix, F_VOP3P_OP_SEL) & 3;
  inst->vop.op_sel_hi = (uint8_t)field(&prefix, F_VOP3P_OP_SEL_HI);
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned code = i ? field(&prefix, F_VOP3P_SRC1) : field(&prefix, F_VOP3P_SRC0);
    d->bad |= code == ISA_CODE_LITERAL;
    isa_decode_source(d, &inst->vop.scale[i], code, 1);
  }
}

static void decode_half(isa_decoder_t *d, const isa_opcode_t *row, isa_operand_t *dst,
                        isa_operand_t src[3], unsigned src0, unsigned src1)
{
  isa_decode_source(d, &src[0], src0, row->src[0]);
  isa_decode_vgpr(d, &src[1], src1, row->src[1], false);
  if (row->flags & ISA_F_CARRY_IN)
    isa_decode_mask(d, &src[2], ISA_VCC);
  if (row->flags & ISA_F_TIED)
    src[2] = *dst;
  if (row->flags & ISA_F_LITERAL)
    isa_decode_literal(d, row, src);
}

/* One of the two results is in an even register, the other one in an odd one. */
void isa_decode_vopd(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *other = isa_opcode_find(d->chip, ISA_VOPD, field(d, F_VOPD_OPY));
  if (!other) {
    d->bad = true;
    return;
  }
  const unsigned dst = field(d, F_VOPD_VDSTX);
  isa_decode_vgpr(d, &inst->dst, dst, 1, false);
  isa_decode_vgpr(d, &inst->vopd.dst, field(d, F_VOPD_VDSTY) << 1 | !(dst & 1), 1, false);
  inst->vopd.row = other;
  decode_half(d, d->row, &inst->dst, inst->src, field(d, F_VOPD_SRCX0), field(d, F_VOPD_VSRCX1));
  decode_half(d, other, &inst->vopd.dst, inst->vopd.src, field(d, F_VOPD_SRCY0),
              field(d, F_VOPD_VSRCY1));
}
