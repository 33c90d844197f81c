/* A decoded instruction. Internal to softgpu.
 *
 * The decoder (decode/decode.c) fills in every field from the instruction's bytes; nothing here
 * depends on machine state, so decoded programs are shared by all waves and threads. Field names
 * follow the MI200 ISA document. Which instructions there are: the *.isa files of this folder and
 * those of the families in it, of which isagen.py makes tables. */
#ifndef SOFTGPU_ISA_DESCRIBE_INST_H
#define SOFTGPU_ISA_DESCRIBE_INST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One enumerator per mnemonic (encoding suffixes _e32/_e64/_sdwa/_dpp removed): ISA_v_add_f32; two
 * where it means something else on gfx950. Families that spell it in another way share it. */
typedef enum isa_op {
  ISA_invalid = 0,
#define ISA_MNEMONIC(name, mnemonic) ISA_##name,
#include "softgpu/isa/describe/generated/mnemonics.inc"
#undef ISA_MNEMONIC
  ISA_OP_COUNT
} isa_op_t;

typedef enum isa_encoding {
  ISA_SOP1,
  ISA_SOP2,
  ISA_SOPK,
  ISA_SOPC,
  ISA_SOPP,
  ISA_SMEM,
  ISA_VOP1,
  ISA_VOP2,
  ISA_VOPC,
  ISA_VOP3,
  ISA_VOP3P,
  ISA_VOPD,
  ISA_DS,
  ISA_FLAT,
  ISA_GLOBAL,
  ISA_SCRATCH,
  ISA_MUBUF,
  ISA_MTBUF,
  ISA_MIMG,
  ISA_ENCODING_COUNT
} isa_encoding_t;

/* How operands are encoded (MI200 ISA document, "Scalar ALU Operands"). Of those with a second
 * half, the first. */
typedef enum isa_code {
  ISA_FLAT_SCRATCH = 102, /* SGPRs are below */
  ISA_XNACK_MASK = 104,
  ISA_VCC = 106,
  ISA_TTMP = 108,
  ISA_M0 = 124,
  ISA_NULL = 125, /* GFX10: reads as 0, writes go nowhere; GFX9 has no such code */
  ISA_EXEC = 126,
  ISA_CODE_ZERO = 128,       /* up to 64 */
  ISA_CODE_SIXTY_FOUR = 192, /* and down from -1 */
  ISA_CODE_LAST_INTEGER = 208,
  ISA_CODE_APERTURES = 235, /* shared and private, base and limit of each */
  ISA_CODE_POPS_WAVE = 239,
  ISA_CODE_DPP8 = 233,    /* GFX10 */
  ISA_CODE_DPP8_FI = 234, /* the same, of inactive lanes, too */
  ISA_CODE_FLOATS = 240,  /* 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1 / (2 pi) */
  ISA_CODE_LAST_FLOAT = 248,
  ISA_CODE_SDWA = 249, /* what they are, the next dword says */
  ISA_CODE_DPP = 250,
  ISA_CODE_VCCZ = 251,
  ISA_CODE_EXECZ = 252,
  ISA_CODE_SCC = 253,
  ISA_CODE_LDS_DIRECT = 254,
  ISA_CODE_LITERAL = 255, /* the dword after the instruction */
  ISA_CODE_VGPRS = 256    /* of nine bits */
} isa_code_t;
enum { ISA_SGPRS = ISA_CODE_ZERO }; /* all scalar registers that have a code */

typedef enum isa_operand_kind {
  ISA_OPERAND_NONE,
  ISA_OPERAND_SGPR,    /* index into isa_wave.s, which is the code */
  ISA_OPERAND_VGPR,    /* index = row 0-255 of the architectural VGPRs */
  ISA_OPERAND_AGPR,    /* index = row 0-255 of the accumulation VGPRs */
  ISA_OPERAND_INLINE,  /* index = the code of an integer or a float */
  ISA_OPERAND_LITERAL, /* value = the 32-bit literal that follows the instruction */
  ISA_OPERAND_SPECIAL, /* index = the code of an aperture, a flag or lds_direct */
} isa_operand_kind_t;

enum { ISA_WHOLE, ISA_LOW_HALF, ISA_HIGH_HALF };

