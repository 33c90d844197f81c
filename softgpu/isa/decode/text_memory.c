/* Texts of instructions of memory. */
#include "softgpu/isa/decode/printer.h"
#include "softgpu/isa/describe/memory.h"

static void put_off(isa_printer_t *p, const isa_operand_t *operand, unsigned width)
{
  if (operand->kind != ISA_OPERAND_NONE) {
    isa_put_operand(p, operand, width);
    return;
  }
  isa_separate(p);
  isa_put(p, "off");
}

static void put_cache(isa_printer_t *p, const isa_inst_t *inst)
{
  const bool bits[3] = {inst->mem.glc, inst->mem.slc, inst->mem.scc};
  for (unsigned i = 0; i < 3; ++i)
    if (bits[i])
      isa_put(p, " %s", p->chip->cache_bits[i]);
  isa_put(p, "%s%s", inst->mem.dlc ? " dlc" : "", inst->mem.tfe ? " tfe" : "");
}

void isa_put_smem(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, row->dst ? &inst->dst : &inst->mem.data[0], row->dst ? row->dst : row->src[0]);
  isa_put_operand(p, &inst->mem.saddr, row->sdst);
  if (row->sdst && inst->mem.soffset.kind == ISA_OPERAND_NONE) {
    isa_separate(p);
    isa_put(p, inst->mem.offset < 0 ? "-0x%x" : "0x%x",
            (unsigned)(inst->mem.offset < 0 ? -inst->mem.offset : inst->mem.offset));
  } else if (row->sdst) {
    isa_put_operand(p, &inst->mem.soffset, 1);
    if (inst->mem.offset)
      isa_put(p, inst->mem.offset < 0 ? " offset:-0x%x" : " offset:0x%x",
              (unsigned)(inst->mem.offset < 0 ? -inst->mem.offset : inst->mem.offset));
  }
  isa_put(p, "%s%s", inst->mem.glc ? " glc" : "", inst->mem.dlc ? " dlc" : "");
}

void isa_put_ds(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *access = isa_access_of(inst->op);
  isa_put_operand(p, &inst->dst, row->dst);
  isa_put_operand(p, &inst->mem.vaddr, row->src[2]);
  isa_put_operand(p, &inst->mem.data[0], row->src[0]);
  isa_put_operand(p, &inst->mem.data[1], row->src[1]);
  if (inst->op == ISA_ds_swizzle_b32)
    isa_put(p, " offset:swizzle(0x%x)", (unsigned)inst->mem.offset);
  else if (inst->mem.offset)
    isa_put(p, access && access->unit ? " offset0:%d" : " offset:%d", inst->mem.offset);
  if (inst->mem.offset1)
    isa_put(p, " offset1:%u", inst->mem.offset1);
  if (inst->mem.gds)
    isa_put(p, " gds");
}

void isa_put_flat(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, &inst->dst, row->dst);
  if (inst->encoding == ISA_SCRATCH)
    put_off(p, &inst->mem.vaddr, 1);
  else
    isa_put_operand(p, &inst->mem.vaddr, inst->mem.saddr.kind ? 1 : 2);
  isa_put_operand(p, &inst->mem.data[0], row->src[0]);
  if (inst->encoding != ISA_FLAT)
    put_off(p, &inst->mem.saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (inst->mem.offset)
    isa_put(p, " offset:%d", inst->mem.offset);
  put_cache(p, inst);
  if (inst->mem.lds)
    isa_put(p, " lds");
}

/* Data format 8 and number format UNORM are what the assembler takes when nothing is said. */
static void put_format(isa_printer_t *p, uint32_t format)
{
  static const char *const data[16] = {
      "INVALID",     "8",        "16",          "8_8",         "32",      "16_16",
      "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10",  "8_8_8_8", "32_32",
      "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
  };
  static const char *const number[8] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                        "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  if (format == 1)
    return;
  isa_put(p, " format:[");
  if ((format & 15) != 1)
    isa_put(p, "BUF_DATA_FORMAT_%s%s", data[format & 15], format >> 4 ? "," : "");
  if (format >> 4)
    isa_put(p, "BUF_NUM_FORMAT_%s", number[format >> 4 & 7]);
  isa_put(p, "]");
}

void isa_put_buffer(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  if (row->sdst) {
    isa_put_operand(p, row->dst ? &inst->dst : &inst->mem.data[0],
                    row->dst ? row->dst + inst->mem.tfe : row->src[0]);
    if (row->src[2])
      put_off(p, &inst->mem.vaddr, (unsigned)inst->mem.offen + inst->mem.idxen);
    isa_put_operand(p, &inst->mem.saddr, 4);
    isa_put_operand(p, &inst->mem.soffset, 1);
    if (inst->encoding == ISA_MTBUF)
      put_format(p, inst->mem.format);
    isa_put(p, "%s%s", inst->mem.idxen ? " idxen" : "", inst->mem.offen ? " offen" : "");
    if (inst->mem.offset)
      isa_put(p, " offset:%d", inst->mem.offset);
  }
  put_cache(p, inst);
  if (inst->mem.lds)
    isa_put(p, " lds");
}

void isa_put_image(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, row->dst ? &inst->dst : &inst->mem.data[0], isa_image_dwords(inst));
  isa_put_operand(p, &inst->mem.vaddr, row->src[2]);
  isa_put_operand(p, &inst->mem.saddr, row->sdst);
  isa_put_operand(p, &inst->mem.soffset, row->src[1]);
  if (inst->mem.image.dmask)
    isa_put(p, " dmask:0x%x", inst->mem.image.dmask);
  isa_put(p, "%s", inst->mem.image.unnormalized ? " unorm" : "");
  put_cache(p, inst);
  isa_put(p, "%s%s%s%s", inst->mem.image.a16 ? " a16" : "", inst->mem.image.lwe ? " lwe" : "",
          inst->mem.image.da ? " da" : "", inst->mem.image.d16 ? " d16" : "");
}
