/* The reference engine's vector ALU: one lane of one instruction at a time. */
#include <fenv.h>
#include <string.h>

#include "softgpu/isa/base/float.h"
#include "softgpu/isa/base/real.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/dot2.h"
#include "softgpu/isa/reference/reference.h"

#include "softgpu/isa/base/defined.inc"

/* Letters of types: u 32 bits, b the same whose bit 31 is a sign, h 16 bits, x the same with a
 * sign, q 64 bits, k the same signed, e f g floats of 16, 32 and 64 bits, m a mask, p w a register
 * of two integers or floats of 16 bits, y one of integers that a sign says are signed; X W bf16 as
 * x and w. Results also: c C u and q with a mask, s S f and g with
 * one. */
enum {
  CLAMPS = 1 << 0,    /* clamp saturates the integer result */
  KEEPS = 1 << 1,     /* the other half of the register stays */
  HIGH = 1 << 2,      /* the result goes to the upper half */
  BYTE = 1 << 3,      /* to the byte that op_sel bits 2 and 3 name */
  FLUSHES = 1 << 4,   /* denormals in every mode (f32: in f16 the same) */
  RAW = 1 << 5,       /* never flushes */
  MINMAX = 1 << 6,    /* IEEE mode: the first signalling NaN wins */
  OWN_NAN = 1 << 7,   /* the instruction says which NaN */
  HALVES = 1 << 8,    /* twice, for each half of the registers */
  REGISTERS = 1 << 9, /* twice, for each register of pairs */
  MIXED = 1 << 10,    /* op_sel_hi says which sources are f16 */
  TO_EXEC = 1 << 11,  /* the mask replaces exec as well */
};

typedef struct lane {
  uint64_t bits[3];
  int64_t integer[3]; /* the bits sign-extended */
  real_t number[3];
  char type[3], result_type;
  unsigned index, rounding, signed_sources;
  uint32_t mode;
  bool vcc, clamp, flushes_out, flushes_products, scales_by_exponents, has_nan;
} lane_t;

typedef struct result {
  uint64_t bits;
  real_t number;
  uint64_t nan; /* bits of a NaN number; 0: by the rule of valu.h */
  bool mask;
} result_t;

typedef struct row {
  void (*run)(const lane_t *l, result_t *r);
  const char *types;
  uint16_t flags;
} row_t;

static const real_format_t *format_of(char type)
{
  switch (type) {
  case 'e':
  case 'x':
    return &real_f16;
  case 'f':
  case 's':
    return &real_f32;
  case 'g':
  case 'S':
    return &real_f64;
  default:
    return NULL;
  }
}

static bool is_float(char type)
{
  return type != 'x' && format_of(type);
}

static unsigned width_of(char type)
{
  return strchr("hxXe", type) ? 16 : strchr("qkgCS", type) ? 64 : 32;
}

static uint64_t without_denormal(uint64_t bits, const real_format_t *format)
{
  uint64_t exponent = (((uint64_t)1 << format->exponent_bits) - 1) << format->fraction_bits;
  uint64_t sign = (uint64_t)1 << (format->exponent_bits + format->fraction_bits);
  return bits & exponent ? bits : bits & sign;
}

#include "softgpu/isa/reference/valu_helpers.inc"

/* --- the rows --- */

#define A                      (l->bits[0])
#define B                      (l->bits[1])
#define C                      (l->bits[2])
#define SA                     (l->integer[0])
#define SB                     (l->integer[1])
#define SC                     (l->integer[2])
#define X                      (l->number[0])
#define Y                      (l->number[1])
#define Z                      (l->number[2])
#define D                      value(X)
#define LANE                   (l->index)
#define VCC                    (l->vcc)
#define I(x)                   ((int64_t)(x))
#define U(x)                   ((uint64_t)(x))
#define U24(x)                 ((x)&0xffffff)
#define S24(x)                 sign_extended(x, 24)
#define BITS(e)                r->bits = (uint64_t)(e)
#define NUMBER(e)              r->number = (e)
#define MASK(e)                r->mask = (e)
#define PLUS(x, y)             real_sum(x, y, l->rounding)
#define FMA(x, y, z)           real_sum(real_product(x, y), z, l->rounding)
#define RELATION(relations)    related(X, Y, relations)
#define SATURATE(e, low, high) r->bits = (uint64_t)(l->clamp ? within(e, low, high) : (e))
#define CARRY(e, limit)                                                                            \
  BITS(e);                                                                                         \
  MASK(r->bits >> 32 & 1);                                                                         \
  if (l->clamp && r->mask)                                                                         \
  r->bits = limit

