/* Which instructions the reference engine runs, with which operands: by what describe/ says of each
 * and by the documents, apart from exec/, whose executors say it for themselves. Tests hold one
 * verdict against the other. */
#include <string.h>

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/matrix.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/reference.h"

static bool has(const isa_inst_t *inst, const char *part)
{
  return strstr(isa_op_name(inst->op), part) != NULL;
}

bool isa_reference_has(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords)
{
  const unsigned end = operand->index + dwords;
  switch (operand->kind) {
  case ISA_OPERAND_VGPR:
    return end <= wave->vgprs;
  case ISA_OPERAND_AGPR:
    return end <= wave->agprs;
  case ISA_OPERAND_SGPR: /* those with names every wave has; and none is as wide as you like */
    if (operand->index < ISA_NULL && end > ISA_NULL)
      return false; /* it is no half of another one */
    return operand->index == ISA_NULL ||
           end <= (operand->index < ISA_FLAT_SCRATCH ? wave->sgprs : ISA_SGPRS);
  case ISA_OPERAND_SPECIAL: /* graphics' own */
    return operand->index != ISA_CODE_LDS_DIRECT && operand->index != ISA_CODE_POPS_WAVE;
  default:
    return operand->kind != ISA_OPERAND_NONE;
  }
}

/* What need not be there, or is. */
static bool may_have(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords)
{
  return operand->kind == ISA_OPERAND_NONE || isa_reference_has(wave, operand, dwords);
}

/* An inline constant of a register that holds something narrower than an f32, of which no document
 * says what it is there. */
static bool is_unclear(const isa_operand_t *operand)
{
  return operand->kind == ISA_OPERAND_INLINE && operand->index >= ISA_CODE_FLOATS;
}

/* A loop over both halves of EXEC is one of waves of 64: in others its upper half is no mask. */
bool isa_reference_allows_scalar(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return !(has(inst, "s_subvector_loop") && isa_lanes(wave) == 32) &&
         may_have(wave, &inst->dst, inst->row->dst) &&
         may_have(wave, &inst->src[0], inst->row->src[0]) &&
         may_have(wave, &inst->src[1], inst->row->src[1]) &&
         may_have(wave, &inst->src[2], inst->row->src[2]);
}

/* --- memory --- */

static bool has_data(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return may_have(wave, &inst->dst, inst->row->dst) &&
         may_have(wave, &inst->mem.data[0], inst->row->src[0]) &&
         may_have(wave, &inst->mem.data[1], inst->row->src[1]);
}

/* None is no descriptor, which has four dwords. */
static bool may_have_base(const isa_wave_t *wave, const isa_operand_t *base, unsigned dwords)
{
  const bool is_none = base->kind == ISA_OPERAND_SGPR && base->index == ISA_NULL;
  return may_have(wave, base, dwords) && !(is_none && dwords > 2);
}

/* s_scratch_* address swizzled memory, as nothing else does. */
bool isa_reference_allows_smem(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return !has(inst, "scratch") && may_have(wave, &inst->dst, inst->row->dst) &&
         may_have(wave, &inst->mem.data[0], inst->row->src[0]) &&
         may_have_base(wave, &inst->mem.saddr, inst->row->sdst) &&
         may_have(wave, &inst->mem.soffset, 1);
}

/* Global memory and registers of a GPU's own there are not, and nothing in it that waves order by;
 * its bit belongs to global wave sync alone. Trees of triangles are graphics'. Patterns of
 * ds_swizzle from 0xe000 on are Fourier transforms', and not of this generation. */
bool isa_reference_allows_ds(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_sync = has(inst, "gws");
  return inst->mem.gds == is_sync && !has(inst, "ordered_count") && !has(inst, "gs_reg") &&
         !has(inst, "bvh") && has_data(wave, inst) &&
         may_have(wave, &inst->mem.vaddr, inst->row->src[2]) &&
         !(has(inst, "swizzle") && inst->mem.offset >= 0xe000);
}

