/* Decoded instructions in the assembler's syntax, for fault reports and for comparing the decoder
 * with LLVM's disassembler. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/describe/opcodes.h"

typedef struct printer {
  char *at;
  size_t left;
  const char *separator; /* before the next operand */
  const isa_chip_t *chip;
} printer_t;

__attribute__((format(printf, 2, 3))) static void put(printer_t *p, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(p->at, p->left, format, arguments);
  va_end(arguments);
  size_t used = length < 0 ? 0 : (size_t)length;
  if (used >= p->left)
    used = p->left ? p->left - 1 : 0;
  p->at += used;
  p->left -= used;
}

static void separate(printer_t *p)
{
  put(p, "%s", p->separator);
  p->separator = ", ";
}

static void put_registers(printer_t *p, const char *file, unsigned first, unsigned width)
{
  if (width == 1)
    put(p, "%s%u", file, first);
  else
    put(p, "%s[%u:%u]", file, first, first + width - 1);
}

static void put_scalar(printer_t *p, unsigned index, unsigned width)
{
  static const struct {
    uint8_t index;
    const char *name, *low, *high;
  } special[] = {{ISA_VCC, "vcc", "vcc_lo", "vcc_hi"},
                 {ISA_EXEC, "exec", "exec_lo", "exec_hi"},
                 {ISA_FLAT_SCRATCH, "flat_scratch", "flat_scratch_lo", "flat_scratch_hi"},
                 {ISA_XNACK_MASK, "xnack_mask", "xnack_mask_lo", "xnack_mask_hi"}};
  const size_t count = p->chip->has_flat_scratch ? 4 : 2;
  for (size_t i = 0; i < count; ++i) {
    if (index == special[i].index && width <= 2) {
      put(p, "%s", width == 2 ? special[i].name : special[i].low);
      return;
    }
    if (index == special[i].index + 1u && width == 1) {
      put(p, "%s", special[i].high);
      return;
    }
  }
  if (index == ISA_M0)
    put(p, "m0");
  else if (index == ISA_NULL)
    put(p, "null");
  else if (index >= ISA_TTMP && index < ISA_M0)
    put_registers(p, "ttmp", index - ISA_TTMP, width);
  else
    put_registers(p, "s", index, width);
}

static void put_inline(printer_t *p, unsigned code)
{
  static const char *const floats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (code <= ISA_CODE_SIXTY_FOUR)
    put(p, "%u", code - ISA_CODE_ZERO);
  else if (code <= ISA_CODE_LAST_INTEGER)
    put(p, "-%u", code - ISA_CODE_SIXTY_FOUR);
  else if (code < ISA_CODE_LAST_FLOAT)
    put(p, "%s", floats[code - ISA_CODE_FLOATS]);
  else
    put(p, "0.15915494"); /* 1/(2 pi) */
}

static void put_special(printer_t *p, unsigned code)
{
  static const char *const names[] = {"src_shared_base", "src_shared_limit", "src_private_base",
                                      "src_private_limit", "src_pops_exiting_wave_id"};
  if (code <= ISA_CODE_POPS_WAVE)
    put(p, "%s", names[code - ISA_CODE_APERTURES]);
  else
    put(p, "%s",
        code == ISA_CODE_VCCZ    ? "src_vccz"
        : code == ISA_CODE_EXECZ ? "src_execz"
        : code == ISA_CODE_SCC   ? "src_scc"
                                 : "src_lds_direct");
}

static void put_value(printer_t *p, const isa_operand_t *operand, unsigned width)
{
  switch (operand->kind) {
  case ISA_OPERAND_SGPR:
    put_scalar(p, operand->index, width);
    break;
  case ISA_OPERAND_VGPR:
    put_registers(p, "v", operand->index, width);
    break;
  case ISA_OPERAND_AGPR:
    put_registers(p, "a", operand->index, width);
    break;
  case ISA_OPERAND_INLINE:
    put_inline(p, operand->index);
    break;
  case ISA_OPERAND_LITERAL:
    put(p, "0x%x", operand->value);
    break;
  default:
    put_special(p, operand->index);
    break;
  }
}

static void put_operand(printer_t *p, const isa_operand_t *operand, unsigned width)
{
  if (operand->kind == ISA_OPERAND_NONE)
    return;
  separate(p);
  put_value(p, operand, width);
}

/* --- VALU ------------------------------------------------------------------------------------ */

