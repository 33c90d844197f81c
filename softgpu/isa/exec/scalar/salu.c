/* Scalar ALU instructions. The rows of salu_ops.inc become one function each. */
#include <string.h>

#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/scalar/salu.h"

static uint64_t low_bits(unsigned width)
{
  return width >= 64 ? UINT64_MAX : (1ull << width) - 1;
}

/* Bit fields; what lies beyond the value is 0, or the sign of its `size` bits. */
static uint64_t extract(uint64_t value, unsigned offset, unsigned width)
{
  return value >> offset & low_bits(width);
}

static uint64_t extract_signed(uint64_t value, unsigned offset, unsigned width, unsigned size)
{
  int64_t shifted = (size == 32 ? (int64_t)(int32_t)value : (int64_t)value) >> offset;
  if (!width)
    return 0;
  if (width >= size)
    return (uint64_t)shifted;
  uint64_t sign = 1ull << (width - 1);
  return (((uint64_t)shifted & low_bits(width)) ^ sign) - sign;
}

static uint32_t magnitude(uint32_t value)
{
  return (int32_t)value < 0 ? 0 - value : value;
}

/* Bit 4i set when any of bits 4i .. 4i+3 is. */
static uint64_t quads(uint64_t mask)
{
  mask |= mask >> 1;
  mask |= mask >> 2;
  return mask & 0x1111111111111111;
}

static uint64_t pack_quads(uint64_t mask)
{
  uint64_t packed = 0;
  mask = quads(mask);
  for (unsigned i = 0; i < 16; ++i)
    packed |= (mask >> 4 * i & 1) << i;
  return packed;
}

static uint64_t reverse(uint64_t value)
{
  value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
  value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
  value = (value >> 4 & 0x0f0f0f0f0f0f0f0f) | (value & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(value);
}

static uint32_t first_one(uint64_t value)
{
  return value ? (uint32_t)__builtin_ctzll(value) : UINT32_MAX;
}

static uint32_t leading_zeros(uint64_t value)
{
  return value ? (uint32_t)__builtin_clzll(value) : UINT32_MAX;
}

static uint64_t replicate(uint32_t value)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < 32; ++i)
    out |= (uint64_t)(value >> i & 1) * 3 << 2 * i;
  return out;
}

/* What nearly all sources are: registers and constants. Which, a function knows when it is
 * compiled: bit n of `registers` is that of source n; ANY_SOURCES are looked at when it runs. */
enum { BOTH_REGISTERS = 3, ANY_SOURCES, SOURCE_KINDS };
#define INLINED __attribute__((always_inline)) static inline

/* A pair is read as it mostly has been written, masks in one piece and numbers in two: a processor
 * that reads it so soon after would have to wait for its cache otherwise. */
static inline uint64_t quick64(const isa_wave_t *w, const isa_inst_t *inst, unsigned n,
                               unsigned registers, bool is_mask)
{
  uint64_t value = inst->value[n];
  if (!(registers >> n & 1))
    return value;
  if (!is_mask)
    return isa_read_s64(w, inst->at[n]);
  memcpy(&value, &w->s[inst->at[n]], sizeof value);
  return value;
}

static inline uint32_t quick32(const isa_wave_t *w, const isa_inst_t *inst, unsigned n,
                               unsigned registers)
{
  return registers >> n & 1 ? w->s[inst->at[n]] : (uint32_t)inst->value[n];
}

/* By the type that a row names. */
#define READ(type, n, is_mask)                                                                     \
  ((type)(sizeof(type) == 8 ? registers < ANY_SOURCES ? quick64(w, inst, n, registers, is_mask)    \
                                                      : isa_read64(w, &inst->src[n])               \
          : registers < ANY_SOURCES ? quick32(w, inst, n, registers)                               \
                                    : isa_read32(w, &inst->src[n])))
#define DESTINATION (inst->row->dst == 2 ? isa_read_s64(w, inst->dst_at) : w->s[inst->dst_at])
#define WRITE(type, value)                                                                         \
  do {                                                                                             \
    if (sizeof(type) == 8)                                                                         \
      isa_write_s64(w, inst->dst_at, value);                                                       \
    else                                                                                           \
      w->s[inst->dst_at] = (uint32_t)(value);                                                      \
  } while (0)
