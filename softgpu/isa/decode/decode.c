/* Instruction words into isa_inst_t. Where fields are, the family says. */
#include <string.h>

#include "softgpu/isa/decode/family.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/describe/memory.h"

/* The instruction being decoded. `bad` is set by the first field that means nothing. */
typedef struct decoder {
  const uint32_t *code;
  isa_inst_t *inst;
  const isa_opcode_t *row;
  const isa_family_t *family;
  unsigned chip;
  bool bad, literal, is_scaled;
} decoder_t;

static uint32_t bits_at(const decoder_t *d, unsigned low, unsigned bits)
{
  uint32_t word = d->code[low / 32];
  return word >> low % 32 & (uint32_t)((1ull << bits) - 1);
}

static uint32_t field(const decoder_t *d, isa_field_t name)
{
  const isa_place_t place = d->family->fields[name];
  return bits_at(d, place.low, place.bits);
}

static int32_t signed_field(const decoder_t *d, isa_field_t name)
{
  const uint32_t sign = 1u << (d->family->fields[name].bits - 1);
  return (int32_t)((field(d, name) ^ sign) - sign);
}

static void sgpr(decoder_t *d, isa_operand_t *out, unsigned index, unsigned width)
{
  if (!width)
    return;
  if (index == ISA_NULL ? !d->family->has_null : index + width > ISA_SGPRS)
    d->bad = true;
  *out = (isa_operand_t){.kind = ISA_OPERAND_SGPR, .index = (uint16_t)index};
}

/* A mask of lanes. */
static void mask(decoder_t *d, isa_operand_t *out, unsigned index)
{
  sgpr(d, out, index, d->inst->mask_dwords);
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
  if (code >= ISA_CODE_VGPRS) {
    out->kind = ISA_OPERAND_VGPR;
    out->index = (uint16_t)(code - ISA_CODE_VGPRS);
    d->bad |= out->index + width > 256;
  } else if (code < ISA_SGPRS) {
    sgpr(d, out, code, width);
  } else if (code <= ISA_CODE_LAST_INTEGER ||
             (code >= ISA_CODE_FLOATS && code <= ISA_CODE_LAST_FLOAT)) {
    out->kind = ISA_OPERAND_INLINE;
  } else if ((code >= ISA_CODE_APERTURES && code <= ISA_CODE_POPS_WAVE) ||
             (code >= ISA_CODE_VCCZ && code <= ISA_CODE_LDS_DIRECT)) {
    out->kind = ISA_OPERAND_SPECIAL;
  } else if (code == ISA_CODE_LITERAL) {
    out->kind = ISA_OPERAND_LITERAL;
    d->literal = true;
  } else {
    d->bad = true;
  }
}

static void decode_sop(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  source(d, &inst->src[0], field(d, F_SOP2_SSRC0), d->row->src[0]);
  source(d, &inst->src[1], field(d, F_SOP2_SSRC1), d->row->src[1]);
  if (inst->encoding == ISA_SOP1 || inst->encoding == ISA_SOP2)
    sgpr(d, &inst->dst, field(d, F_SOP2_SDST), d->row->dst);
  if (inst->op == ISA_s_set_gpr_idx_on)
    inst->simm = (int32_t)field(d, F_SOPC_SSRC1);
}

static void decode_sopk(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const bool is_signed = d->row->flags & ISA_F_SIGNED;
  inst->simm = is_signed ? signed_field(d, F_SOPK_SIMM) : (int32_t)field(d, F_SOPK_SIMM);
  sgpr(d, &inst->dst, field(d, F_SOPK_SDST), d->row->dst);
  if (d->row->flags & ISA_F_LITERAL)
    source(d, &inst->src[0], ISA_CODE_LITERAL, 1);
}

static void decode_sopp(decoder_t *d)
{
  const bool is_signed = d->row->flags & ISA_F_BRANCH;
  d->inst->simm = is_signed ? signed_field(d, F_SOPP_SIMM) : (int32_t)field(d, F_SOPP_SIMM);
}

static bool is_atomic(const isa_inst_t *inst)
{
  const isa_access_t *access = isa_access_of(inst->op);
  return access && access->kind == ISA_ATOMIC;
}