static void put_vop_source(printer_t *p, const isa_inst_t *inst, unsigned i)
{
  uint32_t flags = inst->row->flags;
  bool is_mix = inst->encoding == ISA_VOP3P && (flags & ISA_F_ABS);
  bool has_modifiers = inst->encoding != ISA_VOP3P || is_mix;
  if (inst->has_sdwa || inst->has_dpp)
    flags |= ISA_F_NEG | ISA_F_ABS;
  bool negative = has_modifiers && (flags & ISA_F_NEG) && inst->neg >> i & 1;
  unsigned absolute_mask = is_mix ? inst->neg_hi : inst->abs;
  bool absolute = has_modifiers && (flags & ISA_F_ABS) && absolute_mask >> i & 1;
  bool sign_extended = inst->has_sdwa && i < 2 && inst->sdwa.sext[i];
  if (inst->src[i].kind == ISA_OPERAND_NONE)
    return;
  separate(p);
  /* A negated integer constant would read as another constant. */
  bool wrap = negative && !absolute &&
              (inst->src[i].kind == ISA_OPERAND_INLINE || inst->src[i].kind == ISA_OPERAND_LITERAL);
  put(p, "%s%s%s", negative ? wrap ? "neg(" : "-" : "", absolute ? "|" : "",
      sign_extended ? "sext(" : "");
  /* The opcode table does not count vcc and the vector factor of v_fmamk. */
  const bool is_mask = i == 2 && inst->row->flags & (ISA_F_MASK | ISA_F_CARRY_IN);
  unsigned width = is_mask ? inst->mask_dwords : inst->row->src[i] ? inst->row->src[i] : 1;
  if (i < 2 && inst->row->flags & ISA_F_MIXED)
    width = isa_mfma_mixed_dwords(i ? inst->blgp : inst->cbsz);
  put_value(p, &inst->src[i], width);
  put(p, "%s%s%s", sign_extended ? ")" : "", absolute ? "|" : "", wrap ? ")" : "");
}

static void put_bits(printer_t *p, const char *name, unsigned bits, unsigned count)
{
  put(p, " %s:[", name);
  for (unsigned i = 0; i < count; ++i)
    put(p, "%s%u", i ? "," : "", bits >> i & 1);
  put(p, "]");
}

static unsigned source_count(const isa_inst_t *inst)
{
  unsigned count = 0;
  while (count < 3 && inst->row->src[count])
    ++count;
  return count;
}

static void put_packed_modifiers(printer_t *p, const isa_inst_t *inst)
{
  uint32_t flags = inst->row->flags;
  unsigned count = source_count(inst), all = (1u << count) - 1;
  bool is_mix = flags & ISA_F_ABS;
  if (inst->op_sel & all && flags & ISA_F_OP_SEL)
    put_bits(p, "op_sel", inst->op_sel, count);
  if ((inst->op_sel_hi & all) != (is_mix ? 0 : all))
    put_bits(p, "op_sel_hi", inst->op_sel_hi, count);
  if (!is_mix && flags & ISA_F_NEG && inst->neg & all)
    put_bits(p, "neg_lo", inst->neg, count);
  if (!is_mix && flags & ISA_F_NEG_HI && inst->neg_hi & all)
    put_bits(p, "neg_hi", inst->neg_hi, count);
}

/* The scales of data[0] and data[1], and which byte of each. */
static void put_scale(printer_t *p, const isa_inst_t *inst)
{
  put_operand(p, &inst->data[0], 1);
  put_operand(p, &inst->data[1], 1);
  if (inst->op_sel)
    put(p, " op_sel:[%u,%u,0]", inst->op_sel & 1, inst->op_sel >> 1);
  put(p, " op_sel_hi:[%u,%u,0]", inst->op_sel_hi & 1, inst->op_sel_hi >> 1);
}

static void put_mai_modifiers(printer_t *p, const isa_inst_t *inst)
{
  if (inst->has_scale)
    put_scale(p, inst);
  if (inst->row->flags & ISA_F_CBSZ && inst->cbsz)
    put(p, " cbsz:%u", inst->cbsz);
  if (inst->row->flags & ISA_F_CBSZ && inst->abid && !inst->has_scale)
    put(p, " abid:%u", inst->abid);
  if (inst->row->flags & ISA_F_BLGP && inst->blgp)
    put(p, " blgp:%u", inst->blgp);
}