#define REF(name, types, flags, ...)                                                               \
  static void run_##name(const lane_t *l, result_t *r)                                             \
  {                                                                                                \
    (void)l;                                                                                       \
    __VA_ARGS__;                                                                                   \
  }
#include "softgpu/isa/reference/valu_table.inc"
#undef REF

static const row_t rows[ISA_OP_COUNT] = {
#define REF(name, types, flags, ...) [ISA_##name] = {run_##name, types, flags},
#include "softgpu/isa/reference/valu_table.inc"
#undef REF
};

/* --- operands --- */

enum { MASK_DWORDS = ISA_LANES / 32 };

/* The state of one instruction. */
typedef struct machine {
  const isa_wave_t *wave;
  const isa_inst_t *inst;
  const row_t *row;
  unsigned half; /* of HALVES and REGISTERS */
} machine_t;

static uint64_t selected(uint64_t value, unsigned select, bool is_signed)
{
  if (select == ISA_SEL_DWORD)
    return value;
  unsigned bits = select < ISA_SEL_WORD_0 ? 8 : 16;
  unsigned first = select < ISA_SEL_WORD_0 ? select * 8 : (select - ISA_SEL_WORD_0) * 16;
  uint64_t part = value >> first & ((1u << bits) - 1);
  return is_signed ? (uint64_t)sign_extended(part, bits) & UINT32_MAX : part;
}

/* Source n of a lane as it stands in registers, or the constant of its type. */
static uint64_t raw_source(const machine_t *m, unsigned n, char type, unsigned lane)
{
  const isa_operand_t *operand = &m->inst->src[n];
  const bool is_wide = width_of(type) == 64, is_packed = m->inst->encoding == ISA_VOP3P;
  unsigned pair =
      m->row->flags & REGISTERS ? (m->half ? m->inst->vop.op_sel_hi : m->inst->vop.op_sel) : 0;
  unsigned second = pair >> n & 1;
  if (type == 'm')
    return isa_reference_scalar(m->wave, operand, MASK_DWORDS, 0) >> lane & 1;
  if (isa_reference_is_vector(operand)) {
    unsigned rows = is_wide || m->row->flags & REGISTERS ? 2 : 1;
    uint64_t low = isa_reference_register(m->wave, operand, (int)n, rows, second, lane);
    return is_wide
               ? low | (uint64_t)isa_reference_register(m->wave, operand, (int)n, 2, 1, lane) << 32
               : low;
  }
  if (operand->kind == ISA_OPERAND_SGPR && second)
    return m->wave->s[operand->index + 1];
  if (operand->kind == ISA_OPERAND_LITERAL && type == 'g')
    return (uint64_t)operand->value << 32;
  if (operand->kind == ISA_OPERAND_LITERAL && type == 'k')
    return (uint64_t)(int64_t)(int32_t)operand->value;
  const bool is_bf16 = type == 'X' || type == 'W',
             is_float_code = operand->index >= ISA_CODE_FLOATS;
  if (is_bf16 && operand->kind == ISA_OPERAND_INLINE && is_float_code)
    return isa_reference_scalar(m->wave, operand, 1, 32) >> 16;
  unsigned float_bits = is_wide ? 64 : type == 'w' ? 16 : width_of(type);
  if (is_packed && type == 'h') /* packed integers get the f32 constants */
    float_bits = 32;
  return isa_reference_scalar(m->wave, operand, is_wide ? 2 : 1, float_bits);
}