static void decode_smem(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  const bool has_null = d->family->has_null; /* then both are always there */
  const bool is_immediate = has_null || field(d, F_SMEM_IMM);
  const bool has_register = has_null ? field(d, F_SMEM_SOFFSET) != ISA_NULL : field(d, F_SMEM_SOE);
  sgpr(d, &inst->saddr, field(d, F_SMEM_SBASE) << 1, row->sdst);
  sgpr(d, &inst->dst, field(d, F_SMEM_SDATA), row->dst);
  sgpr(d, &inst->data[0], field(d, F_SMEM_SDATA), row->src[0]);
  inst->nv = field(d, F_SMEM_NV);
  inst->glc = field(d, F_SMEM_GLC);
  inst->dlc = field(d, F_SMEM_DLC);
  if (inst->glc && is_atomic(inst))
    inst->dst = inst->data[0];
  if (!row->sdst)
    return;
  if (is_immediate)
    inst->offset = signed_field(d, F_SMEM_OFFSET);
  if (has_register)
    sgpr(d, &inst->soffset, field(d, F_SMEM_SOFFSET), 1);
  else if (!is_immediate)
    sgpr(d, &inst->soffset, field(d, F_SMEM_SREG), 1);
}

static void decode_sdwa(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool scalar[2] = {field(d, F_SDWA_S0), field(d, F_SDWA_S1)};
  inst->has_sdwa = true;
  source(d, &inst->src[0], field(d, F_SDWA_VSRC0) + (scalar[0] ? 0 : ISA_CODE_VGPRS), row->src[0]);
  source(d, &inst->src[1], field(d, F_SDWA_VSRC1) + (scalar[1] ? 0 : ISA_CODE_VGPRS), row->src[1]);
  if (inst->encoding == ISA_VOP1)
    inst->src[1].kind = ISA_OPERAND_NONE;
  for (unsigned i = 0; i < 2; ++i) {
    inst->sdwa.src_sel[i] = (uint8_t)(i ? field(d, F_SDWA_SEL1) : field(d, F_SDWA_SEL0));
    inst->sdwa.sext[i] = i ? field(d, F_SDWA_SEXT1) : field(d, F_SDWA_SEXT0);
    if (row->src[i] && inst->sdwa.src_sel[i] > ISA_SEL_DWORD)
      d->bad = true;
  }
  inst->neg = (uint8_t)(field(d, F_SDWA_NEG0) | field(d, F_SDWA_NEG1) << 1);
  inst->abs = (uint8_t)(field(d, F_SDWA_ABS0) | field(d, F_SDWA_ABS1) << 1);
  if (inst->encoding == ISA_VOPC) {
    inst->sdwa.dst_sel = ISA_SEL_DWORD;
    if (field(d, F_SDWA_SD))
      mask(d, &inst->sdst, field(d, F_SDWA_SDST));
    return;
  }
  inst->sdwa.dst_sel = (uint8_t)field(d, F_SDWA_DST_SEL);
  inst->sdwa.dst_unused = (uint8_t)field(d, F_SDWA_DST_UNUSED);
  inst->clamp = field(d, F_SDWA_CLAMP);
  inst->omod = (uint8_t)field(d, F_SDWA_OMOD);
  if (inst->sdwa.dst_sel > ISA_SEL_DWORD || inst->sdwa.dst_unused > 2)
    d->bad = true;
}

static void decode_dpp(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  inst->has_dpp = true;
  vgpr(d, &inst->src[0], field(d, F_DPP_VSRC0), d->row->src[0], false);
  vgpr(d, &inst->src[1], field(d, F_DPP_VSRC1), d->row->src[1], false);
  inst->dpp.ctrl = (uint16_t)field(d, F_DPP_CTRL);
  inst->dpp.bound_ctrl = field(d, F_DPP_BOUND_CTRL);
  inst->dpp.fi = field(d, F_DPP_FI);
  inst->neg = (uint8_t)(field(d, F_DPP_NEG0) | field(d, F_DPP_NEG1) << 1);
  inst->abs = (uint8_t)(field(d, F_DPP_ABS0) | field(d, F_DPP_ABS1) << 1);
  inst->dpp.bank_mask = (uint8_t)field(d, F_DPP_BANK_MASK);
  inst->dpp.row_mask = (uint8_t)field(d, F_DPP_ROW_MASK);
}

