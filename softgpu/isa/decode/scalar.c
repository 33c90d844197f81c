/* The scalar ALU and scalar memory. */
#include "softgpu/isa/decode/decoder.h"

void isa_decode_sop(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  isa_decode_source(d, &inst->src[0], field(d, F_SOP2_SSRC0), d->row->src[0]);
  isa_decode_source(d, &inst->src[1], field(d, F_SOP2_SSRC1), d->row->src[1]);
  if (inst->encoding == ISA_SOP1 || inst->encoding == ISA_SOP2)
    isa_decode_sgpr(d, &inst->dst, field(d, F_SOP2_SDST), d->row->dst);
  if (inst->op == ISA_s_set_gpr_idx_on)
    inst->simm = (int32_t)field(d, F_SOPC_SSRC1);
  if (inst->op == ISA_s_sendmsg_rtn_b32 || inst->op == ISA_s_sendmsg_rtn_b64)
    inst->simm = (int32_t)field(d, F_SOP1_SSRC0);
  if (d->row->flags & ISA_F_LITERAL)
    isa_decode_literal(d, d->row, inst->src);
}

void isa_decode_sopk(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const bool is_signed = d->row->flags & ISA_F_SIGNED;
  inst->simm = is_signed ? signed_field(d, F_SOPK_SIMM) : (int32_t)field(d, F_SOPK_SIMM);
  isa_decode_sgpr(d, &inst->dst, field(d, F_SOPK_SDST), d->row->dst);
  if (d->row->flags & ISA_F_LITERAL)
    isa_decode_source(d, &inst->src[0], ISA_CODE_LITERAL, 1);
}

void isa_decode_sopp(isa_decoder_t *d)
{
  const bool is_signed = d->row->flags & ISA_F_BRANCH;
  d->inst->simm = is_signed ? signed_field(d, F_SOPP_SIMM) : (int32_t)field(d, F_SOPP_SIMM);
}

void isa_decode_smem(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  const bool has_null = d->family->has_null; /* then both are always there */
  const bool is_immediate = has_null || field(d, F_SMEM_IMM);
  const bool has_register =
      has_null ? isa_scalar_code(d, field(d, F_SMEM_SOFFSET)) != ISA_NULL : field(d, F_SMEM_SOE);
  isa_decode_sgpr(d, &inst->mem.saddr, field(d, F_SMEM_SBASE) << 1, row->sdst);
  isa_decode_sgpr(d, &inst->dst, field(d, F_SMEM_SDATA), row->dst);
  isa_decode_sgpr(d, &inst->mem.data[0], field(d, F_SMEM_SDATA), row->src[0]);
  inst->mem.nv = field(d, F_SMEM_NV);
  inst->mem.glc = field(d, F_SMEM_GLC);
  inst->mem.dlc = field(d, F_SMEM_DLC);
  if (inst->mem.glc && isa_decode_is_atomic(inst))
    inst->dst = inst->mem.data[0];
  if (!row->sdst)
    return;
  if (is_immediate)
    inst->mem.offset = signed_field(d, F_SMEM_OFFSET);
  if (has_register)
    isa_decode_sgpr(d, &inst->mem.soffset, field(d, F_SMEM_SOFFSET), 1);
  else if (!is_immediate)
    isa_decode_sgpr(d, &inst->mem.soffset, field(d, F_SMEM_SREG), 1);
}
