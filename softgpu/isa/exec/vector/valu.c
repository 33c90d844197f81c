/* Which instructions are the vector ALU's, and whether their operands make sense. */
#include "softgpu/isa/exec/vector/valu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/exec/scalar/operand.h"

static _Atomic(const valu_build_t *) build_in_use; /* of all threads, which only read it */

static const valu_build_t *const builds[ISA_VALU_HOSTS] = {
    [ISA_VALU_PORTABLE] = &isa_valu_portable,
#if defined(__x86_64__) && !defined(SOFTGPU_WITHOUT_AVX2)
    [ISA_VALU_AVX2] = &isa_valu_avx2,
#endif
#if defined(__x86_64__) && !defined(SOFTGPU_WITHOUT_AVX512)
    [ISA_VALU_AVX512] = &isa_valu_avx512,
#endif
};

const valu_build_t *isa_valu_build_of(isa_valu_host_t host)
{
  bool runs[ISA_VALU_HOSTS] = {[ISA_VALU_PORTABLE] = true};
#if defined(__x86_64__)
  __builtin_cpu_init(); /* a constructor may be earlier than the compiler's own */
  runs[ISA_VALU_AVX2] = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  runs[ISA_VALU_AVX512] = runs[ISA_VALU_AVX2] && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
  return host < ISA_VALU_HOSTS && runs[host] ? builds[host] : NULL;
}

void isa_valu_use(const valu_build_t *build)
{
  for (unsigned host = ISA_VALU_HOSTS; !build && host-- > 0;)
    build = isa_valu_build_of(host);
  atomic_store(&build_in_use, build);
}

__attribute__((constructor)) static void use_fastest(void)
{
  isa_valu_use(NULL);
}

const valu_build_t *isa_valu_build(void)
{
  return atomic_load_explicit(&build_in_use, memory_order_relaxed);
}

const isa_mover_t *isa_mover(void)
{
  return &isa_valu_build()->move;
}

enum { MASK_DWORDS = ISA_LANES / 32 };

/* Registers of an operand of this type. */
static unsigned dwords_of(unsigned type, unsigned attributes)
{
  if (type == T_mask)
    return MASK_DWORDS;
  return type & VALU_WIDE || attributes & (VALU_PK32 | VALU_PKMOV) ? 2 : 1;
}

static bool has_sign(unsigned type)
{
  return type & VALU_FLOAT || type == T_b32 || type == T_h16 || type == T_v2f16;
}

/* Whether the sources, the result and the mask that it may have are there, and signs where they
 * mean something. */
static bool operands_ok(isa_inst_t *inst, const valu_op_t *op, const isa_limits_t *limits)
{
  const bool is_mask = op->d == T_mask;
  const bool has_mask = is_mask || op->d == T_carry || op->d == T_borrow || op->d == T_carry64 ||
                        op->d == T_scaled32 || op->d == T_scaled64;
  isa_operand_t *mask = is_mask && !inst->sdst.kind ? &inst->dst : &inst->sdst;
  for (unsigned n = 0; n < 3; ++n) {
    const unsigned type = op->s[n];
    isa_operand_t *source = &inst->src[n];
    const bool is_signed = (inst->vop.abs | inst->vop.neg | inst->vop.neg_hi) >> n & 1;
    if ((type != T_none) != (source->kind != ISA_OPERAND_NONE) ||
        !isa_operand_prepare(source, dwords_of(type, op->attributes), limits) ||
        (type == T_mask && isa_is_vector(source)) || (type && is_signed && !has_sign(type)))
      return false;
  }
  if (has_mask ? mask->kind != ISA_OPERAND_SGPR || !isa_operand_prepare(mask, MASK_DWORDS, limits)
               : inst->sdst.kind != ISA_OPERAND_NONE)
    return false;
  return is_mask || (isa_is_vector(&inst->dst) &&
                     isa_operand_prepare(&inst->dst, dwords_of(op->d, op->attributes), limits));
}

static bool dpp_ok(const isa_inst_t *inst)
{
  const isa_chip_t *chip = isa_chip(inst->chip);
  const unsigned ctrl = inst->vop.dpp.ctrl;
  if (inst->src[0].kind != ISA_OPERAND_VGPR)
    return false;
  if (inst->vop.has_dpp8 || ctrl < 0x100 || ctrl == 0x140 || ctrl == 0x141)
    return true;
  if (ctrl > 0x100 && ctrl < 0x130)
    return ctrl & 15;
  if (ctrl >= 0x150)
    return ctrl < 0x170 && chip->dpp_rows[(ctrl >> 4) - 0x15];
  return !chip->dpp_in_rows && (ctrl == 0x130 || ctrl == 0x134 || ctrl == 0x138 || ctrl == 0x13c ||
                                ctrl == 0x142 || ctrl == 0x143);
}