/* A row is a function for each kind of sources. */
#define RUN_WITH(name, registers)                                                                  \
  static bool name##_##registers(isa_wave_t *w, const isa_inst_t *inst)                            \
  {                                                                                                \
    return isa_go_on(w, inst, run_##name(w, inst, registers));                                     \
  }
#define RUN_ALL(name)                                                                              \
  RUN_WITH(name, 0)                                                                                \
  RUN_WITH(name, 1)                                                                                \
  RUN_WITH(name, 2)                                                                                \
  RUN_WITH(name, BOTH_REGISTERS)                                                                   \
  RUN_WITH(name, ANY_SOURCES)
#define ALL_RUNS(name)                                                                             \
  {                                                                                                \
    name##_0, name##_1, name##_2, name##_BOTH_REGISTERS, name##_ANY_SOURCES                        \
  }

/* The result's type follows from the expression: s_bfm_b64 makes 64 bits of two dwords. */
#define SALU_2(name, type, type_b, result, condition)                                              \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const type a = READ(type, 0, sizeof(type_b) == 8);                                             \
    const type_b b = READ(type_b, 1, true);                                                        \
    const __typeof__(result) d = (result);                                                         \
    const uint32_t scc = (uint32_t)(condition);                                                    \
    WRITE(d, d);                                                                                   \
    w->scc = scc;                                                                                  \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
#define SALU_1(name, type, type_d, result, condition)                                              \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const type a = READ(type, 0, false);                                                           \
    type_d d = (type_d)DESTINATION;                                                                \
    d = (result);                                                                                  \
    w->scc = (uint32_t)(condition);                                                                \
    WRITE(type_d, d);                                                                              \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
/* EXEC is a pair of registers there, or the low one, in waves of either width. */
#define SALU_EXEC_OF(name, type, new_exec, result)                                                 \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const type a = READ(type, 0, true);                                                            \
    type e;                                                                                        \
    memcpy(&e, isa_exec_halves(w), sizeof e);                                                      \
    const type exec = (new_exec), d = (result);                                                    \
    memcpy(isa_exec_halves(w), &exec, sizeof exec);                                                \
    w->scc = exec != 0;                                                                            \
    WRITE(type, d);                                                                                \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
#define SALU_EXEC(name, new_exec, result)                                                          \
  SALU_EXEC_OF(name##_b64, uint64_t, new_exec, result)                                             \
  SALU_EXEC_OF(name##_b32, uint32_t, new_exec, result)
#define SALU_CMP(name, type, type_b, condition)                                                    \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const type a = READ(type, 0, false);                                                           \
    const type_b b = READ(type_b, 1, false);                                                       \
    w->scc = (uint32_t)(condition);                                                                \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
#define SALU_CMPK(name, type, condition)                                                           \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const type a = (type)w->s[inst->dst_at], b = (type)inst->simm;                                 \
    (void)registers;                                                                               \
    w->scc = condition;                                                                            \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
#define SALU_K(name, result, condition)                                                            \
  INLINED bool run_##name(isa_wave_t *w, const isa_inst_t *inst, const unsigned registers)         \
  {                                                                                                \
    const uint32_t simm = (uint32_t)inst->simm, p = w->s[inst->dst_at], d = (result);              \
    (void)p, (void)registers;                                                                      \
    w->scc = (condition);                                                                          \
    w->s[inst->dst_at] = d;                                                                        \
    return true;                                                                                   \
  }                                                                                                \
  RUN_ALL(name)
#include "softgpu/isa/exec/scalar/salu_ops.inc"
#undef SALU_2
#undef SALU_1
#undef SALU_EXEC
#undef SALU_CMP
#undef SALU_CMPK
#undef SALU_K

static const struct isa_salu_op {
  uint16_t op;
  isa_run_t run_on[SOURCE_KINDS];
} ops[] = {
#define SALU_2(name, ...) {ISA_##name, ALL_RUNS(name)},
#define SALU_1(name, ...) {ISA_##name, ALL_RUNS(name)},
#define SALU_EXEC(name, ...)                                                                       \
  {ISA_##name##_b64, ALL_RUNS(name##_b64)}, {ISA_##name##_b32, ALL_RUNS(name##_b32)},
#define SALU_CMP(name, ...)  {ISA_##name, ALL_RUNS(name)},
#define SALU_CMPK(name, ...) {ISA_##name, ALL_RUNS(name)},
#define SALU_K(name, ...)    {ISA_##name, ALL_RUNS(name)},
#include "softgpu/isa/exec/scalar/salu_ops.inc"
};

/* Which sources are registers; leaves constants in inst->value. */
static unsigned find_registers(isa_inst_t *inst)
{
  unsigned registers = 0;
  for (unsigned n = 0; n < 2; ++n) {
    const isa_operand_t *source = &inst->src[n];
    if (source->kind == ISA_OPERAND_SPECIAL)
      return ANY_SOURCES;
    if (source->kind == ISA_OPERAND_SGPR)
      registers |= 1u << n, inst->at[n] = source->index;
    else if (source->kind != ISA_OPERAND_NONE)
      inst->value[n] = inst->row->src[n] == 2 ? isa_read64(NULL, source) : source->value;
  }
  return registers;
}

/* To a sum with nothing, which goes nowhere. */
static bool run_addk_of_null(isa_wave_t *w, const isa_inst_t *inst)
{
  (void)inst;
  w->scc = 0;
  return true;
}

bool isa_salu_prepare(isa_inst_t *inst, const isa_limits_t *limits)
{
  if (!isa_operand_prepare(&inst->dst, inst->row->dst, limits) ||
      !isa_operand_prepare(&inst->src[0], inst->row->src[0], limits) ||
      !isa_operand_prepare(&inst->src[1], inst->row->src[1], limits))
    return false;
  /* A 64-bit literal is zero-extended, in signed instructions sign-extended. */
  if (inst->op == ISA_s_ashr_i64 || inst->op == ISA_s_bfe_i64 || inst->op == ISA_s_flbit_i32_i64)
    inst->src[0].index |= inst->src[0].kind == ISA_OPERAND_LITERAL ? ISA_LITERAL_SIGNED : 0;
  inst->dst_at = inst->dst.index;
  if (inst->op == ISA_s_addk_i32 && inst->dst.index == ISA_NOWHERE) {
    isa_runs_alone(inst, run_addk_of_null);
    return true;
  }
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i)
    if (ops[i].op == inst->op)
      return isa_runs_on(inst, ops[i].run_on[find_registers(inst)]);
  return isa_salu_control_prepare(inst);
}
