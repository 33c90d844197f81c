/* The reference engine's scalar instructions: one switch, bit by bit where that is plainer. */
#include "softgpu/isa/reference/reference.h"

#include "softgpu/isa/describe/opcodes.h"

typedef struct scalar {
  isa_wave_t *wave;
  const isa_inst_t *inst;
  uint64_t a, b, d; /* sources, and the destination before and after */
  int64_t sa, sb;   /* sign-extended from their width */
  bool writes;      /* d is the result */
  bool by_result;   /* scc := d is not 0 */
} scalar_t;

static uint64_t mask_of(unsigned bits)
{
  return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static int64_t extended(uint64_t value, unsigned bits)
{
  uint64_t sign = 1ull << (bits - 1);
  return (int64_t)(((value & mask_of(bits)) ^ sign) - sign);
}

static unsigned ones(uint64_t value)
{
  unsigned count = 0;
  for (; value; value &= value - 1)
    ++count;
  return count;
}

/* The number of the first bit of `size` that is `wanted`, from the bottom or from the top. */
static uint32_t first(uint64_t value, unsigned size, bool wanted, bool from_top)
{
  for (unsigned i = 0; i < size; ++i)
    if ((value >> (from_top ? size - 1 - i : i) & 1) == wanted)
      return i;
  return UINT32_MAX;
}

/* Bits `width` of value from `offset` on; of a signed field the last one goes on for ever. */
static uint64_t field_of(uint64_t value, unsigned size, uint64_t where, bool is_signed)
{
  unsigned offset = (unsigned)where & (size - 1), width = where >> 16 & 127;
  uint64_t out = 0, last = 0;
  for (unsigned i = 0; i < size; ++i) {
    unsigned at = offset + i;
    uint64_t bit = at < size ? value >> at & 1 : is_signed ? value >> (size - 1) & 1 : 0;
    if (i < width)
      last = bit;
    out |= (i < width ? bit : is_signed && width ? last : 0) << i;
  }
  return out;
}

static uint64_t mapped(uint64_t value, unsigned size, char how)
{
  uint64_t out = 0;
  for (unsigned i = 0; i < size; ++i) {
    bool quad = value >> (i & ~3u) & 15;
    switch (how) {
    case 'r': /* reversed */
      out |= (value >> i & 1) << (size - 1 - i);
      break;
    case 'w': /* whole quads */
      out |= (uint64_t)quad << i;
      break;
    default: /* one bit a quad */
      out |= i % 4 ? 0 : (uint64_t)quad << i / 4;
      break;
    }
  }
  return out;
}

static void result(scalar_t *s, uint64_t d)
{
  s->d = d;
  s->writes = true;
}

static void result_scc(scalar_t *s, uint64_t d, bool scc)
{
  result(s, d);
  s->wave->scc = scc;
}

static void result_nonzero(scalar_t *s, uint64_t d)
{
  result(s, d);
  s->by_result = true;
}

static bool fits(int64_t value)
{
  return value >= INT32_MIN && value <= INT32_MAX;
}

/* SOP2. False when it is not one. */
static bool run_sop2(scalar_t *s)
{
  const uint64_t a = s->a, b = s->b, c = s->wave->scc;
  const unsigned width = s->inst->row->dst == 2 ? 64 : 32, shift = (unsigned)b & (width - 1);
  switch (s->inst->op) {
    ONE(s_add_u32) : return result_scc(s, a + b, (a + b) >> 32), true;
    ONE(s_sub_u32) : return result_scc(s, a - b, b > a), true;
    ONE(s_addc_u32) : return result_scc(s, a + b + c, (a + b + c) >> 32), true;
    ONE(s_subb_u32) : return result_scc(s, a - b - c, b + c > a), true;
    ONE(s_add_i32) : return result_scc(s, a + b, !fits(s->sa + s->sb)), true;
    ONE(s_sub_i32) : return result_scc(s, a - b, !fits(s->sa - s->sb)), true;
    ONE(s_min_i32) : return result_scc(s, s->sa < s->sb ? a : b, s->sa < s->sb), true;
    ONE(s_max_i32) : return result_scc(s, s->sa > s->sb ? a : b, s->sa > s->sb), true;
    ONE(s_min_u32) : return result_scc(s, a < b ? a : b, a < b), true;
    ONE(s_max_u32) : return result_scc(s, a > b ? a : b, a > b), true;
    BOTH(s_cselect) : return result(s, c ? a : b), true;
    BOTH(s_and) : return result_nonzero(s, a & b), true;
    BOTH(s_or) : return result_nonzero(s, a | b), true;
    BOTH(s_xor) : return result_nonzero(s, a ^ b), true;
    BOTH(s_andn2) : return result_nonzero(s, a & ~b), true;
    BOTH(s_orn2) : return result_nonzero(s, a | ~b), true;
    BOTH(s_nand) : return result_nonzero(s, ~(a & b)), true;
    BOTH(s_nor) : return result_nonzero(s, ~(a | b)), true;
    BOTH(s_xnor) : return result_nonzero(s, ~(a ^ b)), true;
    BOTH(s_lshl) : return result_nonzero(s, a << shift), true;
    BOTH(s_lshr) : return result_nonzero(s, a >> shift), true;
  case ISA_s_ashr_i32:
    ONE(s_ashr_i64) : return result_nonzero(s, (uint64_t)(s->sa >> shift)), true;
    BOTH(s_bfm) : return result(s, mask_of((unsigned)a & (width - 1)) << shift), true;
  case ISA_s_bfe_u32:
    ONE(s_bfe_u64) : return result_nonzero(s, field_of(a, width, b, false)), true;
  case ISA_s_bfe_i32:
    ONE(s_bfe_i64) : return result_nonzero(s, field_of(a, width, b, true)), true;
    ONE(s_mul_i32) : return result(s, a * b), true;
    ONE(s_mul_hi_u32) : return result(s, a * b >> 32), true;
    ONE(s_mul_hi_i32) : return result(s, (uint64_t)(s->sa * s->sb) >> 32), true;
  case ISA_s_absdiff_i32: {
    int64_t difference = extended(a - b, 32);
    return result_nonzero(s, (uint64_t)(difference < 0 ? -difference : difference)), true;
  }
  case ISA_s_lshl1_add_u32:
  case ISA_s_lshl2_add_u32:
  case ISA_s_lshl3_add_u32:
  case ISA_s_lshl4_add_u32: {
    uint64_t sum = a * (2u << (s->inst->op == ISA_s_lshl1_add_u32   ? 0
                               : s->inst->op == ISA_s_lshl2_add_u32 ? 1
                               : s->inst->op == ISA_s_lshl3_add_u32 ? 2
                                                                    : 3)) +
                   b;
    return result_scc(s, sum, sum >> 32), true;
  }
    ONE(s_pack_ll_b32_b16) : return result(s, (a & 0xffff) | (b & 0xffff) << 16), true;
    ONE(s_pack_lh_b32_b16) : return result(s, (a & 0xffff) | b >> 16 << 16), true;
    ONE(s_pack_hl_b32_b16) : return result(s, a >> 16 | (b & 0xffff) << 16), true;
    ONE(s_pack_hh_b32_b16) : return result(s, a >> 16 | b >> 16 << 16), true;
  default:
    return false;
  }
}

static bool run_sop1(scalar_t *s)
{
  const uint64_t a = s->a, d = s->d;
  const unsigned width = s->inst->row->src[0] == 2 ? 64 : 32;
  const unsigned bit = (unsigned)a & (s->inst->row->dst == 2 ? 63 : 31);
  switch (s->inst->op) {
    BOTH(s_mov) : return result(s, a), true;
    BOTH(s_cmov) : return result(s, s->wave->scc ? a : d), true;
    BOTH(s_not) : return result_nonzero(s, ~a), true;
    BOTH(s_wqm) : return result_nonzero(s, mapped(a, width, 'w')), true;
    BOTH(s_quadmask) : return result_nonzero(s, mapped(a, width, 'q')), true;
    BOTH(s_brev) : return result(s, mapped(a, width, 'r')), true;
    BOTH(s_bcnt0_i32) : return result_nonzero(s, width - ones(a)), true;
    BOTH(s_bcnt1_i32) : return result_nonzero(s, ones(a)), true;
    BOTH(s_ff0_i32) : return result(s, first(a, width, false, false)), true;
    BOTH(s_ff1_i32) : return result(s, first(a, width, true, false)), true;
    BOTH(s_flbit_i32) : return result(s, first(a, width, true, true)), true;
  case ISA_s_flbit_i32:
    ONE(s_flbit_i32_i64) : return result(s, first(a, width, s->sa >= 0, true)), true;
    ONE(s_sext_i32_i8) : return result(s, (uint64_t)extended(a, 8)), true;
    ONE(s_sext_i32_i16) : return result(s, (uint64_t)extended(a, 16)), true;
    BOTH(s_bitset0) : return result(s, d & ~(1ull << bit)), true;
    BOTH(s_bitset1) : return result(s, d | 1ull << bit), true;
    ONE(s_abs_i32) : return result_nonzero(s, (uint64_t)(s->sa < 0 ? -s->sa : s->sa)), true;
  case ISA_s_bitreplicate_b64_b32: {
    uint64_t out = 0;
    for (unsigned i = 0; i < 64; ++i)
      out |= (a >> i / 2 & 1) << i;
    return result(s, out), true;
  }
  default:
    return false;
  }
}

/* EXEC as the registers that it is: of a _b64 both, whatever waves are. */
static const isa_operand_t exec_registers = {.kind = ISA_OPERAND_SGPR, .index = ISA_EXEC};

/* New exec from the source and exec; the destination receives the old one, or the new one too. */
static bool put_exec(scalar_t *s, uint64_t exec, bool keeps_old)
{
  const unsigned dwords = s->inst->row->dst;
  const uint64_t old = isa_reference_scalar(s->wave, &exec_registers, dwords, 64);
  exec &= mask_of(32 * dwords);
  isa_reference_write(s->wave, &exec_registers, dwords, exec);
  result_scc(s, keeps_old ? old : exec, exec != 0);
  return true;
}

/* False when it is none of these. */
static bool run_exec(scalar_t *s)
{
  const uint64_t a = s->a;
  const uint64_t e = isa_reference_scalar(s->wave, &exec_registers, s->inst->row->dst, 64);
  switch (s->inst->op) {
    BOTH(s_and_saveexec) : return put_exec(s, a & e, true);
    BOTH(s_or_saveexec) : return put_exec(s, a | e, true);
    BOTH(s_xor_saveexec) : return put_exec(s, a ^ e, true);
    BOTH(s_nand_saveexec) : return put_exec(s, ~(a & e), true);
    BOTH(s_nor_saveexec) : return put_exec(s, ~(a | e), true);
    BOTH(s_xnor_saveexec) : return put_exec(s, ~(a ^ e), true);
    BOTH(s_andn1_saveexec) : return put_exec(s, ~a & e, true);
    BOTH(s_andn2_saveexec) : return put_exec(s, a & ~e, true);
    BOTH(s_orn1_saveexec) : return put_exec(s, ~a | e, true);
    BOTH(s_orn2_saveexec) : return put_exec(s, a | ~e, true);
    BOTH(s_andn1_wrexec) : return put_exec(s, ~a & e, false);
    BOTH(s_andn2_wrexec) : return put_exec(s, a & ~e, false);
  default:
    return false;
  }
}

enum { RELATION_EQ, RELATION_LG, RELATION_GT, RELATION_GE, RELATION_LT, RELATION_LE };

static bool holds(unsigned relation, int64_t a, int64_t b)
{
  const bool all[] = {a == b, a != b, a > b, a >= b, a < b, a <= b};
  return all[relation];
}

/* SOPC, and SOPK that compares the destination with the immediate. */
static bool run_compare(scalar_t *s)
{
  static const struct {
    uint16_t op;
    uint8_t relation;
    char type; /* i and u of 32 bits, q of 64; I U with an immediate */
  } compares[] = {
#define RELATIONS(prefix, suffix, type)                                                            \
  {ISA_##prefix##_eq_##suffix, RELATION_EQ, type},                                                 \
      {ISA_##prefix##_lg_##suffix, RELATION_LG, type},                                             \
      {ISA_##prefix##_gt_##suffix, RELATION_GT, type},                                             \
      {ISA_##prefix##_ge_##suffix, RELATION_GE, type},                                             \
      {ISA_##prefix##_lt_##suffix, RELATION_LT, type},                                             \
      {ISA_##prefix##_le_##suffix, RELATION_LE, type},
      RELATIONS(s_cmp, i32, 'i') RELATIONS(s_cmp, u32, 'u') RELATIONS(s_cmpk, i32, 'I')
          RELATIONS(s_cmpk, u32, 'U'){ISA_s_cmp_eq_u64, RELATION_EQ, 'q'},
      {ISA_s_cmp_lg_u64, RELATION_LG, 'q'},
  };
  uint32_t *scc = &s->wave->scc;
  switch (s->inst->op) {
    ONE(s_bitcmp0_b32) : return *scc = !(s->a >> s->b % 32 & 1), true;
    ONE(s_bitcmp1_b32) : return *scc = s->a >> s->b % 32 & 1, true;
    ONE(s_bitcmp0_b64) : return *scc = !(s->a >> s->b % 64 & 1), true;
    ONE(s_bitcmp1_b64) : return *scc = s->a >> s->b % 64 & 1, true;
  default:
    break;
  }
  for (unsigned i = 0; i < sizeof compares / sizeof *compares; ++i) {
    if (compares[i].op != s->inst->op)
      continue;
    const uint32_t d = (uint32_t)s->d;
    switch (compares[i].type) {
    case 'I':
      return *scc = holds(compares[i].relation, (int32_t)d, s->inst->simm), true;
    case 'U':
      return *scc = holds(compares[i].relation, d, (uint32_t)s->inst->simm), true;
    case 'u':
      return *scc = holds(compares[i].relation, (int64_t)s->a, (int64_t)s->b), true;
    default:
      return *scc = holds(compares[i].relation, s->sa, s->sb), true;
    }
  }
  return false;
}

static bool run_sopk(scalar_t *s)
{
  const int64_t simm = s->inst->simm, d = extended(s->d, 32);
  switch (s->inst->op) {
    ONE(s_movk_i32) : return result(s, (uint64_t)simm), true;
    ONE(s_cmovk_i32) : return result(s, s->wave->scc ? (uint64_t)simm : s->d), true;
    ONE(s_addk_i32) : return result_scc(s, (uint64_t)(d + simm), !fits(d + simm)), true;
    ONE(s_mulk_i32) : return result(s, (uint64_t)(d * simm)), true;
  default:
    return false;
  }
}

bool isa_reference_salu(isa_wave_t *wave, const isa_inst_t *inst)
{
  const isa_opcode_t *row = inst->row;
  bool found, ok = isa_reference_control(wave, inst, &found);
  if (found)
    return ok;
  if (isa_reference_salu_float(wave, inst))
    return true;
  scalar_t s = {.wave = wave, .inst = inst};
  unsigned widths[2] = {row->src[0] == 2 ? 64 : 32, row->src[1] == 2 ? 64 : 32};
  s.a = isa_reference_scalar(wave, &inst->src[0], widths[0] / 32, widths[0]);
  s.b = isa_reference_scalar(wave, &inst->src[1], widths[1] / 32, widths[1]);
  /* A 64-bit literal of a signed instruction is sign-extended. */
  bool is_signed =
      inst->op == ISA_s_ashr_i64 || inst->op == ISA_s_bfe_i64 || inst->op == ISA_s_flbit_i32_i64;
  if (is_signed && inst->src[0].kind == ISA_OPERAND_LITERAL)
    s.a = (uint64_t)extended(s.a, 32);
  s.sa = extended(s.a, widths[0]);
  s.sb = extended(s.b, widths[1]);
  if (inst->dst.kind == ISA_OPERAND_SGPR)
    s.d = isa_reference_scalar(wave, &inst->dst, row->dst, 32);
  if (!run_sop2(&s) && !run_sop1(&s) && !run_exec(&s) && !run_compare(&s) && !run_sopk(&s))
    return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  if (!s.writes)
    return true;
  if (row->dst == 1)
    s.d &= UINT32_MAX;
  isa_reference_write(wave, &inst->dst, row->dst, s.d);
  if (s.by_result)
    wave->scc = s.d != 0;
  return true;
}