/* Which half of its register a 16-bit source is, and its signs. */
typedef struct modifiers {
  bool high, absolute, negative;
} modifiers_t;

static modifiers_t modifiers_of(const machine_t *m, unsigned n)
{
  const isa_inst_t *inst = m->inst;
  modifiers_t out = {inst->vop.op_sel >> n & 1, inst->vop.abs >> n & 1, inst->vop.neg >> n & 1};
  if (inst->src[n].half)
    out.high = inst->src[n].half == ISA_HIGH_HALF;
  if (m->row->flags & MIXED) {
    out.high = inst->vop.op_sel >> n & 1;
    out.absolute = inst->vop.neg_hi >> n & 1;
  } else if (inst->encoding == ISA_VOP3P) {
    out.high = (m->half ? inst->vop.op_sel_hi : inst->vop.op_sel) >> n & 1;
    out.negative = (m->half ? inst->vop.neg_hi : inst->vop.neg) >> n & 1;
  } else if (m->row->flags & HALVES) {
    out.high = m->half;
  }
  return out;
}

/* Both halves of a register that the instruction takes whole. */
static uint64_t arranged(const machine_t *m, unsigned n, char type, uint64_t value)
{
  const isa_inst_t *inst = m->inst;
  if (inst->encoding != ISA_VOP3P) { /* DPP: a sign of the whole register */
    value = inst->vop.abs >> n & 1 ? value & 0x7fffffff : value;
    return inst->vop.neg >> n & 1 ? value ^ 0x80000000 : value;
  }
  uint64_t low = value >> (inst->vop.op_sel >> n & 1) * 16 & 0xffff;
  uint64_t high = value >> (inst->vop.op_sel_hi >> n & 1) * 16 & 0xffff;
  if (type != 'p') {
    low ^= (inst->vop.neg >> n & 1u) << 15;
    high ^= (inst->vop.neg_hi >> n & 1u) << 15;
  }
  return low | high << 16;
}

static bool keeps_denormals(const machine_t *m, char type, bool is_output)
{
  if (m->row->flags & FLUSHES)
    return false;
  unsigned field = type == 'f' || type == 's' ? m->wave->mode >> 4 : m->wave->mode >> 6;
  return m->row->flags & RAW || (field >> is_output & 1);
}

/* Source n of a lane, complete. */
static void take_source(const machine_t *m, lane_t *l, unsigned n, unsigned from)
{
  char type = m->row->types[n + 2];
  if (m->row->flags & MIXED)
    type = m->inst->vop.op_sel_hi >> n & 1 ? 'e' : 'f';
  uint64_t value = raw_source(m, n, type, from);
  if (m->inst->vop.has_sdwa && n < 2)
    value = selected(value, m->inst->vop.sdwa.src_sel[n], m->inst->vop.sdwa.sext[n]);
  modifiers_t modifiers = modifiers_of(m, n);
  unsigned width = width_of(type);
  if (width == 16 || m->inst->src[n].half)
    value = value >> (modifiers.high ? 16 : 0) & 0xffff;
  if (strchr("wWp", type))
    value = arranged(m, n, type, value);
  else if (strchr("bxXefg", type)) {
    uint64_t sign = (uint64_t)1 << (width - 1);
    value = modifiers.absolute ? value & ~sign : value;
    value = modifiers.negative ? value ^ sign : value;
  }
  if (is_float(type) && !keeps_denormals(m, type, false))
    value = without_denormal(value, format_of(type));
  l->type[n] = type;
  l->bits[n] = value;
  l->integer[n] = type == 'm' ? (int64_t)value : sign_extended(value, width);
  if (is_float(type))
    l->number[n] = real_of(value, format_of(type));
  l->has_nan |= is_float(type) && l->number[n].kind == REAL_NAN;
}

/* --- results --- */