typedef struct isa_operand {
  uint8_t kind; /* isa_operand_kind_t */
  uint8_t half; /* GFX11: of a register, which part of it the operand is */
  uint16_t index;
  uint32_t value;
} isa_operand_t;

enum {
  ISA_SEL_BYTE_0,
  ISA_SEL_BYTE_1,
  ISA_SEL_BYTE_2,
  ISA_SEL_BYTE_3,
  ISA_SEL_WORD_0,
  ISA_SEL_WORD_1,
  ISA_SEL_DWORD
};

typedef struct isa_sdwa {
  uint8_t src_sel[2]; /* ISA_SEL_* */
  bool sext[2];
  uint8_t dst_sel;
  uint8_t dst_unused; /* 0 pad with zeros, 1 sign-extend, 2 preserve */
} isa_sdwa_t;

typedef struct isa_dpp {
  uint16_t ctrl; /* dpp_ctrl, 9 bits */
  uint8_t row_mask, bank_mask;
  bool bound_ctrl; /* out-of-range lanes read 0 instead of keeping the destination */
  bool fi;         /* GFX10: inactive lanes are read, too */
} isa_dpp_t;

typedef struct isa_opcode isa_opcode_t;

/* What the VALU's formats add to an instruction: VOP1, VOP2, VOPC, VOP3 and VOP3P. */
typedef struct isa_vop {
  uint8_t abs, neg;  /* bit i: applies to src[i] (VOP3, SDWA, DPP) */
  uint8_t neg_hi;    /* VOP3P */
  uint8_t op_sel;    /* VOP3: bits 0-2 sources, bit 3 destination; VOP3P: low-half selects */
  uint8_t op_sel_hi; /* VOP3P */
  uint8_t omod;      /* 0 none, 1 *2, 2 *4, 3 /2 */
  bool clamp;
  bool has_sdwa, has_dpp;
  bool has_dpp8; /* has_dpp, of which only `fi` counts, and simm: three bits a lane */
  isa_sdwa_t sdwa;
  isa_dpp_t dpp;
  uint8_t cbsz, abid, blgp; /* MFMA */
  /* gfx950: the MFMA follows a v_mfma_ld_scale_b32, whose operands these are. Bit n of op_sel and
   * of op_sel_hi: the low and high bit of the byte of scale[n] that counts. */
  bool has_scale;
  isa_operand_t scale[2];
} isa_vop_t;

/* Those of memory: SMEM, DS, FLAT/GLOBAL/SCRATCH, MUBUF, MTBUF, MIMG. */
typedef struct isa_mem {
  isa_operand_t vaddr;   /* VGPR (pair): address, or offset when saddr is given; NONE for off */
  isa_operand_t saddr;   /* FLAT family: SGPR (pair), NONE for off; SMEM: sbase; MUBUF: srsrc */
  isa_operand_t soffset; /* SMEM: register or inline offset; MUBUF: soffset; MIMG: sampler */
  isa_operand_t data[2]; /* stored, compared or exchanged data (DS data0/data1); SMEM store data */
  int32_t offset;        /* bytes, sign-extended where the encoding is signed; DS: see offset1 */
  union {
    uint32_t offset1; /* DS of two addresses: of the second; both are in units of an element */
    uint32_t format;  /* MTBUF */
    struct {
      uint8_t dmask;
      bool unnormalized : 1, da : 1, a16 : 1, lwe : 1, d16 : 1;
    } image; /* MIMG */
  };
  bool glc, slc, scc, dlc, nv, lds, gds, offen, idxen, tfe;
} isa_mem_t;

/* VOPD: the other instruction. Both read before either writes. */
typedef struct isa_vopd {
  const isa_opcode_t *row;
  isa_operand_t dst, src[3];
} isa_vopd_t;

enum { ISA_MOST_DWORDS = 4 }; /* of an instruction */
enum { ISA_KEEPS_HALF = 8 };  /* its result is half a register, and the other half stays */

typedef struct isa_wave isa_wave_t;
typedef struct isa_inst isa_inst_t;
typedef struct isa_probed isa_probed_t;

typedef bool (*isa_run_t)(isa_wave_t *wave, const isa_inst_t *inst);

