/* The opcode table, from the *.isa files of this folder. Internal to softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_OPCODES_H
#define SOFTGPU_ISA_DESCRIBE_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/describe/inst.h"

/* Modifiers and forms that an opcode has. */
enum {
  ISA_F_ABS = 1 << 0, /* in VOP3P: v_fma_mix*, whose neg and neg_hi fields are neg and abs */
  ISA_F_NEG = 1 << 1,
  ISA_F_NEG_HI = 1 << 2,
  ISA_F_OMOD = 1 << 3,
  ISA_F_CLAMP = 1 << 4,
  ISA_F_OP_SEL = 1 << 5,
  ISA_F_OP_SEL_HI = 1 << 6,
  ISA_F_CBSZ = 1 << 7,
  ISA_F_BLGP = 1 << 8,
  ISA_F_MAI = 1 << 9,          /* VOP3P that may name accumulation VGPRs */
  ISA_F_SDWA = 1 << 10,        /* has an SDWA form */
  ISA_F_DPP = 1 << 11,         /* has a DPP form */
  ISA_F_LITERAL = 1 << 12,     /* a 32-bit constant always follows */
  ISA_F_CARRY_IN = 1 << 13,    /* VOP2: reads vcc */
  ISA_F_CARRY_OUT = 1 << 14,   /* VOP2: writes vcc */
  ISA_F_VOP3B = 1 << 15,       /* VOP3 with a second, scalar result */
  ISA_F_DST_SGPR = 1 << 16,    /* the VGPR destination field names an SGPR */
  ISA_F_TIED = 1 << 17,        /* the destination is also a source */
  ISA_F_GLC_RETURNS = 1 << 18, /* atomics: the old value is returned only with glc */
  ISA_F_FACTOR = 1 << 19,      /* the constant of ISA_F_LITERAL is source 1, not the last one */
  ISA_F_BRANCH = 1 << 20,      /* SOPP: the immediate is a distance in dwords */
  ISA_F_SIGNED = 1 << 21,      /* SOPK: the immediate is sign-extended */
  ISA_F_GWS = 1 << 22,         /* DS: global wave sync */
  ISA_F_D16 = 1 << 23,         /* MIMG: has a form with two components a register */
  ISA_F_SPARSE = 1 << 24,      /* MAI: the third source is indices */
  ISA_F_MIXED = 1 << 25,       /* MAI: cbsz and blgp say the formats of the sources */
  ISA_F_MASK = 1 << 26,        /* VOP3: source 2 is a mask of lanes */
  ISA_F_ONLY_EXEC = 1 << 27,   /* comparisons: the result is exec, and no operand */
  ISA_F_HALF_DST = 1 << 28,    /* VALU: the result is half a register */
  ISA_F_HALF_0 = 1 << 29,      /* source 0 is */
  ISA_F_HALF_1 = 1 << 30,      /* source 1 is */
  ISA_F_HALF_2 = ISA_F_GWS,    /* source 2 is; DS have no sources */
};

typedef struct isa_opcode {
  uint8_t encoding; /* isa_encoding_t */
  uint16_t number;
  uint16_t op;   /* isa_op_t */
  uint8_t chips; /* of the family: bit = isa_chip_t.member */
  uint32_t flags;
  /* Widths in dwords, 0 for none; of masks of lanes in waves of 64. Memory encodings: vdst (SMEM: sdata), saddr (SMEM: sbase, MUBUF,
   * MIMG: srsrc), data0, data1 (MIMG: the sampler), vaddr. */
  uint8_t dst, sdst, src[3];
} isa_opcode_t;

/* A matrix of GFX11 is spread over the lanes: in waves of 32 its registers are twice as many. */
static inline unsigned isa_matrix_dwords(const isa_inst_t *inst, unsigned dwords)
{
  const bool is_matrix =
      inst->encoding == ISA_VOP3P && inst->row->dst > 2 && !(inst->row->flags & ISA_F_MAI);
  return is_matrix && inst->mask_dwords == 1 ? 2 * dwords : dwords;
}

static inline unsigned isa_result_dwords(const isa_inst_t *inst)
{
  return isa_matrix_dwords(inst, inst->row->dst);
}

/* Of a source of the vector ALU. */
static inline unsigned isa_source_dwords(const isa_inst_t *inst, unsigned n)
{
  if (n == 2 && inst->row->flags & ISA_F_MASK)
    return inst->mask_dwords;
  return n == 2 ? isa_matrix_dwords(inst, inst->row->src[2]) : inst->row->src[n];
}

/* NULL when the chip has no such opcode. */
const isa_opcode_t *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number);

/* Dwords of data of a MIMG instruction. */
unsigned isa_image_dwords(const isa_inst_t *inst);

#endif