/* The instructions that load into LDS are others on the chips that have them: the bit is none's. */
bool isa_reference_allows_flat(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool is_scratch = inst->encoding == ISA_SCRATCH, has_base = inst->mem.saddr.kind;
  return !inst->mem.lds && has_data(wave, inst) &&
         may_have(wave, &inst->mem.vaddr, is_scratch || has_base ? 1 : 2) &&
         may_have(wave, &inst->mem.saddr, is_scratch ? 1 : 2);
}

/* Bytes, shorts and dwords go into LDS, and from gfx950 on three or four dwords. */
static bool allows_lds(const isa_inst_t *inst)
{
  const bool is_wide = has(inst, "x3") || has(inst, "x4");
  if (has(inst, "store_lds"))
    return true;
  return has(inst, "load") && !has(inst, "format") && !has(inst, "d16") && !has(inst, "x2") &&
         (!is_wide || isa_chip(inst->chip)->wide_lds_loads);
}

bool isa_reference_allows_buffer(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned address = (inst->mem.offen ? 1u : 0) + (inst->mem.idxen ? 1u : 0);
  return (!inst->mem.lds || allows_lds(inst)) && !(inst->mem.tfe && inst->row->sdst) &&
         may_have(wave, &inst->dst, inst->mem.lds ? 0 : inst->row->dst) &&
         may_have(wave, &inst->mem.data[0], inst->row->src[0]) &&
         may_have(wave, &inst->mem.vaddr, address) && may_have_base(wave, &inst->mem.saddr, 4) &&
         may_have(wave, &inst->mem.soffset, 1);
}

/* How many registers the address has is known when the descriptor is. */
bool isa_reference_allows_image(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned dwords = isa_image_dwords(inst);
  return may_have(wave, &inst->dst, dwords) && may_have(wave, &inst->mem.data[0], dwords) &&
         may_have(wave, &inst->mem.vaddr, 1) && may_have(wave, &inst->mem.saddr, 8) &&
         may_have(wave, &inst->mem.soffset, 4);
}

/* --- vectors without a row in reference/valu_table.inc --- */

static bool has_vector(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords)
{
  return isa_reference_is_vector(operand) && isa_reference_has(wave, operand, dwords);
}

static bool has_vgprs(const isa_wave_t *wave, const isa_operand_t *operand, unsigned dwords)
{
  return operand->kind == ISA_OPERAND_VGPR && isa_reference_has(wave, operand, dwords);
}

/* All sources that the description has. */
static bool has_sources(const isa_wave_t *wave, const isa_inst_t *inst)
{
  for (unsigned n = 0; n < 3; ++n)
    if (inst->row->src[n] && !isa_reference_has(wave, &inst->src[n], isa_source_dwords(inst, n)))
      return false;
  return true;
}

static bool is_scalar(const isa_operand_t *operand)
{
  return !isa_reference_is_vector(operand);
}

/* A and B are as wide as the description says, those of mixed formats as cbsz and blgp do; C may be
 * one constant for all. A sparse one's third source is indices. */
static bool allows_matrix(const isa_wave_t *wave, const isa_inst_t *inst, bool is_sparse)
{
  const isa_opcode_t *row = inst->row;
  const isa_operand_t *third = &inst->src[2];
  const bool is_mixed = row->flags & ISA_F_MIXED;
  for (unsigned n = 0; n < 2; ++n) {
    const unsigned which = n ? inst->vop.blgp : inst->vop.cbsz;
    if (!has_vector(wave, &inst->src[n], is_mixed ? isa_mfma_mixed_dwords(which) : row->src[n]) ||
        (inst->vop.has_scale && !isa_reference_has(wave, &inst->vop.scale[n], 1)))
      return false;
  }
  if (!has_vector(wave, &inst->dst, row->dst))
    return false;
  if (is_sparse)
    return has_vgprs(wave, third, 1);
  return has_vector(wave, third, row->src[2]) || third->kind == ISA_OPERAND_INLINE;
}

/* Signs are of numbers in f32 and of a lone half, and of the scale; no document speaks of those of
 * packed ones. v_cvt_scalef32_[sr_][pk|pk32|2xpk16_]TO_FROM. */
