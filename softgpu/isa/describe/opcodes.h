/* The opcode table: what LLVM's disassembler knows about each opcode. Internal to softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_OPCODES_H
#define SOFTGPU_ISA_DESCRIBE_OPCODES_H

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
};

struct isa_opcode {
  uint8_t encoding; /* isa_encoding_t */
  uint16_t number;
  uint16_t op;   /* isa_op_t */
  uint8_t chips; /* bit = softgpu_chip_t */
  uint32_t flags;
  /* Widths in dwords, 0 for none. Memory encodings: vdst, saddr, data0, data1, vaddr; see
   * gfx9_opcodes.py. */
  uint8_t dst, sdst, src[3];
};

/* NULL when the chip has no such opcode. */
const struct isa_opcode *isa_opcode_find(unsigned chip, unsigned encoding, unsigned number);

/* Dwords of data of a MIMG instruction. */
unsigned isa_image_dwords(const isa_inst_t *inst);

/* Global wave sync. */
static inline bool isa_is_gws(unsigned op)
{
  return op == ISA_ds_gws_init || op == ISA_ds_gws_barrier || op == ISA_ds_gws_sema_v ||
         op == ISA_ds_gws_sema_p || op == ISA_ds_gws_sema_br || op == ISA_ds_gws_sema_release_all;
}

/* DS instructions with two 8-bit offsets, counted in elements: read2, write2st64 .. */
bool isa_has_two_addresses(unsigned op);

#endif
