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
  const bool bits[3] = {inst->glc, inst->slc, inst->scc};
  for (unsigned i = 0; i < 3; ++i)
    if (bits[i])
      isa_put(p, " %s", p->chip->cache_bits[i]);
  isa_put(p, "%s%s", inst->dlc ? " dlc" : "", inst->tfe ? " tfe" : "");
}

void isa_put_smem(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, row->dst ? &inst->dst : &inst->data[0], row->dst ? row->dst : row->src[0]);
  isa_put_operand(p, &inst->saddr, row->sdst);
  if (row->sdst && inst->soffset.kind == ISA_OPERAND_NONE) {
    isa_separate(p);
    isa_put(p, inst->offset < 0 ? "-0x%x" : "0x%x",
            (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset));
  } else if (row->sdst) {
    isa_put_operand(p, &inst->soffset, 1);
    if (inst->offset)
      isa_put(p, inst->offset < 0 ? " offset:-0x%x" : " offset:0x%x",
              (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset));
  }
  isa_put(p, "%s%s", inst->glc ? " glc" : "", inst->dlc ? " dlc" : "");
}

void isa_put_ds(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *access = isa_access_of(inst->op);
  isa_put_operand(p, &inst->dst, row->dst);
  isa_put_operand(p, &inst->vaddr, row->src[2]);
  isa_put_operand(p, &inst->data[0], row->src[0]);
  isa_put_operand(p, &inst->data[1], row->src[1]);
  if (inst->op == ISA_ds_swizzle_b32)
    isa_put(p, " offset:swizzle(0x%x)", (unsigned)inst->offset);
  else if (inst->offset)
    isa_put(p, access && access->unit ? " offset0:%d" : " offset:%d", inst->offset);
  if (inst->offset1)
    isa_put(p, " offset1:%u", inst->offset1);
  if (inst->gds)
    isa_put(p, " gds");
}

void isa_put_flat(isa_printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, &inst->dst, row->dst);
  if (inst->encoding == ISA_SCRATCH)
    put_off(p, &inst->vaddr, 1);
  else
    isa_put_operand(p, &inst->vaddr, inst->saddr.kind ? 1 : 2);
  isa_put_operand(p, &inst->data[0], row->src[0]);
  if (inst->encoding != ISA_FLAT)
    put_off(p, &inst->saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (inst->offset)
    isa_put(p, " offset:%d", inst->offset);
  put_cache(p, inst);
  if (inst->lds)
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
    isa_put_operand(p, row->dst ? &inst->dst : &inst->data[0],
                    row->dst ? row->dst + inst->tfe : row->src[0]);
    if (row->src[2])
      put_off(p, &inst->vaddr, (unsigned)inst->offen + inst->idxen);
    isa_put_operand(p, &inst->saddr, 4);
    isa_put_operand(p, &inst->soffset, 1);
    if (inst->encoding == ISA_MTBUF)
      put_format(p, inst->offset1);
    isa_put(p, "%s%s", inst->idxen ? " idxen" : "", inst->offen ? " offen" : "");
    if (inst->offset)
      isa_put(p, " offset:%d", inst->offset);
  }
  put_cache(p, inst);
  if (inst->lds)
    isa_put(p, " lds");
}

void isa_put_image(isa_printer_t *p, const isa_inst_t *inst)
{
  static const struct {
    const char *name;
    unsigned bit; /* of the fields that only images have */
  } fields[] = {{" a16", 15}, {" lwe", 17}, {" da", 14}, {" d16", 31}};
  const isa_opcode_t *row = inst->row;
  isa_put_operand(p, row->dst ? &inst->dst : &inst->data[0], isa_image_dwords(inst));
  isa_put_operand(p, &inst->vaddr, row->src[2]);
  isa_put_operand(p, &inst->saddr, row->sdst);
  isa_put_operand(p, &inst->soffset, row->src[1]);
  if (inst->offset)
    isa_put(p, " dmask:0x%x", (unsigned)inst->offset);
  if (inst->offset1 >> 12 & 1)
    isa_put(p, " unorm");
  put_cache(p, inst);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
    if (inst->offset1 >> fields[i].bit & 1)
      isa_put(p, "%s", fields[i].name);
}