/* The first NaN among the sources, quieted, in the result's format: the rule of valu.h. */
static uint64_t nan_of(const lane_t *l, const real_format_t *to)
{
  uint64_t quiet_bit = (uint64_t)1 << (to->fraction_bits - 1);
  uint64_t infinity = (((uint64_t)1 << to->exponent_bits) - 1) << to->fraction_bits;
  for (unsigned n = 0; n < 3; ++n) {
    const real_format_t *from = is_float(l->type[n]) ? format_of(l->type[n]) : NULL;
    if (!from || l->number[n].kind != REAL_NAN)
      continue;
    uint64_t payload = l->bits[n] & (((uint64_t)1 << from->fraction_bits) - 1);
    payload = payload << (52 - from->fraction_bits) >> (52 - to->fraction_bits);
    uint64_t sign = l->number[n].negative;
    return sign << (to->exponent_bits + to->fraction_bits) | infinity | quiet_bit | payload;
  }
  return infinity | quiet_bit;
}

static uint64_t signalling_nan(const lane_t *l)
{
  for (unsigned n = 0; n < 3; ++n) {
    const real_format_t *format = is_float(l->type[n]) ? format_of(l->type[n]) : NULL;
    uint64_t quiet_bit = format ? (uint64_t)1 << (format->fraction_bits - 1) : 0;
    if (format && l->number[n].kind == REAL_NAN && !(l->bits[n] & quiet_bit))
      return l->bits[n] | quiet_bit;
  }
  return 0;
}

static bool has_output_modifier(const machine_t *m, const lane_t *l)
{
  unsigned field = strchr("fs", l->result_type) ? m->wave->mode >> 4 : m->wave->mode >> 6;
  return m->inst->vop.omod && !(field & 2) && !(m->wave->mode & ISA_MODE_IEEE);
}

/* Dot products of GFX11 do not look at it: programs that set it are right on hardware. */
static bool clamps(const machine_t *m)
{
  return m->inst->vop.clamp && m->inst->op != ISA_v_dot2_f32_f16_cut &&
         m->inst->op != ISA_v_dot2_f32_bf16_cut;
}

/* Output modifier and clamp. */
static real_t modified(const machine_t *m, const lane_t *l, real_t x, bool *clears_nan)
{
  static const int powers[] = {0, 1, 2, -1};
  bool has_omod = has_output_modifier(m, l);
  *clears_nan = clamps(m) && m->wave->mode & ISA_MODE_DX10_CLAMP;
  if (has_omod)
    x = real_scaled(x, powers[m->inst->vop.omod]);
  if (has_omod && l->result_type != 'e') {
    const real_format_t *format = format_of(l->result_type);
    x = x.kind == REAL_FINITE ? real_of(real_bits(x, format, REAL_NEAREST), format) : x;
  }
  if (clamps(m) && real_compare(x, real_of_integer(0)) == -1)
    return real_of_integer(0);
  if (clamps(m) && real_compare(x, real_of_integer(1)) == 1)
    return real_of_integer(1);
  return x;
}

/* From the exact result to the bits of the destination. */
static uint64_t finished(const machine_t *m, const lane_t *l, const result_t *r)
{
  const real_format_t *format = format_of(l->result_type);
  real_t x = r->number;
  uint64_t nan = x.kind != REAL_NAN ? 0 : r->nan ? r->nan : nan_of(l, format);
  if (m->row->flags & MINMAX && m->wave->mode & ISA_MODE_IEEE && signalling_nan(l))
    nan = signalling_nan(l);
  /* What the modifiers see of an f16 is not rounded yet. */
  unsigned rounding = l->rounding;
  if (!nan && l->result_type != 'e' && (m->inst->vop.omod || clamps(m))) {
    x = real_of(real_bits(x, format, rounding), format);
    rounding = REAL_NEAREST;
  }
  bool clears_nan;
  x = modified(m, l, x, &clears_nan);
  if (nan)
    return clears_nan ? 0 : nan;
  uint64_t bits = real_bits(x, format, rounding), infinity = 0x7c00;
  bool limits = m->wave->mode & ISA_MODE_FP16_OVFL && l->result_type == 'e';
  if (limits && x.kind == REAL_FINITE && (bits & 0x7fff) == infinity)
    --bits;
  if (l->flushes_out)
    bits = without_denormal(bits, format);
  const uint64_t sign = (uint64_t)1 << (format->exponent_bits + format->fraction_bits);
  return has_output_modifier(m, l) && bits == sign ? 0 : bits; /* which makes -0 +0 */
}