static void decode_dpp8(decoder_t *d, bool fi)
{
  isa_inst_t *inst = d->inst;
  inst->has_dpp = inst->has_dpp8 = true;
  vgpr(d, &inst->src[0], field(d, F_DPP8_VSRC0), d->row->src[0], false);
  vgpr(d, &inst->src[1], field(d, F_DPP8_VSRC1), d->row->src[1], false);
  inst->simm = (int32_t)field(d, F_DPP8_LANES);
  inst->dpp.fi = fi;
}

/* v_fmamk/v_madmk and v_fmaak/v_madak: the literal is the factor or the addend, in the order of
 * the assembler's operands. */
static void place_literal(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const bool is_factor = d->row->flags & ISA_F_FACTOR;
  if (is_factor)
    inst->src[2] = inst->src[1];
  source(d, &inst->src[is_factor ? 1 : 2], ISA_CODE_LITERAL, 1);
}

/* VOP1, VOP2 and VOPC in their 32-bit, SDWA and DPP forms. */
static void decode_vop(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  unsigned src0 = field(d, F_VOP2_SRC0);
  if (inst->encoding == ISA_VOPC)
    mask(d, &inst->sdst, row->flags & ISA_F_ONLY_EXEC ? ISA_EXEC : ISA_VCC);
  else if (row->flags & ISA_F_DST_SGPR)
    sgpr(d, &inst->dst, field(d, F_VOP2_VDST), row->dst);
  else
    vgpr(d, &inst->dst, field(d, F_VOP2_VDST), row->dst, inst->op == ISA_v_accvgpr_mov_b32);
  if (row->flags & ISA_F_CARRY_OUT)
    mask(d, &inst->sdst, ISA_VCC);
  if (row->flags & ISA_F_CARRY_IN)
    mask(d, &inst->src[2], ISA_VCC);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  if (src0 == ISA_CODE_SDWA && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_SDWA);
    decode_sdwa(d);
  } else if (src0 == ISA_CODE_DPP && row->src[0]) {
    d->bad |= !(row->flags & ISA_F_DPP);
    decode_dpp(d);
  } else if (d->family->has_null && (src0 == ISA_CODE_DPP8 || src0 == ISA_CODE_DPP8_FI)) {
    d->bad |= !(row->flags & ISA_F_DPP);
    decode_dpp8(d, src0 == ISA_CODE_DPP8_FI);
  } else {
    source(d, &inst->src[0], src0, row->src[0]);
    vgpr(d, &inst->src[1], field(d, F_VOP2_VSRC1), row->src[1], false);
  }
  if (inst->op == ISA_v_accvgpr_mov_b32 && inst->src[0].kind == ISA_OPERAND_VGPR)
    inst->src[0].kind = ISA_OPERAND_AGPR;
  if (row->flags & ISA_F_LITERAL)
    place_literal(d);
}

static void vop3_source_of(decoder_t *d, unsigned i, bool is_accumulation, unsigned width)
{
  const uint32_t codes[3] = {field(d, F_VOP3_SRC0), field(d, F_VOP3_SRC1), field(d, F_VOP3_SRC2)};
  const unsigned code = codes[i];
  if (code == ISA_CODE_LITERAL && width && !d->family->long_literals)
    d->bad = true;
  source(d, &d->inst->src[i], code, width);
  if (is_accumulation && d->inst->src[i].kind == ISA_OPERAND_VGPR)
    d->inst->src[i].kind = ISA_OPERAND_AGPR;
}

static void vop3_source(decoder_t *d, unsigned i, bool is_accumulation)
{
  const bool is_mask = i == 2 && d->row->flags & ISA_F_MASK;
  vop3_source_of(d, i, is_accumulation, is_mask ? d->inst->mask_dwords : d->row->src[i]);
}