/* What bf16 instructions make of constants that f32 and f16 have, and of modifiers of a packed
 * result, no document says. */
static bool bf16_ok(const isa_inst_t *inst)
{
  const bool is_packing = inst->op == ISA_v_cvt_pk_bf16_f32 || inst->op == ISA_v_cvt_pk_f16_f32;
  if (inst->op != ISA_v_dot2_f32_bf16 && inst->op != ISA_v_dot2c_f32_bf16 &&
      inst->op != ISA_v_cvt_f32_bf16)
    return !is_packing || !inst->vop.omod;
  for (unsigned n = 0; n < 2; ++n)
    if (inst->src[n].kind == ISA_OPERAND_INLINE && inst->src[n].index >= ISA_CODE_FLOATS)
      return false;
  return true;
}

/* 0.5, -0.5, 1, -1, 2, -2, 4, -4 and 1 / (2 pi): encodings 240 to 248. */
static const uint16_t inline_f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                      0xc000, 0x4400, 0xc400, 0x3118};

/* A literal is the high half of an f64; other 64-bit literals are zero-extended, signed ones
 * sign-extended. */
uint64_t isa_valu_constant(const isa_inst_t *inst, const isa_operand_t *operand, unsigned type)
{
  bool is_packed_integer = inst->encoding == ISA_VOP3P && !(type & VALU_FLOAT) && type != T_v2f16;
  bool is_half = ((type & VALU_HALF) && !is_packed_integer) || type == T_v2f16;
  if (operand->kind == ISA_OPERAND_LITERAL) {
    if (type == T_f64)
      return (uint64_t)operand->value << 32;
    return type == T_i64 ? (uint64_t)(int64_t)(int32_t)operand->value : operand->value;
  }
  const bool is_bf16 = inst->op == ISA_v_dot2_f32_bf16_cut ||
                       inst->op == ISA_v_dot2c_f32_bf16_cut || inst->op == ISA_v_dot2_bf16_bf16 ||
                       inst->op == ISA_v_wmma_bf16_16x16x16_bf16;
  if (is_bf16 && (type == T_v2f16 || type == T_h16) && operand->index >= ISA_CODE_FLOATS)
    return operand->value >> 16;
  if (is_half && operand->index >= ISA_CODE_FLOATS)
    return inline_f16[operand->index - ISA_CODE_FLOATS];
  return type & VALU_WIDE || type == T_mask ? isa_scalar_inline64(operand->index) : operand->value;
}

/* --- constants as rows --- */

enum { CONSTANT_ROWS = 4096 };

typedef struct constant_row {
  uint64_t value;
  uint32_t row[2][ISA_LANES] __attribute__((aligned(64)));
} constant_row_t;

/* What kernels have of constants is little. They are kept for good, at most half of the places. */
static pthread_mutex_t constants_lock = PTHREAD_MUTEX_INITIALIZER;
static constant_row_t *constants[CONSTANT_ROWS];
static unsigned constants_kept;

static constant_row_t *constant_create(uint64_t value)
{
  constant_row_t *constant = aligned_alloc(64, sizeof *constant);
  if (!constant)
    return NULL;
  constant->value = value;
  for (unsigned i = 0; i < ISA_LANES; ++i) {
    constant->row[0][i] = (uint32_t)value;
    constant->row[1][i] = (uint32_t)(value >> 32);
  }
  return constant;
}

/* Two rows of the value's halves; NULL when there is no room for it. */
static const uint32_t *constant_rows(uint64_t value)
{
  unsigned at = (unsigned)(value * 0x9e3779b97f4a7c15 >> 52);
  pthread_mutex_lock(&constants_lock);
  while (constants[at] && constants[at]->value != value)
    at = (at + 1) % CONSTANT_ROWS;
  if (!constants[at] && constants_kept < CONSTANT_ROWS / 2) {
    constants[at] = constant_create(value);
    constants_kept += constants[at] != NULL;
  }
  const constant_row_t *found = constants[at];
  pthread_mutex_unlock(&constants_lock);
  return found ? found->row[0] : NULL;
}