static void put_sdwa(printer_t *p, const isa_inst_t *inst)
{
  static const char *const selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD"};
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  if (inst->encoding != ISA_VOPC)
    put(p, " dst_sel:%s dst_unused:%s", selects[inst->sdwa.dst_sel], unused[inst->sdwa.dst_unused]);
  for (unsigned i = 0; i < 2; ++i)
    if (inst->row->src[i])
      put(p, " src%u_sel:%s", i, selects[inst->sdwa.src_sel[i]]);
}

static void put_dpp_control(printer_t *p, unsigned ctrl)
{
  static const char *const shifts[] = {"", "row_shl", "row_shr", "row_ror"};
  static const struct {
    uint16_t ctrl;
    const char *text;
  } others[] = {{0x130, "wave_shl:1"},   {0x134, "wave_rol:1"},  {0x138, "wave_shr:1"},
                {0x13c, "wave_ror:1"},   {0x140, "row_mirror"},  {0x141, "row_half_mirror"},
                {0x142, "row_bcast:15"}, {0x143, "row_bcast:31"}};
  if (ctrl < 0x100) {
    put(p, " quad_perm:[%u,%u,%u,%u]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6);
    return;
  }
  if (ctrl < 0x130 && ctrl & 15) {
    put(p, " %s:%u", shifts[(ctrl >> 4) - 0xf], ctrl & 15);
    return;
  }
  const char *row = ctrl >= 0x150 && ctrl < 0x170 ? p->chip->dpp_rows[ctrl >> 5 & 1] : NULL;
  if (row) {
    put(p, " %s:%u", row, ctrl & 15);
    return;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (others[i].ctrl == ctrl) {
      put(p, " %s", others[i].text);
      return;
    }
  put(p, " dpp_ctrl:0x%x", ctrl);
}

static void put_dpp(printer_t *p, const isa_inst_t *inst)
{
  if (inst->has_dpp8) {
    for (unsigned i = 0; i < 8; ++i)
      put(p, "%s%u", i ? "," : " dpp8:[", (unsigned)inst->simm >> 3 * i & 7);
    put(p, "]");
  } else {
    put_dpp_control(p, inst->dpp.ctrl);
    put(p, " row_mask:0x%x bank_mask:0x%x", inst->dpp.row_mask, inst->dpp.bank_mask);
    put(p, "%s", inst->dpp.bound_ctrl ? " bound_ctrl:1" : "");
  }
  put(p, "%s", inst->dpp.fi ? " fi:1" : "");
}

static void put_op_sel(printer_t *p, const isa_inst_t *inst)
{
  const unsigned count = source_count(inst), all = (1u << count) - 1;
  const unsigned bits = (inst->op_sel & all) | (unsigned)(inst->op_sel >> 3) << count;
  if (inst->op == ISA_v_permlane16_b32 || inst->op == ISA_v_permlanex16_b32)
    put_bits(p, "op_sel", bits, 2);
  else
    put_bits(p, "op_sel", bits, count + 1);
}

static void put_vop_modifiers(printer_t *p, const isa_inst_t *inst)
{
  static const char *const omods[] = {"", " mul:2", " mul:4", " div:2"};
  uint32_t flags = inst->row->flags;
  if (flags & ISA_F_MAI) {
    put_mai_modifiers(p, inst);
    return;
  }
  if (inst->simm && !inst->has_dpp8) /* v_bitop3 */
    put(p, " bitop3:0x%x", (unsigned)inst->simm);
  if (inst->encoding == ISA_VOP3P)
    put_packed_modifiers(p, inst);
  else if (inst->op == ISA_v_permlane16_swap_b32 || inst->op == ISA_v_permlane32_swap_b32)
    put(p, "%s%s", inst->op_sel & 2 ? " bound_ctrl:1" : "", inst->op_sel & 1 ? " fi:1" : "");
  else if (flags & ISA_F_OP_SEL && inst->op_sel)
    put_op_sel(p, inst);
  if (inst->clamp)
    put(p, " clamp");
  put(p, "%s", omods[inst->omod & 3]);
  if (inst->has_sdwa)
    put_sdwa(p, inst);
  if (inst->has_dpp)
    put_dpp(p, inst);
}

static void put_vop(printer_t *p, const isa_inst_t *inst)
{
  put_operand(p, &inst->dst, inst->row->dst);
  if (!(inst->row->flags & ISA_F_ONLY_EXEC))
    put_operand(p, &inst->sdst, inst->mask_dwords);
  for (unsigned i = 0; i < 3; ++i)
    if (i < 2 || !(inst->row->flags & ISA_F_TIED))
      put_vop_source(p, inst, i);
  put_vop_modifiers(p, inst);
}

/* --- memory ---------------------------------------------------------------------------------- */

static void put_off(printer_t *p, const isa_operand_t *operand, unsigned width)
{
  if (operand->kind != ISA_OPERAND_NONE) {
    put_operand(p, operand, width);
    return;
  }
  separate(p);
  put(p, "off");
}

static void put_cache(printer_t *p, const isa_inst_t *inst)
{
  const bool bits[3] = {inst->glc, inst->slc, inst->scc};
  for (unsigned i = 0; i < 3; ++i)
    if (bits[i])
      put(p, " %s", p->chip->cache_bits[i]);
  put(p, "%s%s", inst->dlc ? " dlc" : "", inst->tfe ? " tfe" : "");
}

static void put_smem(printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  put_operand(p, row->dst ? &inst->dst : &inst->data[0], row->dst ? row->dst : row->src[0]);
  put_operand(p, &inst->saddr, row->sdst);
  if (row->sdst && inst->soffset.kind == ISA_OPERAND_NONE) {
    separate(p);
    put(p, inst->offset < 0 ? "-0x%x" : "0x%x",
        (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset));
  } else if (row->sdst) {
    put_operand(p, &inst->soffset, 1);
    if (inst->offset)
      put(p, inst->offset < 0 ? " offset:-0x%x" : " offset:0x%x",
          (unsigned)(inst->offset < 0 ? -inst->offset : inst->offset));
  }
  put(p, "%s%s", inst->glc ? " glc" : "", inst->dlc ? " dlc" : "");
}

static void put_ds(printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  const isa_access_t *access = isa_access_of(inst->op);
  put_operand(p, &inst->dst, row->dst);
  put_operand(p, &inst->vaddr, row->src[2]);
  put_operand(p, &inst->data[0], row->src[0]);
  put_operand(p, &inst->data[1], row->src[1]);
  if (inst->op == ISA_ds_swizzle_b32)
    put(p, " offset:swizzle(0x%x)", (unsigned)inst->offset);
  else if (inst->offset)
    put(p, access && access->unit ? " offset0:%d" : " offset:%d", inst->offset);
  if (inst->offset1)
    put(p, " offset1:%u", inst->offset1);
  if (inst->gds)
    put(p, " gds");
}

static void put_flat(printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  put_operand(p, &inst->dst, row->dst);
  if (inst->encoding == ISA_SCRATCH)
    put_off(p, &inst->vaddr, 1);
  else
    put_operand(p, &inst->vaddr, inst->saddr.kind ? 1 : 2);
  put_operand(p, &inst->data[0], row->src[0]);
  if (inst->encoding != ISA_FLAT)
    put_off(p, &inst->saddr, inst->encoding == ISA_SCRATCH ? 1 : 2);
  if (inst->offset)
    put(p, " offset:%d", inst->offset);
  put_cache(p, inst);
  if (inst->lds)
    put(p, " lds");
}

/* Data format 8 and number format UNORM are what the assembler takes when nothing is said. */
static void put_format(printer_t *p, uint32_t format)
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
  put(p, " format:[");
  if ((format & 15) != 1)
    put(p, "BUF_DATA_FORMAT_%s%s", data[format & 15], format >> 4 ? "," : "");
  if (format >> 4)
    put(p, "BUF_NUM_FORMAT_%s", number[format >> 4 & 7]);
  put(p, "]");
}

static void put_buffer(printer_t *p, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  if (row->sdst) {
    put_operand(p, row->dst ? &inst->dst : &inst->data[0],
                row->dst ? row->dst + inst->tfe : row->src[0]);
    if (row->src[2])
      put_off(p, &inst->vaddr, (unsigned)inst->offen + inst->idxen);
    put_operand(p, &inst->saddr, 4);
    put_operand(p, &inst->soffset, 1);
    if (inst->encoding == ISA_MTBUF)
      put_format(p, inst->offset1);
    put(p, "%s%s", inst->idxen ? " idxen" : "", inst->offen ? " offen" : "");
    if (inst->offset)
      put(p, " offset:%d", inst->offset);
  }
  put_cache(p, inst);
  if (inst->lds)
    put(p, " lds");
}

static void put_image(printer_t *p, const isa_inst_t *inst)
{
  static const struct {
    const char *name;
    unsigned bit; /* of the fields that only images have */
  } fields[] = {{" a16", 15}, {" lwe", 17}, {" da", 14}, {" d16", 31}};
  const isa_opcode_t *row = inst->row;
  put_operand(p, row->dst ? &inst->dst : &inst->data[0], isa_image_dwords(inst));
  put_operand(p, &inst->vaddr, row->src[2]);
  put_operand(p, &inst->saddr, row->sdst);
  put_operand(p, &inst->soffset, row->src[1]);
  if (inst->offset)
    put(p, " dmask:0x%x", (unsigned)inst->offset);
  if (inst->offset1 >> 12 & 1)
    put(p, " unorm");
  put_cache(p, inst);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i)
    if (inst->offset1 >> fields[i].bit & 1)
      put(p, "%s", fields[i].name);
}

