/* Vector memory and LDS. */
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/decode/decoder.h"

void isa_decode_ds(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_DS_ACC);
  const isa_access_t *access = isa_access_of(inst->op);
  const bool has_two_addresses = access && access->unit;
  inst->mem.offset = (int32_t)(has_two_addresses ? field(d, F_DS_OFFSET0) : field(d, F_DS_OFFSET));
  if (has_two_addresses)
    inst->mem.offset1 = field(d, F_DS_OFFSET1);
  inst->mem.gds = field(d, F_DS_GDS);
  isa_decode_vgpr(d, &inst->mem.vaddr, field(d, F_DS_ADDR), row->src[2],
                  accumulation && row->flags & ISA_F_GWS);
  isa_decode_vgpr(d, &inst->mem.data[0], field(d, F_DS_DATA0), row->src[0], accumulation);
  isa_decode_vgpr(d, &inst->mem.data[1], field(d, F_DS_DATA1), row->src[1], accumulation);
  isa_decode_vgpr(d, &inst->dst, field(d, F_DS_VDST), row->dst, accumulation);
}

/* FLAT, GLOBAL and SCRATCH. */
void isa_decode_flat(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_FLAT_ACC);
  unsigned saddr = field(d, F_FLAT_SADDR), address_width = 2;
  const bool is_null = d->family->has_null && isa_scalar_code(d, saddr) == ISA_NULL;
  const bool is_off = is_null || (saddr == 0x7f && !d->family->has_sve);
  bool has_saddr = !is_off && inst->encoding != ISA_FLAT, has_vaddr = true;
  inst->mem.offset = inst->encoding == ISA_FLAT ? (int32_t)field(d, F_FLAT_UNSIGNED)
                                                : signed_field(d, F_FLAT_OFFSET);
  if (inst->encoding == ISA_SCRATCH) {
    /* From gfx942 on the lds bit says whether there is a VGPR address; before, saddr excludes
     * it. GFX10 can have neither. */
    has_vaddr = d->family->has_sve                ? field(d, F_FLAT_SVE)
                : isa_chip(d->chip)->scratch_both ? field(d, F_FLAT_LDS)
                : d->family->has_null             ? is_null
                                                  : !has_saddr;
    address_width = 1;
  } else {
    inst->mem.lds = field(d, F_FLAT_LDS);
    address_width = has_saddr ? 1 : 2;
  }
  inst->mem.glc = field(d, F_FLAT_GLC);
  inst->mem.slc = field(d, F_FLAT_SLC);
  inst->mem.scc = field(d, F_FLAT_SCC);
  inst->mem.dlc = field(d, F_FLAT_DLC);
  if (has_saddr)
    isa_decode_sgpr(d, &inst->mem.saddr, saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (has_vaddr && row->src[2])
    isa_decode_vgpr(d, &inst->mem.vaddr, field(d, F_FLAT_ADDR), address_width, false);
  isa_decode_vgpr(d, &inst->mem.data[0], field(d, F_FLAT_DATA), row->src[0], accumulation);
  if (inst->mem.glc || !(row->flags & ISA_F_GLC_RETURNS))
    isa_decode_vgpr(d, &inst->dst, field(d, F_FLAT_VDST), row->dst, accumulation);
}

void isa_decode_buffer(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  bool accumulation = field(d, F_MUBUF_ACC);
  inst->mem.offset = (int32_t)field(d, F_MUBUF_OFFSET);
  inst->mem.offen = field(d, F_MUBUF_OFFEN);
  inst->mem.idxen = field(d, F_MUBUF_IDXEN);
  inst->mem.glc = field(d, F_MUBUF_GLC);
  if (inst->encoding == ISA_MUBUF) {
    inst->mem.lds = field(d, F_MUBUF_LDS);
    inst->mem.scc = field(d, F_MUBUF_SCC);
    inst->mem.slc = field(d, F_MUBUF_SLC);
    inst->mem.dlc = field(d, F_MUBUF_DLC);
    inst->mem.tfe = field(d, F_MUBUF_TFE);
  } else {
    inst->mem.format = field(d, F_MTBUF_FORMAT);
    inst->mem.scc = field(d, F_MTBUF_SCC);
    inst->mem.slc = field(d, F_MTBUF_SLC);
    inst->mem.dlc = field(d, F_MTBUF_DLC);
    inst->mem.tfe = field(d, F_MTBUF_TFE);
  }
  if (!row->sdst)
    return;         /* a cache operation */
  if (!row->src[2]) /* no address register: from LDS to memory */
    d->bad |= !inst->mem.lds || inst->mem.offen || inst->mem.idxen;
  isa_decode_vgpr(d, &inst->mem.vaddr, field(d, F_MUBUF_VADDR),
                  (unsigned)inst->mem.offen + inst->mem.idxen, false);
  isa_decode_vgpr(d, &inst->dst, field(d, F_MUBUF_VDATA),
                  inst->mem.lds ? 0 : row->dst + inst->mem.tfe, accumulation);
  isa_decode_vgpr(d, &inst->mem.data[0], field(d, F_MUBUF_VDATA), row->src[0], accumulation);
  if (inst->mem.glc && isa_decode_is_atomic(inst))
    inst->dst = inst->mem.data[0];
  isa_decode_sgpr(d, &inst->mem.saddr, field(d, F_MUBUF_SRSRC) << 2, row->sdst);
  isa_decode_source(d, &inst->mem.soffset, field(d, F_MUBUF_SOFFSET), 1);
  if (inst->mem.soffset.kind == ISA_OPERAND_LITERAL)
    d->bad = true;
}

void isa_decode_image(isa_decoder_t *d)
{
  isa_inst_t *inst = d->inst;
  const isa_opcode_t *row = d->row;
  const bool accumulation = field(d, F_MIMG_ACC);
  inst->mem.image.dmask = (uint8_t)field(d, F_MIMG_DMASK);
  inst->mem.image.unnormalized = field(d, F_MIMG_UNRM);
  inst->mem.image.da = field(d, F_MIMG_DA);
  inst->mem.image.a16 = field(d, F_MIMG_A16);
  inst->mem.image.lwe = field(d, F_MIMG_LWE);
  inst->mem.image.d16 = field(d, F_MIMG_D16);
  inst->mem.scc = field(d, F_MIMG_SCC);
  inst->mem.glc = field(d, F_MIMG_GLC);
  inst->mem.slc = field(d, F_MIMG_SLC);
  d->bad |= field(d, F_MIMG_OP_HIGH) || (inst->mem.image.d16 && !(row->flags & ISA_F_D16)) ||
            (!row->src[1] && field(d, F_MIMG_SSAMP)); /* no sampler */
  isa_decode_vgpr(d, &inst->mem.vaddr, field(d, F_MIMG_VADDR), row->src[2], false);
  isa_decode_vgpr(d, row->dst ? &inst->dst : &inst->mem.data[0], field(d, F_MIMG_VDATA),
                  isa_image_dwords(inst), accumulation);
  isa_decode_sgpr(d, &inst->mem.saddr, field(d, F_MIMG_SRSRC) << 2, row->sdst);
  isa_decode_sgpr(d, &inst->mem.soffset, field(d, F_MIMG_SSAMP) << 2, row->src[1]);
}