/* (What SDWA has of a register's bits to itself, its dst_sel says.) */
static bool keeps_half(const isa_inst_t *inst, const valu_op_t *op)
{
  return op->d & VALU_HALF && !(op->attributes & VALU_PK16) &&
         (op->attributes & VALU_KEEP ||
          (isa_chip(inst->chip)->keeps_halves && !inst->vop.has_sdwa));
}

/* Which operands are read, and written, where they are, without a call. Both kinds of registers are
 * of one file: isa_limits_t. True when row_of() of exec/vector/fast.inc knows all sources. */
static bool find_rows(isa_inst_t *inst, const valu_op_t *op, const isa_limits_t *limits)
{
  const uint32_t row_bytes = sizeof(isa_row_t), first_agpr = row_bytes * limits->first_agpr;
  bool are_rows = true;
  for (unsigned n = 0; n < 3 && op->s[n]; ++n) {
    const isa_operand_t *source = &inst->src[n];
    const uint8_t bit = (uint8_t)(1u << n);
    switch (source->kind) {
    case ISA_OPERAND_VGPR:
    case ISA_OPERAND_AGPR:
      inst->direct |= bit;
      inst->at[n] = row_bytes * source->index;
      inst->at[n] += source->kind == ISA_OPERAND_AGPR ? first_agpr : 0;
      break;
    case ISA_OPERAND_SGPR:
      inst->is_scalar |= op->s[n] & VALU_WIDE ? 0 : bit;
      inst->at[n] = op->s[n] & VALU_WIDE ? 0 : source->index;
      break;
    case ISA_OPERAND_INLINE:
    case ISA_OPERAND_LITERAL:
      if (op->s[n] != T_mask)
        inst->constant[n] = constant_rows(isa_valu_constant(inst, source, op->s[n]));
      break;
    default:
      break;
    }
    are_rows &= (inst->direct | inst->is_scalar) >> n & 1 || inst->constant[n];
  }
  inst->direct |= keeps_half(inst, op) ? ISA_KEEPS_HALF : 0;
  inst->dst_at = row_bytes * inst->dst.index;
  inst->dst_at += inst->dst.kind == ISA_OPERAND_AGPR ? first_agpr : 0;
  return are_rows;
}

/* v_pk_add_f32 and its kind: finds the halves, and the function that takes them, NULL where none
 * does. A scalar factor or summand comes first there: NaNs apart, their order does not matter. */
static isa_run_t find_halves(isa_inst_t *inst, const valu_op_t *op)
{
  const uint32_t *constant = NULL;
  uint32_t low_at[3] = {0}, high_at[3] = {0};
  unsigned scalars = 0;
  if (inst->vop.neg || inst->vop.neg_hi || inst->vop.clamp || inst->vop.omod)
    return NULL;
  for (unsigned n = 0; n < 3 && op->s[n]; ++n) {
    const bool is_vector = inst->direct >> n & 1, is_scalar = inst->is_scalar >> n & 1;
    const uint32_t unit = is_vector ? (uint32_t)sizeof(isa_row_t) : is_scalar ? 1 : 0;
    const unsigned to = n < 2 && inst->direct & 1 && !(inst->direct & 2) ? 1 - n : n;
    low_at[to] = inst->at[n] + unit * (inst->vop.op_sel >> n & 1);
    high_at[to] = inst->at[n] + unit * (inst->vop.op_sel_hi >> n & 1);
    scalars |= is_vector ? 0 : 1u << to;
    if (!is_vector && !is_scalar)
      constant = inst->constant[n];
    if (is_vector && high_at[to] == inst->dst_at)
      return NULL;
  }
  if (scalars & (scalars - 1))
    return NULL;
  memcpy(inst->at, low_at, sizeof low_at);
  memcpy(inst->pair.high_at, high_at, sizeof high_at);
  inst->pair.constant = constant;
  return !scalars ? op->fast : scalars == 1 ? op->scalar : op->third;
}

/* Whether the result, or source n - 1, is the high half of a register. */
static bool is_high(const isa_inst_t *inst, unsigned n)
{
  return (n ? &inst->src[n - 1] : &inst->dst)->half == ISA_HIGH_HALF;
}

/* In another way than by the signs and halves of sources. */
static bool is_modified(const isa_inst_t *inst)
{
  return inst->vop.has_sdwa || inst->vop.has_dpp || inst->vop.omod || inst->vop.clamp;
}