struct isa_inst {
  /* Filled in when the instruction is decoded for a program, by the executor of its kind:
   * isa_prepare(). It comes first: a line of the host's cache is all that most instructions look
   * at. */
  isa_run_t run_on; /* it, and those after it: isa_go_on() */
  const void *plan;
  union {
    const uint32_t
        *constant[3]; /* VALU: the row of src[i], of two registers, if it is a constant */
    struct {
      const uint32_t *constant; /* one source's row, if it is a constant */
      uint32_t high_at[3];      /* `at` of the high halves */
    } pair;                     /* VALU: of functions for pairs */
    uint64_t value[2];          /* SALU: src[i], if not a register */
  };
  /* SGPRs: the number; VGPRs and AGPRs of the VALU: where the row begins, in bytes from wave->v. */
  uint32_t at[3], dst_at;
  uint8_t direct;    /* VALU: bit i: src[i] is a VGPR or AGPR; and ISA_KEEPS_HALF */
  uint8_t is_scalar; /* VALU: bit i: src[i] is an SGPR, of a mask a pair */
  /* program.c: its dword in the chunk, the instructions to the end of the block (0: is_alone), and
   * the dword after that. */
  uint16_t slot, block, end;

  bool ends_block; /* looks at the program counter, or changes it, the turn or the state */
  bool is_alone;   /* does so in ways that involve the instructions before and after it */
  uint16_t range;  /* vector and scalar memory: which of a thread's ranges it uses */
  isa_run_t run;   /* it alone */

  uint16_t op;             /* isa_op_t */
  uint8_t encoding;        /* isa_encoding_t; the base one for SDWA and DPP */
  uint8_t dwords;          /* 1-4, literal or scale prefix included */
  uint8_t chip;            /* softgpu_chip_t it was decoded for */
  uint8_t mask_dwords;     /* of a mask of lanes: 2, or 1 in waves of 32 */
  uint8_t moves;           /* memory; program.c: which of a wave's isa_moves_t it uses */
  const isa_opcode_t *row; /* operand widths and forms: opcodes.h */

  /* dst is vdst or sdst, of loads vdata; sdst is the mask or carry result of VOP3B, VOPC (vcc, or
   * SDWA's sdst) and VOP2 carry instructions. src[2] of VOP2 carry-in and v_cndmask is the mask
   * (vcc in the 32-bit encodings), and of v_fmac/v_mac it is dst. Memory has no sdst and no src. */
  isa_operand_t dst, sdst, src[3];
  /* SOPK/SOPP immediate (sign-extended where the instruction does), and branch distance in dwords.
   * v_bitop3: its truth table. DPP8: the lanes. */
  int32_t simm;
  union { /* by encoding */
    isa_vop_t vop;
    isa_mem_t mem;
    isa_vopd_t vopd;
  };

  isa_run_t unchecked;        /* what checks.c runs then */
  const isa_probed_t *probed; /* what run/probe.c does before; NULL: nothing */
} __attribute__((aligned(64)));

/* Whether it has `mem`. */
static inline bool isa_is_memory(const isa_inst_t *inst)
{
  return inst->encoding == ISA_SMEM || inst->encoding >= ISA_DS;
}

typedef enum isa_decode_status {
  ISA_DECODED,
  ISA_DECODE_TRUNCATED, /* the bytes end inside the instruction */
  ISA_DECODE_UNKNOWN,   /* no such instruction on this chip */
} isa_decode_status_t;

/* Decodes one instruction from at most `available` dwords. `chip` is a softgpu_chip_t that is
 * decoded. */
isa_decode_status_t isa_decode(unsigned chip, const uint32_t *code, uint32_t available,
                               isa_inst_t *inst);
/* The same of a wave of 32 or 64 lanes, where chips have both. */
isa_decode_status_t isa_decode_of(unsigned chip, unsigned lanes, const uint32_t *code,
                                  uint32_t available, isa_inst_t *inst);

/* The instruction in the assembler's syntax, without the encoding suffix. Always terminated. */
void isa_text(const isa_inst_t *inst, char *text, size_t size);

/* Lower-case mnemonic without suffix; "invalid" for ISA_invalid. */
const char *isa_op_name(unsigned op);
/* As the chip's family spells it. */
const char *isa_op_name_on(unsigned chip, unsigned op);

#endif