/* --- scalar ---------------------------------------------------------------------------------- */

static void put_waitcnt(printer_t *p, unsigned simm)
{
  const unsigned most = p->chip->most_lgkm; /* of as many bits */
  unsigned vm = (simm & 15) | (simm >> 14 & 3) << 4, exp = simm >> 4 & 7, lgkm = simm >> 8 & most;
  bool all = vm == 63 && exp == 7 && lgkm == most;
  if (vm != 63 || all)
    put(p, " vmcnt(%u)", vm);
  if (exp != 7 || all)
    put(p, " expcnt(%u)", exp);
  if (lgkm != most || all)
    put(p, " lgkmcnt(%u)", lgkm);
}

static void put_hwreg(printer_t *p, unsigned simm)
{
  separate(p);
  put(p, "hwreg(%u, %u, %u)", simm & 63, simm >> 6 & 31, (simm >> 11) + 1);
}

static void put_sopk(printer_t *p, const isa_inst_t *inst)
{
  bool writes_hwreg = inst->op == ISA_s_setreg_b32 || inst->op == ISA_s_setreg_imm32_b32;
  if (writes_hwreg)
    put_hwreg(p, (unsigned)inst->simm);
  put_operand(p, &inst->dst, inst->row->dst);
  put_operand(p, &inst->src[0], 1);
  if (inst->op == ISA_s_getreg_b32) {
    put_hwreg(p, (unsigned)inst->simm);
  } else if (!writes_hwreg) {
    separate(p);
    put(p, "0x%x", (unsigned)inst->simm & 0xffff);
  }
}

