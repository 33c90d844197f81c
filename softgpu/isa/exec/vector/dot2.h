/* How GFX11 adds two products of 16-bit numbers to a third number, in dot products and, step by
 * step, in matrices. Internal to softgpu.
 *
 * No document says it. It was measured on gfx1100 and gfx1151 (rocm-systems issue 12056, rocjitsu's
 * tests):
 * - Products are exact. All three terms are cut to multiples of one power of two: 2^-24 of the
 *   larger product's, by the factors' exponents, or 2^-26 of the largest term, whichever is more.
 * - They are added as seen with the sign of the third: a term of the other sign as its complement,
 *   one unit less than its negative. So are zeros.
 * - The sum is rounded once, to nearest even; below the normal numbers of f32 it is 0.
 * - bf16 factors and third numbers of f32 that are denormal count as 0. */
#ifndef SOFTGPU_ISA_EXEC_VECTOR_DOT2_H
#define SOFTGPU_ISA_EXEC_VECTOR_DOT2_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/base/float.h"

enum { DOT2_NAN_OF_FACTOR = (int)0xffc00a3d, DOT2_INVALID = (int)0xffc00000 };

/* digits * 2^exponent; `scale` is the exponent as the encoding has it, of denormals the least. */
typedef struct dot2_number {
  uint64_t digits;
  int exponent, scale;
  bool is_negative, is_infinite, is_nan;
} dot2_number_t;

static inline dot2_number_t dot2_factor_of(uint32_t bits, bool is_bfloat)
{
  const int fraction = is_bfloat ? 7 : 10, bias = is_bfloat ? 127 : 15;
  const uint32_t last = is_bfloat ? 255 : 31;
  const uint32_t field = bits >> fraction & last, low = bits & ((1u << fraction) - 1);
  dot2_number_t number = {.scale = (int)(field ? field : 1) - bias,
                          .is_negative = bits >> 15 & 1,
                          .is_infinite = field == last && !low,
                          .is_nan = field == last && low};
  number.digits = field ? low | 1u << fraction : is_bfloat ? 0 : low;
  number.exponent = number.scale - fraction;
  return number;
}

static inline dot2_number_t dot2_product(const dot2_number_t *a, const dot2_number_t *b)
{
  return (dot2_number_t){.digits = a->digits * b->digits,
                         .exponent = a->exponent + b->exponent,
                         .scale = a->scale + b->scale,
                         .is_negative = a->is_negative != b->is_negative,
                         .is_infinite = a->is_infinite || b->is_infinite,
                         .is_nan =
                             (a->is_infinite && !b->digits) || (b->is_infinite && !a->digits)};
}

static inline dot2_number_t dot2_third(uint32_t bits)
{
  const uint32_t field = bits >> 23 & 255;
  return (dot2_number_t){.digits = field ? (bits & 0x7fffff) | 0x800000 : 0,
                         .exponent = (int)field - 127 - 23,
                         .is_negative = bits >> 31,
                         .is_infinite = (bits & 0x7fffffff) == 0x7f800000,
                         .is_nan = (bits & 0x7fffffff) > 0x7f800000};
}

enum { DOT2_NOTHING = -1024 }; /* less than any exponent */

static inline int dot2_top(const dot2_number_t *number)
{
  return number->digits ? number->exponent + 63 - __builtin_clzll(number->digits) : DOT2_NOTHING;
}

/* In units of 2^grid; what is less than one is cut off. */
static inline int64_t dot2_cut(const dot2_number_t *number, int grid)
{
  const int shift = number->exponent - grid;
  if (!number->digits || shift <= -64)
    return 0;
  return (int64_t)(shift < 0 ? number->digits >> -shift : number->digits << shift);
}

/* A sum of units of 2^grid. */
typedef struct dot2_sum {
  uint64_t units;
  int grid;
  bool is_negative, is_special; /* special: `bits` is an f32, an infinity or a NaN */
  uint32_t bits;
} dot2_sum_t;

static inline bool dot2_special(const dot2_number_t p[2], const dot2_number_t *c, uint32_t c_bits,
                                dot2_sum_t *sum)
{
  const bool has_positive =
      (p[0].is_infinite && !p[0].is_negative) || (p[1].is_infinite && !p[1].is_negative);
  const bool has_negative =
      (p[0].is_infinite && p[0].is_negative) || (p[1].is_infinite && p[1].is_negative);
  sum->is_special = true;
  if (p[0].is_nan || p[1].is_nan || (has_positive && has_negative))
    sum->bits = (uint32_t)DOT2_INVALID;
  else if (c->is_nan)
    sum->bits = c_bits | 0x400000;
  else if (has_positive || has_negative)
    sum->bits = c->is_infinite && c->is_negative != has_negative ? (uint32_t)DOT2_INVALID
                : has_negative                                   ? 0xff800000
                                                                 : 0x7f800000;
  else if (c->is_infinite)
    sum->bits = c_bits;
  else
    sum->is_special = false;
  return sum->is_special;
}