static void decode_vop3(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool is_compare = row->number < 0x100;
  if (is_compare)
    mask(d, &inst->sdst, row->flags & ISA_F_ONLY_EXEC ? ISA_EXEC : field(d, F_VOP3_VDST));
  else if (row->flags & ISA_F_DST_SGPR)
    sgpr(d, &inst->dst, field(d, F_VOP3_VDST), row->dst);
  else
    vgpr(d, &inst->dst, field(d, F_VOP3_VDST), row->dst, false);
  if (row->flags & ISA_F_VOP3B) {
    mask(d, &inst->sdst, field(d, F_VOP3B_SDST));
  } else {
    inst->abs = (uint8_t)field(d, F_VOP3_ABS);
    inst->op_sel = (uint8_t)field(d, F_VOP3_OP_SEL);
  }
  for (unsigned i = 0; i < 3; ++i)
    vop3_source(d, i, false);
  if (row->flags & ISA_F_TIED)
    inst->src[2] = inst->dst;
  inst->clamp = field(d, F_VOP3_CLAMP);
  inst->omod = (uint8_t)field(d, F_VOP3_OMOD);
  inst->neg = (uint8_t)field(d, F_VOP3_NEG);
  if (inst->op == ISA_v_bitop3_b16 || inst->op == ISA_v_bitop3_b32) {
    inst->simm = inst->omod << 6 | inst->abs << 3 | inst->neg;
    inst->omod = inst->abs = inst->neg = 0;
  }
}

static void decode_vop3p(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  vgpr(d, &inst->dst, field(d, F_VOP3P_VDST), d->row->dst, false);
  for (unsigned i = 0; i < 3; ++i)
    vop3_source(d, i, false);
  inst->neg_hi = (uint8_t)field(d, F_VOP3P_NEG_HI);
  inst->op_sel = (uint8_t)field(d, F_VOP3P_OP_SEL);
  inst->op_sel_hi = (uint8_t)(field(d, F_VOP3P_OP_SEL_HI) | field(d, F_VOP3P_OP_SEL_HI2) << 2);
  inst->clamp = field(d, F_VOP3P_CLAMP);
  inst->neg = (uint8_t)field(d, F_VOP3P_NEG);
}

/* Those of mixed formats are as wide as cbsz and blgp say. */
static unsigned mai_width(const decoder_t *d, unsigned i)
{
  if (!(d->row->flags & ISA_F_MIXED))
    return d->row->src[i];
  return isa_mfma_mixed_dwords(i ? d->inst->blgp : d->inst->cbsz);
}

static void decode_mai(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  bool is_read = inst->op == ISA_v_accvgpr_read_b32, is_write = inst->op == ISA_v_accvgpr_write_b32;
  const bool is_sparse = d->row->flags & ISA_F_SPARSE;
  bool accumulates_in_agprs = field(d, F_MAI_ACC_CD);
  vgpr(d, &inst->dst, field(d, F_MAI_VDST), d->row->dst,
       is_write || (accumulates_in_agprs && !is_read));
  inst->cbsz = (uint8_t)field(d, F_MAI_CBSZ);
  inst->abid = (uint8_t)field(d, F_MAI_ABID);
  inst->blgp = (uint8_t)field(d, F_MAI_BLGP);
  const bool is_mixed = d->row->flags & ISA_F_MIXED;
  d->bad |= is_mixed && (inst->cbsz > ISA_MFMA_LAST_MIXED || inst->blgp > ISA_MFMA_LAST_MIXED);
  vop3_source_of(d, 0, is_read || (field(d, F_MAI_ACC0) && !is_write), mai_width(d, 0));
  vop3_source_of(d, 1, field(d, F_MAI_ACC1), mai_width(d, 1));
  vop3_source(d, 2, accumulates_in_agprs && !is_sparse);
  d->bad |= is_mixed && inst->abid != d->is_scaled;
}

/* v_mfma_ld_scale_b32 and the v_mfma_f32_*_f8f6f4 after it, which are one instruction. Alone it has
 * a name, and nothing executes it. */
static void decode_scaled(decoder_t *d)
{
  decoder_t prefix = *d;
  const bool is_alike = d->code[2] >> 23 == d->code[0] >> 23; /* VOP3P, too; it can be anything */
  d->code += 2;
  d->row = is_alike ? isa_opcode_find(d->chip, ISA_VOP3P, field(d, F_MAI_OP)) : NULL;
  if (!d->row || !(d->row->flags & ISA_F_MIXED)) {
    *d = prefix;
    decode_vop3p(d);
    return;
  }
  isa_inst_t *inst = d->inst;
  d->is_scaled = true;
  inst->op = d->row->op;
  inst->row = d->row;
  decode_mai(d);
  inst->has_scale = true;
  inst->op_sel = (uint8_t)field(&prefix, F_VOP3P_OP_SEL) & 3;
  inst->op_sel_hi = (uint8_t)field(&prefix, F_VOP3P_OP_SEL_HI);
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned code = i ? field(&prefix, F_VOP3P_SRC1) : field(&prefix, F_VOP3P_SRC0);
    d->bad |= code == ISA_CODE_LITERAL;
    source(d, &inst->data[i], code, 1);
  }
}