static uint64_t run_lane(const machine_t *m, unsigned index, int from, bool *mask)
{
  const char result_type = m->row->types[0];
  lane_t l = {.index = index, .mode = m->wave->mode, .result_type = result_type};
  unsigned field = result_type == 'f' || result_type == 's' ? 0 : 2;
  l.rounding = m->wave->mode >> field & 3;
  l.flushes_products = isa_chip(m->inst->chip)->flushes_products;
  l.scales_by_exponents = isa_chip(m->inst->chip)->scales_by_exponents;
  l.clamp = clamps(m);
  l.signed_sources = m->inst->vop.neg;
  l.vcc = isa_vcc(m->wave) >> index & 1;
  l.flushes_out = is_float(result_type) && !keeps_denormals(m, result_type, true);
  for (unsigned n = 0; m->row->types[n + 2]; ++n) {
    take_source(m, &l, n, n == 0 && from >= 0 ? (unsigned)from : index);
    if (n == 0 && from < 0) { /* DPP without a lane to read: 0, signs applied */
      machine_t zero = *m;
      isa_inst_t inst = *m->inst;
      inst.src[0] = (isa_operand_t){.kind = ISA_OPERAND_INLINE, .index = ISA_CODE_ZERO};
      zero.inst = &inst;
      take_source(&zero, &l, 0, index);
    }
  }
  result_t r = {0};
  m->row->run(&l, &r);
  *mask = r.mask;
  return is_float(result_type) ? finished(m, &l, &r) : r.bits;
}

/* What of the register a narrow result leaves. */
static uint32_t placed(const machine_t *m, uint32_t old, uint32_t value)
{
  const isa_inst_t *inst = m->inst;
  const bool is_half = width_of(m->row->types[0]) == 16;
  const unsigned flags = m->row->flags;
  if (inst->vop.has_sdwa && inst->vop.sdwa.dst_sel != ISA_SEL_DWORD) {
    unsigned select = inst->vop.sdwa.dst_sel, bits = select < ISA_SEL_WORD_0 ? 8 : 16;
    unsigned first = select < ISA_SEL_WORD_0 ? select * 8 : (select - ISA_SEL_WORD_0) * 16;
    uint32_t field = (uint32_t)(((1ull << bits) - 1) << first), part = value << first & field;
    if (inst->vop.sdwa.dst_unused == 2)
      return (old & ~field) | part;
    if (inst->vop.sdwa.dst_unused == 1)
      return (uint32_t)sign_extended(value, bits) << first;
    return part;
  }
  if (flags & BYTE) {
    unsigned first = (inst->vop.op_sel >> 2 & 3) * 8;
    return (old & ~(255u << first)) | (value & 255) << first;
  }
  if (is_half && (flags & HIGH || inst->dst.half == ISA_HIGH_HALF ||
                  (inst->encoding == ISA_VOP3 && inst->vop.op_sel & 8)))
    return (old & 0xffff) | value << 16;
  /* SDWA says itself what it writes: here the whole dword. */
  const bool keeps = isa_chip(inst->chip)->keeps_halves && !inst->vop.has_sdwa;
  if (is_half && (flags & KEEPS || keeps))
    return (old & 0xffff0000) | value;
  return value;
}

