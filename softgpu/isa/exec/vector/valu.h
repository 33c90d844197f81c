/* The vector ALU: one table row and one tiny loop over the lanes per instruction. Internal to
 * softgpu/isa/exec.
 *
 * Everything instructions share is written once, around the loops: operand fetch and conversion
 * (exec/vector/operand.inc), DPP (exec/vector/dpp.inc), float modes, modifiers and write-back
 * (exec/vector/run.inc). The rows are in *_table.inc. Where vectors are wide most instructions have
 * a function of their own for the case without modifiers (exec/vector/fast.inc), and those of 16
 * bits one together (exec/vector/bits16.inc). The same source is
 * compiled three times (exec/build/portable.c, exec/build/avx2.c, exec/build/avx512.c); valu.c
 * picks one at run time. All give the same bits.
 *
 * Float policy, where the hardware's bits are not documented:
 * - A NaN result is the first NaN operand, quieted; without one it is 0x7fc00000 (f64, f16 alike).
 *   v_div_fixup's invalid operations give 0xffc00000, as the ISA document says.
 * - Instructions marked ULP1 are computed in higher precision and rounded to nearest: they are
 *   within one ulp of the true value, not necessarily the hardware's bits. Those of f32 flush
 *   denormals on both sides in every mode, as AMD's compiler assumes.
 * - The f32 multiply-add instructions that are not fused round the product and flush denormals.
 * - omod is ignored while output denormals or IEEE mode are on, else it makes -0 +0 (ISA document);
 *   -0 stays -0 under clamp alone, as in LLVM's constant folding.
 */
#ifndef SOFTGPU_ISA_EXEC_VECTOR_VALU_H
#define SOFTGPU_ISA_EXEC_VECTOR_VALU_H

#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/exec/memory/move.h"

/* What a lane loop works on. 64-bit values are two rows: the low halves, then the high halves.
 * Results may lie exactly on sources, or one row away from them: lanes never look at each other. */
typedef struct valu_io {
  uint32_t *d;
  const uint32_t *s[3];
  const uint32_t *k; /* vcc as 0 or 1 per lane, for v_div_fmas */
  uint8_t *m;        /* mask result: 0 or 1 per lane */
  uint32_t mode;     /* the MODE register, and of the chip what it has no bits for */
} valu_io_t;

/* In valu_io_t.mode, where MODE has no bit: isa_chip_t.flushes_products and scales_by_exponents. */
#define VALU_FLUSH_DOT    (1u << 31)
#define VALU_BY_EXPONENTS (1u << 30)
/* And of the instruction, whose neg says it: v_dot4_i32_iu8 and v_dot8_i32_iu4. */
#define VALU_SIGNED_A (1u << 28)
#define VALU_SIGNED_B (1u << 29)

typedef void valu_lanes_t(const valu_io_t *io);

/* How an operand's bits reach the loop. f16 sources are widened to f32 before it and f16 results
 * rounded after it, so that one loop can serve both types. */
enum {
  VALU_FLOAT = 0x20, /* the float mode and abs/neg apply */
  VALU_WIDE = 0x40,  /* two rows */
  VALU_HALF = 0x80,  /* 16 bits */
};
typedef enum valu_type {
  T_none = 0,
  T_b32 = 1, /* untyped: abs and neg act on bit 31 (v_mov, v_cndmask) */
  T_u32 = 2,
  T_i32 = 3,
  T_u24 = 4,
  T_i24 = 5,
  T_mask = 6,   /* a scalar mask: 0 or 1 per lane */
  T_carry = 7,  /* result only: u32 and a mask */
  T_borrow = 8, /* the same, saturating to 0 instead of all ones */
  T_v2f16 = 9,  /* a packed pair, halves placed as op_sel and op_sel_hi say */
  T_v2i16 = 10,
  T_f32 = 1 | VALU_FLOAT,
  T_f32x2 = T_f32,             /* result only: of each half */
  T_scaled32 = 2 | VALU_FLOAT, /* result only: f32 and a mask */
  T_b64 = 1 | VALU_WIDE,
  T_u64 = 2 | VALU_WIDE,
  T_i64 = 3 | VALU_WIDE,
  T_carry64 = 4 | VALU_WIDE, /* result only: u64 and a mask */
  T_f64 = 1 | VALU_WIDE | VALU_FLOAT,
  T_scaled64 = 2 | VALU_WIDE | VALU_FLOAT, /* result only: f64 and a mask */
  T_u16 = 1 | VALU_HALF,
  T_i16 = 2 | VALU_HALF,
  T_h16 = 3 | VALU_HALF, /* an f16's bits, not widened */
  T_f16 = 1 | VALU_HALF | VALU_FLOAT,
} valu_type_t;