static void decode_ds(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_DS_ACC);
  const isa_access_t *access = isa_access_of(inst->op);
  const bool has_two_addresses = access && access->unit;
  inst->offset = (int32_t)(has_two_addresses ? field(d, F_DS_OFFSET0) : field(d, F_DS_OFFSET));
  if (has_two_addresses)
    inst->offset1 = field(d, F_DS_OFFSET1);
  inst->gds = field(d, F_DS_GDS);
  vgpr(d, &inst->vaddr, field(d, F_DS_ADDR), row->src[2], accumulation && row->flags & ISA_F_GWS);
  vgpr(d, &inst->data[0], field(d, F_DS_DATA0), row->src[0], accumulation);
  vgpr(d, &inst->data[1], field(d, F_DS_DATA1), row->src[1], accumulation);
  vgpr(d, &inst->dst, field(d, F_DS_VDST), row->dst, accumulation);
}

/* FLAT, GLOBAL and SCRATCH. */
static void decode_flat(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_FLAT_ACC);
  unsigned saddr = field(d, F_FLAT_SADDR), address_width = 2;
  const bool is_null = d->family->has_null && saddr == ISA_NULL;
  bool has_saddr = saddr != 0x7f && !is_null && inst->encoding != ISA_FLAT, has_vaddr = true;
  inst->offset = inst->encoding == ISA_FLAT ? (int32_t)field(d, F_FLAT_UNSIGNED)
                                            : signed_field(d, F_FLAT_OFFSET);
  if (inst->encoding == ISA_SCRATCH) {
    /* From gfx942 on the lds bit says whether there is a VGPR address; before, saddr excludes
     * it. GFX10 can have neither. */
    has_vaddr = isa_chip(d->chip)->scratch_both ? field(d, F_FLAT_LDS)
                : d->family->has_null           ? is_null
                                                : !has_saddr;
    address_width = 1;
  } else {
    inst->lds = field(d, F_FLAT_LDS);
    address_width = has_saddr ? 1 : 2;
  }
  inst->glc = field(d, F_FLAT_GLC);
  inst->slc = field(d, F_FLAT_SLC);
  inst->scc = field(d, F_FLAT_SCC);
  inst->dlc = field(d, F_FLAT_DLC);
  if (has_saddr)
    sgpr(d, &inst->saddr, saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (has_vaddr && row->src[2])
    vgpr(d, &inst->vaddr, field(d, F_FLAT_ADDR), address_width, false);
  vgpr(d, &inst->data[0], field(d, F_FLAT_DATA), row->src[0], accumulation);
  if (inst->glc || !(row->flags & ISA_F_GLC_RETURNS))
    vgpr(d, &inst->dst, field(d, F_FLAT_VDST), row->dst, accumulation);
}

static void decode_buffer(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_MUBUF_ACC);
  inst->offset = (int32_t)field(d, F_MUBUF_OFFSET);
  inst->offen = field(d, F_MUBUF_OFFEN);
  inst->idxen = field(d, F_MUBUF_IDXEN);
  inst->glc = field(d, F_MUBUF_GLC);
  if (inst->encoding == ISA_MUBUF) {
    inst->lds = field(d, F_MUBUF_LDS);
    inst->scc = field(d, F_MUBUF_SCC);
    inst->slc = field(d, F_MUBUF_SLC);
    inst->dlc = field(d, F_MUBUF_DLC);
    inst->tfe = field(d, F_MUBUF_TFE);
  } else {
    inst->offset1 = field(d, F_MTBUF_FORMAT);
    inst->scc = field(d, F_MTBUF_SCC);
    inst->slc = field(d, F_MTBUF_SLC);
    inst->dlc = field(d, F_MTBUF_DLC);
    inst->tfe = field(d, F_MTBUF_TFE);
  }
  if (!row->sdst)
    return;         /* a cache operation */
  if (!row->src[2]) /* no address register: from LDS to memory */
    d->bad |= !inst->lds || inst->offen || inst->idxen;
  vgpr(d, &inst->vaddr, field(d, F_MUBUF_VADDR), (unsigned)inst->offen + inst->idxen, false);
  vgpr(d, &inst->dst, field(d, F_MUBUF_VDATA), inst->lds ? 0 : row->dst + inst->tfe, accumulation);
  vgpr(d, &inst->data[0], field(d, F_MUBUF_VDATA), row->src[0], accumulation);
  if (inst->glc && is_atomic(inst))
    inst->dst = inst->data[0];
  sgpr(d, &inst->saddr, field(d, F_MUBUF_SRSRC) << 2, row->sdst);
  source(d, &inst->soffset, field(d, F_MUBUF_SOFFSET), 1);
  if (inst->soffset.kind == ISA_OPERAND_LITERAL)
    d->bad = true;
}

