/* Decoded instructions in the assembler's syntax, for fault reports and for comparing the decoder
 * with LLVM's disassembler. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/isa/decode/printer.h"
#include "softgpu/isa/describe/matrix.h"

void isa_put(isa_printer_t *p, const char *format, ...)
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

void isa_separate(isa_printer_t *p)
{
  isa_put(p, "%s", p->separator);
  p->separator = ", ";
}

static void put_registers(isa_printer_t *p, const char *file, unsigned first, unsigned width)
{
  if (width == 1)
    isa_put(p, "%s%u", file, first);
  else
    isa_put(p, "%s[%u:%u]", file, first, first + width - 1);
}

static void put_scalar(isa_printer_t *p, unsigned index, unsigned width)
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
      isa_put(p, "%s", width == 2 ? special[i].name : special[i].low);
      return;
    }
    if (index == special[i].index + 1u && width == 1) {
      isa_put(p, "%s", special[i].high);
      return;
    }
  }
  if (index == ISA_M0)
    isa_put(p, "m0");
  else if (index == ISA_NULL)
    isa_put(p, "null");
  else if (index >= ISA_TTMP && index < ISA_M0)
    put_registers(p, "ttmp", index - ISA_TTMP, width);
  else
    put_registers(p, "s", index, width);
}

static void put_inline(isa_printer_t *p, unsigned code)
{
  static const char *const floats[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"};
  if (code <= ISA_CODE_SIXTY_FOUR)
    isa_put(p, "%u", code - ISA_CODE_ZERO);
  else if (code <= ISA_CODE_LAST_INTEGER)
    isa_put(p, "-%u", code - ISA_CODE_SIXTY_FOUR);
  else if (code < ISA_CODE_LAST_FLOAT)
    isa_put(p, "%s", floats[code - ISA_CODE_FLOATS]);
  else
    isa_put(p, "0.15915494"); /* 1/(2 pi) */
}

static void put_special(isa_printer_t *p, unsigned code)
{
  static const char *const names[] = {"src_shared_base", "src_shared_limit", "src_private_base",
                                      "src_private_limit", "src_pops_exiting_wave_id"};
  if (code <= ISA_CODE_POPS_WAVE)
    isa_put(p, "%s", names[code - ISA_CODE_APERTURES]);
  else
    isa_put(p, "%s",
            code == ISA_CODE_VCCZ    ? "src_vccz"
            : code == ISA_CODE_EXECZ ? "src_execz"
            : code == ISA_CODE_SCC   ? "src_scc"
                                     : "src_lds_direct");
}

static void put_value(isa_printer_t *p, const isa_operand_t *operand, unsigned width)
{
  static const char *const halves[] = {
      [ISA_WHOLE] = "", [ISA_LOW_HALF] = ".l", [ISA_HIGH_HALF] = ".h"};
  switch (operand->kind) {
  case ISA_OPERAND_SGPR:
    put_scalar(p, operand->index, width);
    break;
  case ISA_OPERAND_VGPR:
    put_registers(p, "v", operand->index, width);
    isa_put(p, "%s", halves[operand->half]);
    break;
  case ISA_OPERAND_AGPR:
    put_registers(p, "a", operand->index, width);
    break;
  case ISA_OPERAND_INLINE:
    put_inline(p, operand->index);
    break;
  case ISA_OPERAND_LITERAL:
    isa_put(p, "0x%x", operand->value);
    break;
  default:
    put_special(p, operand->index);
    break;
  }
}

void isa_put_operand(isa_printer_t *p, const isa_operand_t *operand, unsigned width)
{
  if (operand->kind == ISA_OPERAND_NONE)
    return;
  isa_separate(p);
  put_value(p, operand, width);
}

/* --- VALU ------------------------------------------------------------------------------------ */

static bool is_half_source(const isa_inst_t *inst, unsigned i)
{
  static const uint32_t flags[3] = {ISA_F_HALF_0, ISA_F_HALF_1, ISA_F_HALF_2};
  return inst->row->flags & flags[i];
}