/* Attributes of rows. */
enum {
  VALU_ULP1 = 1 << 0,     /* within one ulp by design; all others are exact */
  VALU_ANYROUND = 1 << 1, /* the rounding mode does not matter */
  VALU_FLUSH = 1 << 2,    /* f32 denormals are flushed in every mode */
  VALU_RAW = 1 << 3,      /* denormals are looked at, never flushed */
  VALU_MINMAX = 1 << 4,   /* IEEE mode: a signalling NaN wins, quieted */
  VALU_TIED = 1 << 5,     /* src[2] is the destination */
  VALU_KEEP = 1 << 6,     /* the other half of the destination register is preserved */
  VALU_CMPX = 1 << 7,     /* writes exec as well */
  VALU_VCC = 1 << 8,      /* reads vcc without naming it */
  VALU_PK16 = 1 << 9,     /* both halves, each with its own selects and signs */
  VALU_PK32 = 1 << 10,    /* both registers of a pair, likewise */
  VALU_MIX = 1 << 11,     /* op_sel_hi says which sources are f16 */
  VALU_HIGH = 1 << 12,    /* a 16-bit result goes to the high half */
  VALU_PKMOV = 1 << 13,   /* v_pk_mov_b32: each half of the result has its own source */
  VALU_BYTE = 1 << 14,    /* an 8-bit result goes to the byte that op_sel bits 2 and 3 name */
  VALU_OWNNAN = 1 << 15,  /* chooses its NaN itself */
};

typedef struct valu_op {
  valu_lanes_t *lanes;
  valu_lanes_t *saturating; /* integer clamp; NULL when there is none */
  /* The instruction's own functions for the common case, which go on (isa_go_on()), or NULL: of
   * sources that are registers or constants; of those but a scalar as the first one, or the third;
   * of any, with signs, but masks in SGPRs. Pairs have constants only where they have scalars, and
   * no function of the last kind; only they have a third. */
  isa_run_t fast, scalar, third, staged;
  uint8_t d, s[3]; /* valu_type_t */
  uint16_t attributes;
} valu_op_t;

/* One compilation of exec/build/build.inc. */
typedef struct valu_build {
  const valu_op_t *ops; /* by isa_op_t; rows without `lanes` are not table-driven */
  /* All of them go on: isa_go_on(). */
  isa_run_t plain; /* no modifiers, full registers */
  isa_run_t of_16_bits;
  isa_run_t general;
  isa_run_t pair_move; /* v_pk_mov_b32 */
  isa_run_t scalar;    /* exec/vector/scalar.inc */
  isa_run_t mfma;
  isa_run_t smfmac;
  isa_mover_t move;
} valu_build_t;

extern const valu_build_t isa_valu_portable;
extern const valu_build_t isa_valu_avx2, isa_valu_avx512; /* on x86-64 only */

/* Slowest first. */
typedef enum isa_valu_host {
  ISA_VALU_PORTABLE,
  ISA_VALU_AVX2,
  ISA_VALU_AVX512,
  ISA_VALU_HOSTS
} isa_valu_host_t;

/* NULL where it is not built, or does not run on this processor. */
const valu_build_t *isa_valu_build_of(isa_valu_host_t host);

/* The one in use for what is decoded from now on: the fastest, or the one that a comparison chose
 * (NULL: the fastest again). */
const valu_build_t *isa_valu_build(void);
void isa_valu_use(const valu_build_t *build);

static inline bool isa_is_vector(const isa_operand_t *operand)
{
  return operand->kind == ISA_OPERAND_VGPR || operand->kind == ISA_OPERAND_AGPR;
}

/* A constant's bits, which depend on the type of the operand it stands for. */
uint64_t isa_valu_constant(const isa_inst_t *inst, const isa_operand_t *operand, unsigned type);

/* All but matrix instructions; see wave.h. */
bool isa_valu_prepare(isa_inst_t *inst, const isa_limits_t *limits);
/* Of those, the instructions without a row, which name single lanes: lane.c. */
bool isa_valu_lane_prepare(isa_inst_t *inst, const isa_limits_t *limits);
/* VOPD: dual.c. */
bool isa_dual_prepare(isa_inst_t *inst, const isa_limits_t *limits);
/* Both of its instructions, as ones alone. False where it is not prepared either. */
bool isa_dual_halves(const isa_inst_t *inst, const isa_limits_t *limits, isa_inst_t halves[2]);
/* Scalar instructions with floating-point numbers: scalar.c. */
bool isa_scalar_float_prepare(isa_inst_t *inst, const isa_limits_t *limits);

#endif
