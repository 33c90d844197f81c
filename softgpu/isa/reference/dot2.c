/* Dot products of two pairs of f16 or bf16 as GFX11 has them, in the reference engine: measured by
 * rocjitsu's authors and users on gfx1100 and gfx1151 (ROCm/rocm-systems, issue 12056). Products
 * are exact; all terms are cut to one grid before they are added. */
#include "softgpu/isa/reference/dot2.h"
#include "softgpu/isa/base/real.h"

enum { QUIET_BIT = 0x400000, INVALID = 0xffc00000, FACTOR_IS_NAN = 0xffc00a3d };

/* The first that holds of: a factor is NaN, an infinity meets its opposite or 0, the third is NaN,
 * something is infinite. In f32, 0 for finite terms. */
static uint32_t special(const real_t factors[4], const real_t products[2], real_t third,
                        uint32_t third_bits)
{
  for (unsigned i = 0; i < 4; ++i)
    if (factors[i].kind == REAL_NAN)
      return FACTOR_IS_NAN;
  const real_t both = real_sum(products[0], products[1], REAL_NEAREST);
  if (both.kind == REAL_NAN)
    return INVALID;
  if (third.kind == REAL_NAN)
    return third_bits | QUIET_BIT;
  const real_t sum = real_sum(both, third, REAL_NEAREST);
  if (sum.kind == REAL_NAN)
    return INVALID;
  return sum.kind == REAL_INFINITE ? (sum.negative ? 0xff800000 : 0x7f800000) : 0;
}

static int larger(int a, int b)
{
  return a > b ? a : b;
}

/* As its bits have it: that of denormals is the least. */
static int exponent_of(uint32_t bits, const real_format_t *format)
{
  const int field = (int)(bits >> format->fraction_bits & ((1u << format->exponent_bits) - 1));
  return larger(field, 1) - format->bias;
}

/* The unit that terms are cut to multiples of, and added in. */
static int grid_of(const isa_dot2_t *dot, const real_format_t *format, const real_t products[2],
                   real_t third)
{
  enum { LEAST = -2000 };
  int of_factors = LEAST, leading = third.digits ? real_exponent(third) : LEAST;
  if (dot->result == ISA_DOT2_F16)
    leading = larger(leading, -14);
  for (unsigned i = 0; i < 2; ++i) {
    if (!products[i].digits)
      continue;
    of_factors = larger(of_factors, exponent_of(dot->a >> 16 * i & 0xffff, format) +
                                        exponent_of(dot->b >> 16 * i & 0xffff, format));
    leading = larger(leading, real_exponent(products[i]));
  }
  return larger(of_factors - 24, leading - 26);
}

/* Toward zero. */
static int64_t cut(real_t x, int unit)
{
  const int up = x.digits ? x.exponent - unit : 0;
  return (int64_t)(up >= 0 ? x.digits << up : up > -127 ? x.digits >> -up : 0);
}

/* The sum in the third's sign: terms of the other sign are complements. */
static real_t sum_of(const real_t products[2], real_t third, int unit)
{
  int64_t sum = cut(third, unit);
  for (unsigned i = 0; i < 2; ++i) {
    const int64_t units = cut(products[i], unit);
    sum += products[i].negative == third.negative ? units : -units - 1;
  }
  real_t out = {REAL_FINITE, third.negative != (sum < 0), unit, 0};
  out.digits = (real_digits_t)(uint64_t)(sum < 0 ? -sum : sum);
  return out;
}

/* Of 24 digits, whatever its exponent is; 0, which has no sign, where that is below f32's. */
static uint32_t rounded(real_t x)
{
  static const real_format_t wide = {11, 23, 1023, REAL_IEEE};
  x = real_of(real_bits(x, &wide, REAL_NEAREST), &wide);
  return x.digits && real_exponent(x) >= -126 ? (uint32_t)real_bits(x, &real_f32, REAL_NEAREST) : 0;
}

/* An infinity or a NaN. That of a factor has other digits in each format. */
static uint32_t special_in(unsigned result, uint32_t bits)
{
  if (result == ISA_DOT2_BF16)
    return bits == FACTOR_IS_NAN ? 0xfffd : bits >> 16;
  if (result == ISA_DOT2_F16)
    return bits == FACTOR_IS_NAN ? 0xfe3d : (bits >> 16 & 0x8000) | 0x7c00 | (bits >> 13 & 0x3ff);
  return bits;
}

static uint32_t finite_in(const isa_dot2_t *dot, real_t x)
{
  if (dot->result != ISA_DOT2_F16)
    return rounded(x) >> (dot->result == ISA_DOT2_BF16 ? 16 : 0);
  uint32_t bits = (uint32_t)real_bits(x, &real_f16, REAL_NEAREST);
  if (dot->limits && (bits & 0x7fff) == 0x7c00)
    --bits;
  return bits & 0x7fff ? bits : 0;
}

/* Of bf16 and f32, denormals are 0. */
static real_t number(uint32_t bits, const real_format_t *format)
{
  real_t x = real_of(bits, format);
  if (format != &real_f16 && x.kind == REAL_FINITE && x.digits &&
      real_exponent(x) < 1 - (int)format->bias)
    x.digits = 0;
  return x;
}

/* The third in f32, which is exact. A NaN keeps its digits. */
static uint32_t widened(const isa_dot2_t *dot)
{
  if (dot->result == ISA_DOT2_F32)
    return dot->c;
  if (dot->result == ISA_DOT2_BF16)
    return dot->c << 16;
  if ((dot->c & 0x7c00) == 0x7c00)
    return (dot->c & 0x8000) << 16 | 0x7f800000 | (dot->c & 0x3ff) << 13;
  return (uint32_t)real_bits(real_of(dot->c, &real_f16), &real_f32, REAL_NEAREST);
}

uint32_t isa_reference_dot2(const isa_dot2_t *dot)
{
  const real_format_t *format = dot->is_bf16 ? &real_bf16 : &real_f16;
  const uint32_t third_bits = widened(dot);
  const real_t third = number(third_bits, &real_f32);
  real_t factors[4], products[2];
  for (unsigned i = 0; i < 2; ++i) {
    factors[2 * i] = number(dot->a >> 16 * i & 0xffff, format);
    factors[2 * i + 1] = number(dot->b >> 16 * i & 0xffff, format);
    products[i] = real_product(factors[2 * i], factors[2 * i + 1]);
  }
  const uint32_t bits = special(factors, products, third, third_bits);
  if (bits)
    return special_in(dot->result, bits);
  if (!third.digits && !products[0].digits && !products[1].digits)
    return 0;
  return finite_in(dot, sum_of(products, third, grid_of(dot, format, products, third)));
}