static void put_vop_source(isa_printer_t *p, const isa_inst_t *inst, unsigned i)
{
  uint32_t flags = inst->row->flags;
  bool is_mix = inst->encoding == ISA_VOP3P && (flags & ISA_F_ABS);
  bool has_modifiers = inst->encoding != ISA_VOP3P || is_mix;
  if (inst->vop.has_sdwa || inst->vop.has_dpp)
    flags |= ISA_F_NEG | ISA_F_ABS;
  bool negative = has_modifiers && (flags & ISA_F_NEG) && inst->vop.neg >> i & 1;
  unsigned absolute_mask = is_mix ? inst->vop.neg_hi : inst->vop.abs;
  bool absolute = has_modifiers && (flags & ISA_F_ABS) && absolute_mask >> i & 1;
  bool sign_extended = inst->vop.has_sdwa && i < 2 && inst->vop.sdwa.sext[i];
  if (inst->src[i].kind == ISA_OPERAND_NONE)
    return;
  isa_separate(p);
  /* A negated integer constant would read as another constant. */
  bool wrap = negative && !absolute &&
              (inst->src[i].kind == ISA_OPERAND_INLINE || inst->src[i].kind == ISA_OPERAND_LITERAL);
  isa_put(p, "%s%s%s", negative ? wrap ? "neg(" : "-" : "", absolute ? "|" : "",
          sign_extended ? "sext(" : "");
  /* The opcode table does not count vcc and the vector factor of v_fmamk. */
  const bool is_vcc = i == 2 && inst->row->flags & ISA_F_CARRY_IN;
  unsigned width = is_vcc ? inst->mask_dwords : isa_source_dwords(inst, i);
  width = width ? width : 1;
  if (i < 2 && inst->row->flags & ISA_F_MIXED)
    width = isa_mfma_mixed_dwords(i ? inst->vop.blgp : inst->vop.cbsz);
  isa_operand_t source = inst->src[i];
  if (is_half_source(inst, i)) /* of a constant the lower half counts */
    source.value &= 0xffff;
  put_value(p, &source, width);
  isa_put(p, "%s%s%s", sign_extended ? ")" : "", absolute ? "|" : "", wrap ? ")" : "");
}

static void put_bits(isa_printer_t *p, const char *name, unsigned bits, unsigned count)
{
  isa_put(p, " %s:[", name);
  for (unsigned i = 0; i < count; ++i)
    isa_put(p, "%s%u", i ? "," : "", bits >> i & 1);
  isa_put(p, "]");
}

static unsigned source_count(const isa_inst_t *inst)
{
  unsigned count = 0;
  while (count < 3 && inst->row->src[count])
    ++count;
  return count;
}

static void put_packed_modifiers(isa_printer_t *p, const isa_inst_t *inst)
{
  uint32_t flags = inst->row->flags;
  unsigned count = source_count(inst), all = (1u << count) - 1;
  bool is_mix = flags & ISA_F_ABS;
  if (inst->vop.op_sel & all && flags & ISA_F_OP_SEL)
    put_bits(p, "op_sel", inst->vop.op_sel, count);
  if ((inst->vop.op_sel_hi & all) != (is_mix ? 0 : all))
    put_bits(p, "op_sel_hi", inst->vop.op_sel_hi, count);
  if (!is_mix && flags & ISA_F_NEG && inst->vop.neg & all)
    put_bits(p, "neg_lo", inst->vop.neg, count);
  if (!is_mix && flags & ISA_F_NEG_HI && inst->vop.neg_hi & all)
    put_bits(p, "neg_hi", inst->vop.neg_hi, count);
}

/* The scales of A and B, and which byte of each. */
static void put_scale(isa_printer_t *p, const isa_inst_t *inst)
{
  isa_put_operand(p, &inst->vop.scale[0], 1);
  isa_put_operand(p, &inst->vop.scale[1], 1);
  if (inst->vop.op_sel)
    isa_put(p, " op_sel:[%u,%u,0]", inst->vop.op_sel & 1, inst->vop.op_sel >> 1);
  isa_put(p, " op_sel_hi:[%u,%u,0]", inst->vop.op_sel_hi & 1, inst->vop.op_sel_hi >> 1);
}

static void put_mai_modifiers(isa_printer_t *p, const isa_inst_t *inst)
{
  if (inst->vop.has_scale)
    put_scale(p, inst);
  if (inst->row->flags & ISA_F_CBSZ && inst->vop.cbsz)
    isa_put(p, " cbsz:%u", inst->vop.cbsz);
  if (inst->row->flags & ISA_F_CBSZ && inst->vop.abid && !inst->vop.has_scale)
    isa_put(p, " abid:%u", inst->vop.abid);
  if (inst->row->flags & ISA_F_BLGP && inst->vop.blgp)
    isa_put(p, " blgp:%u", inst->vop.blgp);
}

static void put_sdwa(isa_printer_t *p, const isa_inst_t *inst)
{
  static const char *const selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                        "WORD_0", "WORD_1", "DWORD"};
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  if (inst->encoding != ISA_VOPC)
    isa_put(p, " dst_sel:%s dst_unused:%s", selects[inst->vop.sdwa.dst_sel],
            unused[inst->vop.sdwa.dst_unused]);
  for (unsigned i = 0; i < 2; ++i)
    if (inst->row->src[i])
      isa_put(p, " src%u_sel:%s", i, selects[inst->vop.sdwa.src_sel[i]]);
}