static void put_sop(printer_t *p, const isa_inst_t *inst)
{
  put_operand(p, &inst->dst, inst->row->dst);
  put_operand(p, &inst->src[0], inst->row->src[0]);
  put_operand(p, &inst->src[1], inst->row->src[1]);
  if (inst->op == ISA_s_set_gpr_idx_on)
    put(p, ", 0x%x", (unsigned)inst->simm);
}

void isa_text(const isa_inst_t *inst, char *text, size_t size)
{
  printer_t p = {text, size, " ", isa_chip(inst->chip)};
  if (!size)
    return;
  put(&p, inst->has_scale ? "v_mfma_scale%s" : "%s",
      isa_op_name_on(inst->chip, inst->op) + (inst->has_scale ? strlen("v_mfma") : 0));
  if (!inst->row)
    return;
  switch (inst->encoding) {
  case ISA_SOP1:
  case ISA_SOP2:
  case ISA_SOPC:
    put_sop(&p, inst);
    break;
  case ISA_SOPK:
    put_sopk(&p, inst);
    break;
  case ISA_SOPP:
    if (inst->op == ISA_s_waitcnt)
      put_waitcnt(&p, (unsigned)inst->simm);
    else
      put(&p, " 0x%x", (unsigned)inst->simm & 0xffff);
    break;
  case ISA_SMEM:
    put_smem(&p, inst);
    break;
  case ISA_DS:
    put_ds(&p, inst);
    break;
  case ISA_FLAT:
  case ISA_GLOBAL:
  case ISA_SCRATCH:
    put_flat(&p, inst);
    break;
  case ISA_MUBUF:
  case ISA_MTBUF:
    put_buffer(&p, inst);
    break;
  case ISA_MIMG:
    put_image(&p, inst);
    break;
  default:
    put_vop(&p, inst);
    break;
  }
}