static bool allows_scaled(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool narrows =
      !has(inst, "_f32_f") && !has(inst, "_f32_b") && !has(inst, "f16_f") && !has(inst, "f16_b");
  const bool is_of_f32 = narrows && !strcmp(strrchr(isa_op_name(inst->op), '_'), "_f32");
  const bool is_packed = has(inst, "pk"), has_noise = has(inst, "_sr_");
  const bool has_two = is_of_f32 && inst->row->src[2] && !has_noise;
  const unsigned scale = has_two || has_noise ? 2 : 1;
  unsigned signs = 1u << scale;
  if (narrows && (is_of_f32 || !is_packed))
    signs |= has_two ? 3 : 1;
  for (unsigned n = 0; n < 3; ++n) {
    if (inst->row->src[n] > 1 && !isa_reference_is_vector(&inst->src[n]))
      return false;
    if ((inst->vop.abs | inst->vop.neg) >> n & 1 & ~signs >> n)
      return false;
  }
  return !inst->vop.clamp && !inst->vop.omod && has_sources(wave, inst) &&
         has_vgprs(wave, &inst->dst, inst->row->dst) &&
         !(narrows && !is_of_f32 && is_unclear(&inst->src[0]));
}

/* Of GFX11: in vectors, but for C, which may be one constant, or null, which LLVM takes, too. */
static bool allows_wmma(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_operand_t *third = &inst->src[2];
  const bool is_none = third->kind == ISA_OPERAND_SGPR && third->index == ISA_NULL;
  for (unsigned n = 0; n < 2; ++n)
    if (!has_vgprs(wave, &inst->src[n], inst->row->src[n]))
      return false;
  return has_vgprs(wave, &inst->dst, isa_result_dwords(inst)) &&
         (has_vgprs(wave, third, isa_source_dwords(inst, 2)) || third->kind == ISA_OPERAND_INLINE ||
          is_none);
}

static bool allows_lanes(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const bool has_result = isa_reference_has(wave, &inst->dst, inst->row->dst);
  if (!has_sources(wave, inst))
    return false;
  switch (inst->op) {
  case ISA_v_nop:
  case ISA_v_pipeflush:
  case ISA_v_clrexcp:
    return true;
  case ISA_v_readfirstlane_b32:
  case ISA_v_bitop3_b32:
    return has_result;
  case ISA_v_readlane_b32:
    return has_result && is_scalar(&inst->src[1]);
  case ISA_v_writelane_b32:
    return has_result && is_scalar(&inst->src[0]) && is_scalar(&inst->src[1]);
  case ISA_v_permlane16_b32:
  case ISA_v_permlanex16_b32:
    return has_result && has_vgprs(wave, &inst->src[0], 1) && is_scalar(&inst->src[1]) &&
           is_scalar(&inst->src[2]);
  case ISA_v_movrels_b32:
  case ISA_v_movrelsd_b32:
  case ISA_v_movrelsd_2_b32:
    return has_vgprs(wave, &inst->src[0], 1) && isa_reference_allows_valu(wave, inst);
  case ISA_v_swap_b32:
  case ISA_v_swap_b16:
  case ISA_v_permlane64_b32:
  case ISA_v_swaprel_b32:
  case ISA_v_permlane16_swap_b32:
  case ISA_v_permlane32_swap_b32:
    return has_result && has_vgprs(wave, &inst->src[0], 1);
  case ISA_v_bitop3_b16:
    return has_result && !is_unclear(&inst->src[0]) && !is_unclear(&inst->src[1]) &&
           !is_unclear(&inst->src[2]);
  case ISA_v_pk_mov_b32:
    return has_result && !inst->vop.clamp;
  default:
    return isa_reference_allows_valu(wave, inst);
  }
}

bool isa_reference_allows_vector(const isa_wave_t *wave, const isa_inst_t *inst)
{
  if (has(inst, "v_cvt_scalef32_"))
    return allows_scaled(wave, inst);
  if (has(inst, "v_mfma_f") || has(inst, "v_mfma_i") || has(inst, "v_smfmac"))
    return allows_matrix(wave, inst, has(inst, "v_smfmac"));
  if (has(inst, "v_wmma"))
    return allows_wmma(wave, inst);
  return allows_lanes(wave, inst);
}