static void put_dpp_control(isa_printer_t *p, unsigned ctrl)
{
  static const char *const shifts[] = {"", "row_shl", "row_shr", "row_ror"};
  static const struct {
    uint16_t ctrl;
    const char *text;
  } others[] = {{0x130, "wave_shl:1"},   {0x134, "wave_rol:1"},  {0x138, "wave_shr:1"},
                {0x13c, "wave_ror:1"},   {0x140, "row_mirror"},  {0x141, "row_half_mirror"},
                {0x142, "row_bcast:15"}, {0x143, "row_bcast:31"}};
  if (ctrl < 0x100) {
    isa_put(p, " quad_perm:[%u,%u,%u,%u]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6);
    return;
  }
  if (ctrl < 0x130 && ctrl & 15) {
    isa_put(p, " %s:%u", shifts[(ctrl >> 4) - 0xf], ctrl & 15);
    return;
  }
  const char *row = ctrl >= 0x150 && ctrl < 0x170 ? p->chip->dpp_rows[ctrl >> 5 & 1] : NULL;
  if (row) {
    isa_put(p, " %s:%u", row, ctrl & 15);
    return;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (others[i].ctrl == ctrl) {
      isa_put(p, " %s", others[i].text);
      return;
    }
  isa_put(p, " dpp_ctrl:0x%x", ctrl);
}

static void put_dpp(isa_printer_t *p, const isa_inst_t *inst)
{
  if (inst->vop.has_dpp8) {
    for (unsigned i = 0; i < 8; ++i)
      isa_put(p, "%s%u", i ? "," : " dpp8:[", (unsigned)inst->simm >> 3 * i & 7);
    isa_put(p, "]");
  } else {
    put_dpp_control(p, inst->vop.dpp.ctrl);
    isa_put(p, " row_mask:0x%x bank_mask:0x%x", inst->vop.dpp.row_mask, inst->vop.dpp.bank_mask);
    isa_put(p, "%s", inst->vop.dpp.bound_ctrl ? " bound_ctrl:1" : "");
  }
  isa_put(p, "%s", inst->vop.dpp.fi ? " fi:1" : "");
}

/* Of the sources and of the result, if it has a bit. */
static void put_op_sel(isa_printer_t *p, const isa_inst_t *inst)
{
  const bool is_compare = inst->row->number < 0x100;
  const bool is_of_rows = inst->op == ISA_v_permlane16_b32 || inst->op == ISA_v_permlanex16_b32;
  const bool has_result =
      !is_of_rows && !(inst->row->flags & ISA_F_ONLY_EXEC) && !(is_compare && inst->vop.has_dpp);
  const bool is_tied = inst->row->flags & ISA_F_TIED;
  const unsigned count = is_of_rows ? 2 : source_count(inst) + is_tied, all = (1u << count) - 1;
  put_bits(p, "op_sel", (inst->vop.op_sel & all) | (unsigned)(inst->vop.op_sel >> 3) << count,
           count + has_result);
}

static void put_vop_modifiers(isa_printer_t *p, const isa_inst_t *inst)
{
  static const char *const omods[] = {"", " mul:2", " mul:4", " div:2"};
  uint32_t flags = inst->row->flags;
  if (flags & ISA_F_MAI) {
    put_mai_modifiers(p, inst);
    return;
  }
  if (inst->simm && !inst->vop.has_dpp8) /* v_bitop3 */
    isa_put(p, " bitop3:0x%x", (unsigned)inst->simm);
  if (inst->encoding == ISA_VOP3P)
    put_packed_modifiers(p, inst);
  else if (inst->op == ISA_v_permlane16_swap_b32 || inst->op == ISA_v_permlane32_swap_b32)
    isa_put(p, "%s%s", inst->vop.op_sel & 2 ? " bound_ctrl:1" : "",
            inst->vop.op_sel & 1 ? " fi:1" : "");
  else if (flags & ISA_F_OP_SEL && inst->vop.op_sel)
    put_op_sel(p, inst);
  if (inst->vop.clamp)
    isa_put(p, " clamp");
  isa_put(p, "%s", omods[inst->vop.omod & 3]);
  if (inst->vop.has_sdwa)
    put_sdwa(p, inst);
  if (inst->vop.has_dpp)
    put_dpp(p, inst);
}

static void put_vop(isa_printer_t *p, const isa_inst_t *inst)
{
  isa_put_operand(p, &inst->dst, isa_result_dwords(inst));
  if (!(inst->row->flags & ISA_F_ONLY_EXEC))
    isa_put_operand(p, &inst->sdst, inst->mask_dwords);
  for (unsigned i = 0; i < 3; ++i)
    if (i < 2 || !(inst->row->flags & ISA_F_TIED))
      put_vop_source(p, inst, i);
  put_vop_modifiers(p, inst);
}

/* --- scalar ---------------------------------------------------------------------------------- */

static void put_waitcnt(isa_printer_t *p, unsigned simm)
{
  const unsigned most = p->chip->most_lgkm; /* of as many bits */
  unsigned vm = (simm & 15) | (simm >> 14 & 3) << 4, exp = simm >> 4 & 7, lgkm = simm >> 8 & most;
  if (p->chip->family == ISA_FAMILY_GFX11) {
    vm = simm >> 10 & 63;
    exp = simm & 7;
    lgkm = simm >> 4 & most;
  }
  bool all = vm == 63 && exp == 7 && lgkm == most;
  if (vm != 63 || all)
    isa_put(p, " vmcnt(%u)", vm);
  if (exp != 7 || all)
    isa_put(p, " expcnt(%u)", exp);
  if (lgkm != most || all)
    isa_put(p, " lgkmcnt(%u)", lgkm);
}

static void put_hwreg(isa_printer_t *p, unsigned simm)
{
  isa_separate(p);
  isa_put(p, "hwreg(%u, %u, %u)", simm & 63, simm >> 6 & 31, (simm >> 11) + 1);
}

static void put_sopk(isa_printer_t *p, const isa_inst_t *inst)
{
  bool writes_hwreg = inst->op == ISA_s_setreg_b32 || inst->op == ISA_s_setreg_imm32_b32;
  if (writes_hwreg)
    put_hwreg(p, (unsigned)inst->simm);
  isa_put_operand(p, &inst->dst, inst->row->dst);
  isa_put_operand(p, &inst->src[0], 1);
  if (inst->op == ISA_s_getreg_b32) {
    put_hwreg(p, (unsigned)inst->simm);
  } else if (!writes_hwreg) {
    isa_separate(p);
    isa_put(p, "0x%x", (unsigned)inst->simm & 0xffff);
  }
}

static void put_sop(isa_printer_t *p, const isa_inst_t *inst)
{
  isa_put_operand(p, &inst->dst, inst->row->dst);
  isa_put_operand(p, &inst->src[0], inst->row->src[0]);
  isa_put_operand(p, &inst->src[1], inst->row->src[1]);
  isa_put_operand(p, &inst->src[2], 1);
  if (inst->op == ISA_s_set_gpr_idx_on || inst->op == ISA_s_sendmsg_rtn_b32 ||
      inst->op == ISA_s_sendmsg_rtn_b64)
    isa_put(p, ", 0x%x", (unsigned)inst->simm);
}

/* Half of an instruction that does two things. */
static void put_half(isa_printer_t *p, const isa_opcode_t *row, const isa_operand_t *dst,
                     const isa_operand_t src[3])
{
  p->separator = " ";
  isa_put_operand(p, dst, 1);
  for (unsigned i = 0; i < 3; ++i) {
    const bool is_told = i < 2 || !(row->flags & (ISA_F_TIED | ISA_F_CARRY_IN));
    if (is_told)
      isa_put_operand(p, &src[i], 1);
  }
}

static void put_vopd(isa_printer_t *p, const isa_inst_t *inst)
{
  const char *other = isa_op_name_on(inst->chip, inst->vopd.row->op);
  put_half(p, inst->row, &inst->dst, inst->src);
  isa_put(p, " :: v_dual%s", other + strlen("v"));
  put_half(p, inst->vopd.row, &inst->vopd.dst, inst->vopd.src);
}

void isa_text(const isa_inst_t *inst, char *text, size_t size)
{
  isa_printer_t p = {text, size, " ", isa_chip(inst->chip)};
  if (!size)
    return;
  const char *name = isa_op_name_on(inst->chip, inst->op);
  if (inst->encoding == ISA_VOP3P && inst->vop.has_scale)
    isa_put(&p, "v_mfma_scale%s", name + strlen("v_mfma"));
  else if (inst->encoding == ISA_VOPD)
    isa_put(&p, "v_dual%s", name + strlen("v"));
  else
    isa_put(&p, "%s", name);
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
      isa_put(&p, " 0x%x", (unsigned)inst->simm & 0xffff);
    break;
  case ISA_SMEM:
    isa_put_smem(&p, inst);
    break;
  case ISA_DS:
    isa_put_ds(&p, inst);
    break;
  case ISA_FLAT:
  case ISA_GLOBAL:
  case ISA_SCRATCH:
    isa_put_flat(&p, inst);
    break;
  case ISA_MUBUF:
  case ISA_MTBUF:
    isa_put_buffer(&p, inst);
    break;
  case ISA_MIMG:
    isa_put_image(&p, inst);
    break;
  case ISA_VOPD:
    put_vopd(&p, inst);
    break;
  default:
    put_vop(&p, inst);
    break;
  }
}