/* The first row of the destination, NULL when s_set_gpr_idx moves it beyond the registers. */
static isa_row_t *destination(const machine_t *m, unsigned rows)
{
  const isa_operand_t *dst = &m->inst->dst;
  if (dst->kind == ISA_OPERAND_AGPR)
    return &m->wave->a[dst->index];
  unsigned index = dst->index + (m->wave->gpr_index_mode & 8 ? m->wave->s[ISA_M0] & 255 : 0);
  return index + rows <= m->wave->vgprs ? &m->wave->v[index] : NULL;
}

static uint64_t run_whole_lane(machine_t *m, unsigned lane, int from, bool *mask)
{
  m->half = 0;
  uint64_t value = run_lane(m, lane, from, mask);
  if (m->row->flags & (HALVES | REGISTERS)) {
    m->half = 1;
    value = m->row->flags & HALVES ? value & 0xffff : value & UINT32_MAX;
    value |= run_lane(m, lane, from, mask) << (m->row->flags & HALVES ? 16 : 32);
  }
  return value;
}

/* --- what it runs --- */

static bool allows_source(const machine_t *m, unsigned n, char type)
{
  const isa_inst_t *inst = m->inst;
  const isa_operand_t *operand = &inst->src[n];
  const bool is_pair = width_of(type) == 64 || m->row->flags & REGISTERS;
  const unsigned dwords = type == 'm' ? MASK_DWORDS : is_pair ? 2 : 1;
  const bool has_sign = (inst->vop.abs | inst->vop.neg | inst->vop.neg_hi) >> n & 1;
  return isa_reference_has(m->wave, operand, dwords) &&
         !(type == 'm' && isa_reference_is_vector(operand)) &&
         (!has_sign || strchr("bxXwWyefg", type));
}

/* Before GFX11 no document says what a bf16 is by the codes of f32 constants, and none what an
 * output modifier makes of two results. */
static bool is_clear(const isa_inst_t *inst)
{
  const char *name = isa_op_name(inst->op);
  const bool has_codes = strchr(rows[inst->op].types, 'W');
  const char *takes_bf16 = strstr(name, strstr(name, "dot2") ? "_bf16" : "_f32_bf16");
  if (strstr(name, "v_cvt_pk_") && strstr(name, "f16_f32"))
    return !inst->vop.omod;
  for (unsigned n = 0; takes_bf16 && !has_codes && n < 2; ++n)
    if (inst->src[n].kind == ISA_OPERAND_INLINE && inst->src[n].index >= ISA_CODE_FLOATS)
      return false;
  return true;
}

bool isa_reference_allows_valu(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const machine_t m = {.wave = wave, .inst = inst, .row = &rows[inst->op]};
  if (!m.row->run)
    return false;
  const char type = m.row->types[0];
  const size_t sources = strlen(m.row->types) - 2;
  for (unsigned n = 0; n < 3; ++n)
    if (n < sources ? !allows_source(&m, n, m.row->types[n + 2])
                    : inst->src[n].kind != ISA_OPERAND_NONE)
      return false;
  const bool is_mask = type == 'm', has_mask = strchr("mcCsS", type);
  const isa_operand_t *mask = is_mask && !inst->sdst.kind ? &inst->dst : &inst->sdst;
  if (has_mask ? mask->kind != ISA_OPERAND_SGPR || !isa_reference_has(wave, mask, MASK_DWORDS)
               : inst->sdst.kind != ISA_OPERAND_NONE)
    return false;
  const bool is_pair = width_of(type) == 64 || m.row->flags & REGISTERS;
  if (!is_mask && !(isa_reference_is_vector(&inst->dst) &&
                    isa_reference_has(wave, &inst->dst, is_pair ? 2 : 1)))
    return false;
  if (inst->vop.clamp && !(is_float(type) || m.row->flags & CLAMPS || is_mask || type == 'c'))
    return false;
  return (!inst->vop.has_dpp || isa_reference_allows_dpp(inst)) && is_clear(inst);
}