/* For run_16_bits(). */
static bool is_of_16_bits(const isa_inst_t *inst, const valu_op_t *op)
{
  enum { OTHERS = VALU_FLUSH | VALU_VCC | VALU_PK32 | VALU_BYTE };
  const uint8_t types[] = {op->d, op->s[0], op->s[1], op->s[2]};
  bool is_short = false;
  for (unsigned n = 0; n < 4; ++n) {
    if (types[n] & VALU_WIDE || types[n] == T_carry || types[n] == T_borrow ||
        types[n] == T_v2f16 || types[n] == T_v2i16 || types[n] == T_scaled32 ||
        (n && types[n] == T_mask))
      return false;
    is_short |= types[n] & VALU_HALF;
  }
  return is_short && !(op->attributes & OTHERS) && !is_modified(inst);
}

/* `are_rows`: what find_rows() said. */
static isa_run_t choose_run(isa_inst_t *inst, const valu_build_t *build, bool are_rows)
{
  enum { SPECIAL = VALU_KEEP | VALU_PK16 | VALU_PK32 | VALU_MIX | VALU_HIGH | VALU_BYTE };
  const valu_op_t *op = inst->plan;
  const uint8_t types[] = {op->d, op->s[0], op->s[1], op->s[2]};
  const bool has_signs = inst->vop.abs || inst->vop.neg;
  /* The operands can go to the lane loop as they are, their signs apart. */
  bool can_be_plain = !is_modified(inst) && !inst->vop.neg_hi && !(op->attributes & SPECIAL);
  for (unsigned n = 0; n < 4; ++n)
    can_be_plain &= types[n] != T_f16 && types[n] != T_v2f16 && types[n] != T_v2i16 &&
                    !is_high(inst, n) && !(types[n] & VALU_HALF && inst->vop.op_sel);
  const bool has_mask = op->s[2] != T_mask || inst->is_scalar & 4; /* nearly always in registers */
  const bool is_own = op->fast && has_mask && can_be_plain;
  /* LLVM moves accumulators that stay where they are, in loops a third of all its moves. */
  if (inst->op == ISA_v_accvgpr_mov_b32 && can_be_plain && !has_signs &&
      inst->src[0].kind == ISA_OPERAND_AGPR && inst->dst.kind == ISA_OPERAND_AGPR &&
      inst->dst.index == inst->src[0].index)
    return isa_run_nothing_on;
  if (op->attributes & VALU_PKMOV)
    return build->pair_move;
  const isa_run_t of_halves =
      op->fast && op->attributes & VALU_PK32 && are_rows ? find_halves(inst, op) : NULL;
  if (of_halves)
    return of_halves;
  if (is_own && !has_signs && are_rows)
    return inst->is_scalar & 1 && op->s[0] != T_mask ? op->scalar : op->fast;
  can_be_plain &= !has_signs && !(inst->direct & ISA_KEEPS_HALF);
  return is_own                    ? op->staged
         : can_be_plain            ? build->plain
         : is_of_16_bits(inst, op) ? build->of_16_bits
                                   : build->general;
}

bool isa_valu_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  const valu_build_t *build = isa_valu_build();
  const valu_op_t *op = &build->ops[inst->op];
  if (inst->vop.has_dpp && !dpp_ok(inst))
    return false;
  if (!op->lanes)
    return isa_valu_lane_prepare(inst, limits);
  if (op->attributes & VALU_TIED)
    inst->src[2] = inst->dst;
  /* Hardware does not look at it: bitsandbytes' products set it, and are right on gfx1100. */
  if (inst->op == ISA_v_dot2_f32_f16_cut || inst->op == ISA_v_dot2_f32_bf16_cut)
    inst->vop.clamp = false;
  if (inst->op == ISA_v_dot4_i32_iu8 || inst->op == ISA_v_dot8_i32_iu4) {
    inst->vop.cbsz = inst->vop.neg & 3; /* there it says which source has a sign */
    inst->vop.neg = inst->vop.neg_hi = 0;
  }
  /* Integer results saturate where the instruction can; elsewhere clamp would be ignored in
   * silence. */
  const bool can_clamp = op->saturating || op->d & VALU_FLOAT || op->d == T_carry ||
                         op->d == T_borrow || op->d == T_mask;
  if (!operands_ok(inst, op, limits) || (inst->vop.clamp && !can_clamp) || !bf16_ok(inst))
    return false;
  inst->plan = op;
  return isa_runs_on(inst, choose_run(inst, build, find_rows(inst, op, limits)));
}