static void decode_image(decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  const bool accumulation = field(d, F_MIMG_ACC), has_d16 = field(d, F_MIMG_D16);
  inst->offset = (int32_t)field(d, F_MIMG_DMASK);
  inst->offset1 = field(d, F_MIMG_SHAPE) | (uint32_t)has_d16 << 31;
  inst->scc = field(d, F_MIMG_SCC);
  inst->glc = field(d, F_MIMG_GLC);
  inst->slc = field(d, F_MIMG_SLC);
  d->bad |= field(d, F_MIMG_OP_HIGH) || (has_d16 && !(row->flags & ISA_F_D16)) ||
            (!row->src[1] && field(d, F_MIMG_SSAMP)); /* no sampler */
  vgpr(d, &inst->vaddr, field(d, F_MIMG_VADDR), row->src[2], false);
  vgpr(d, row->dst ? &inst->dst : &inst->data[0], field(d, F_MIMG_VDATA), isa_image_dwords(inst),
       accumulation);
  sgpr(d, &inst->saddr, field(d, F_MIMG_SRSRC) << 2, row->sdst);
  sgpr(d, &inst->soffset, field(d, F_MIMG_SSAMP) << 2, row->src[1]);
}

static void (*const readers[ISA_READER_COUNT])(decoder_t *d) = {
    [ISA_READ_sop] = decode_sop,     [ISA_READ_sopk] = decode_sopk,
    [ISA_READ_sopp] = decode_sopp,   [ISA_READ_smem] = decode_smem,
    [ISA_READ_vop] = decode_vop,     [ISA_READ_vop3] = decode_vop3,
    [ISA_READ_vop3p] = decode_vop3p, [ISA_READ_ds] = decode_ds,
    [ISA_READ_flat] = decode_flat,   [ISA_READ_buffer] = decode_buffer,
    [ISA_READ_image] = decode_image,
};

/* The row of the opcode; the encoding is the segment's where there are segments. */
static const isa_opcode_t *find_row(decoder_t *d, const isa_format_t *format)
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

isa_decode_status_t isa_decode_of(unsigned chip, unsigned lanes, const uint32_t *code,
                                  uint32_t available, isa_inst_t *inst)
{
  uint32_t words[ISA_MOST_DWORDS] = {0};
  memset(inst, 0, sizeof *inst);
  if (!available)
    return ISA_DECODE_TRUNCATED;
  memcpy(words, code, (available < ISA_MOST_DWORDS ? available : ISA_MOST_DWORDS) * sizeof *words);
  decoder_t d = {.code = words, .inst = inst, .chip = chip, .family = isa_family(chip)};
  const isa_format_t *format = isa_format_of(d.family, words[0]);
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
    decode_scaled(&d);
  } else if (d.row->flags & ISA_F_MAI)
    decode_mai(&d);
  else
    readers[format->reader](&d);
  /* SDWA and DPP are second dwords of the 32-bit VALU encodings, as the literal is. */
  inst->dwords = (uint8_t)(format->dwords + (d.literal || inst->has_sdwa || inst->has_dpp) +
                           (inst->has_scale ? 2 : 0));
  if (d.bad)
    return ISA_DECODE_UNKNOWN;
  if (inst->dwords > available)
    return ISA_DECODE_TRUNCATED;
  for (unsigned i = 0; i < 3; ++i)
    if (inst->src[i].kind == ISA_OPERAND_LITERAL)
      inst->src[i].value = words[format->dwords];
  return ISA_DECODED;
}

isa_decode_status_t isa_decode(unsigned chip, const uint32_t *code, uint32_t available,
                               isa_inst_t *inst)
{
  return isa_decode_of(chip, isa_chip(chip)->lanes, code, available, inst);
}