/* Bits of lanes that there are not are 0. */
static void put_mask(isa_wave_t *wave, const isa_inst_t *inst, uint64_t mask)
{
  if (!(inst->row->flags & ISA_F_ONLY_EXEC))
    isa_reference_write(wave, inst->sdst.kind ? &inst->sdst : &inst->dst, MASK_DWORDS, mask);
}

uint64_t isa_reference_valu_lane(const isa_wave_t *wave, const isa_inst_t *inst, bool *mask)
{
  const machine_t m = {.wave = wave, .inst = inst, .row = &rows[inst->op]};
  return run_lane(&m, 0, 0, mask);
}

/* The two instructions of a VOPD. */
static void halves_of(const isa_inst_t *inst, isa_inst_t halves[2])
{
  for (unsigned n = 0; n < 2; ++n) {
    halves[n] = *inst;
    halves[n].encoding = ISA_VOP2;
    halves[n].vop = (isa_vop_t){0};
  }
  halves[1].op = inst->vopd.row->op;
  halves[1].row = inst->vopd.row;
  halves[1].dst = inst->vopd.dst;
  memcpy(halves[1].src, inst->vopd.src, sizeof inst->vopd.src);
}

bool isa_reference_allows_dual(const isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_inst_t halves[2];
  halves_of(inst, halves);
  return isa_reference_allows_valu(wave, &halves[0]) && isa_reference_allows_valu(wave, &halves[1]);
}

/* Both read before either writes. */
bool isa_reference_dual(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_inst_t halves[2];
  uint32_t values[2][ISA_LANES];
  bool mask;
  halves_of(inst, halves);
  for (unsigned n = 0; n < 2; ++n) {
    const machine_t m = {.wave = wave, .inst = &halves[n], .row = &rows[halves[n].op]};
    ISA_EACH_LANE(lane, isa_exec(wave))
      values[n][lane] = (uint32_t)run_lane(&m, lane, (int)lane, &mask);
  }
  for (unsigned n = 0; n < 2; ++n)
    ISA_EACH_LANE(lane, isa_exec(wave))
      wave->v[halves[n].dst.index][lane] = values[n][lane];
  return true;
}

bool isa_reference_valu(isa_wave_t *wave, const isa_inst_t *inst)
{
  isa_inst_t moved;
  if (isa_reference_lanes(wave, inst))
    return true;
  if (isa_reference_moves(wave, inst, &moved))
    inst = &moved;
  if (isa_reference_wmma(wave, inst))
    return true;
#if ISA_LANES == 64
  if (isa_reference_matrix(wave, inst) || isa_reference_gfx950(wave, inst))
    return true;
#endif
  machine_t m = {.wave = wave, .inst = inst, .row = &rows[inst->op]};
  const char type = m.row->types[0];
  const bool is_mask = type == 'm', is_wide = width_of(type) == 64 || m.row->flags & REGISTERS;
  uint64_t values[ISA_LANES], mask = 0, writes = 0;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) { /* all are read before any is written */
    int from;
    bool set = false;
    if (!isa_reference_takes_part(wave, inst, lane, &from))
      continue;
    values[lane] = run_whole_lane(&m, lane, from, &set);
    writes |= 1ull << lane;
    mask |= (uint64_t)set << lane;
  }
  isa_row_t *d = is_mask ? NULL : destination(&m, is_wide ? 2 : 1);
  for (unsigned lane = 0; d && lane < ISA_LANES; ++lane) {
    if (!(writes >> lane & 1))
      continue;
    uint32_t low = (uint32_t)values[lane];
    if (width_of(type) == 16 && !(m.row->flags & HALVES))
      low &= 0xffff;
    d[0][lane] = m.row->flags & HALVES ? low : placed(&m, d[0][lane], low);
    if (is_wide)
      d[1][lane] = (uint32_t)(values[lane] >> 32);
  }
  if (strchr("mcCsS", type))
    put_mask(wave, inst, mask);
  if (m.row->flags & TO_EXEC)
    isa_set_exec(wave, mask);
  return true;
}