/* `least_top`: the third number's exponent counts as no less. */
static inline dot2_sum_t dot2_add(uint32_t a, uint32_t b, uint32_t c, bool is_bfloat, int least_top)
{
  const dot2_number_t factors[4] = {
      dot2_factor_of(a & 0xffff, is_bfloat), dot2_factor_of(b & 0xffff, is_bfloat),
      dot2_factor_of(a >> 16, is_bfloat), dot2_factor_of(b >> 16, is_bfloat)};
  dot2_sum_t sum = {0};
  for (unsigned i = 0; i < 4; ++i)
    if (factors[i].is_nan) {
      sum.is_special = true;
      sum.bits = (uint32_t)DOT2_NAN_OF_FACTOR;
      return sum;
    }
  const dot2_number_t products[2] = {dot2_product(&factors[0], &factors[1]),
                                     dot2_product(&factors[2], &factors[3])};
  const dot2_number_t third = dot2_third(c);
  if (dot2_special(products, &third, c, &sum) ||
      !(products[0].digits | products[1].digits | third.digits))
    return sum;
  const int third_top = dot2_top(&third);
  int top = third_top > least_top ? third_top : least_top, scale = DOT2_NOTHING;
  for (unsigned i = 0; i < 2; ++i)
    if (products[i].digits) {
      top = dot2_top(&products[i]) > top ? dot2_top(&products[i]) : top;
      scale = products[i].scale > scale ? products[i].scale : scale;
    }
  sum.grid = scale - 24 > top - 26 ? scale - 24 : top - 26;
  int64_t units = dot2_cut(&third, sum.grid);
  for (unsigned i = 0; i < 2; ++i) {
    const int64_t cut = dot2_cut(&products[i], sum.grid);
    units += products[i].is_negative == third.is_negative ? cut : ~cut;
  }
  sum.is_negative = third.is_negative != (units < 0);
  sum.units = (uint64_t)(units < 0 ? -units : units);
  return sum;
}

/* The highest `digits` binary digits from `lowest` on, rounded to nearest even: their number of
 * units, and the power of two that those are. */
static inline uint64_t dot2_rounded(const dot2_sum_t *sum, int digits, int lowest, int *power)
{
  const int top = 63 - __builtin_clzll(sum->units);
  const int shift = top + 1 - digits > lowest - sum->grid ? top + 1 - digits : lowest - sum->grid;
  *power = sum->grid + shift;
  if (shift <= 0)
    return sum->units << -shift;
  if (shift >= 64)
    return 0;
  const uint64_t kept = sum->units >> shift, rest = sum->units - (kept << shift);
  const uint64_t half = 1ull << (shift - 1);
  return kept + (rest > half || (rest == half && kept & 1));
}

static inline uint32_t dot2_f32(const dot2_sum_t *sum)
{
  int power;
  if (sum->is_special || !sum->units)
    return sum->bits;
  uint64_t digits = dot2_rounded(sum, 24, DOT2_NOTHING * 2, &power);
  if (digits >> 24) {
    digits >>= 1;
    ++power;
  }
  const uint32_t sign = (uint32_t)sum->is_negative << 31;
  if (power + 23 < -126)
    return 0;
  return power + 23 > 127 ? sign | 0x7f800000
                          : sign | (uint32_t)(power + 23 + 127) << 23 | (digits & 0x7fffff);
}

/* As f16, at once. `is_finite`: what is too large is the largest number (MODE.FP16_OVFL). */
static inline uint32_t dot2_half(const dot2_sum_t *sum, bool is_finite)
{
  int power;
  if (sum->is_special && sum->bits == (uint32_t)DOT2_NAN_OF_FACTOR)
    return 0xfe3d;
  if (sum->is_special)
    return (sum->bits >> 16 & 0x8000) | 0x7c00 | (sum->bits >> 13 & 0x3ff);
  if (!sum->units)
    return 0;
  const uint64_t digits = dot2_rounded(sum, 11, -24, &power);
  if (!digits)
    return 0;
  const uint32_t sign = (uint32_t)sum->is_negative << 15;
  /* Digits that carry into the exponent are what it is then. */
  const uint64_t magnitude = ((uint64_t)(power + 24) << 10) + digits;
  return sign | (magnitude >= 0x7c00 ? (is_finite ? 0x7bff : 0x7c00) : (uint32_t)magnitude);
}

/* As bf16: the f32's upper half. */
static inline uint32_t dot2_bfloat(const dot2_sum_t *sum)
{
  return sum->is_special && sum->bits == (uint32_t)DOT2_NAN_OF_FACTOR ? 0xfffd
                                                                      : dot2_f32(sum) >> 16;
}

#endif
