#include "softgpu/isa/base/real.h"

const real_format_t real_f16 = {5, 10, 15, REAL_IEEE}, real_bf16 = {8, 7, 127, REAL_IEEE},
                    real_f32 = {8, 23, 127, REAL_IEEE}, real_f64 = {11, 52, 1023, REAL_IEEE},
                    real_fp8 = {4, 3, 8, REAL_FNUZ}, real_bf8 = {5, 2, 16, REAL_FNUZ},
                    real_e4m3 = {4, 3, 7, REAL_FN}, real_e5m2 = {5, 2, 15, REAL_IEEE},
                    real_e2m3 = {2, 3, 1, REAL_NUMBERS}, real_e3m2 = {3, 2, 3, REAL_NUMBERS},
                    real_e2m1 = {2, 1, 1, REAL_NUMBERS};

enum { TOP = 125 }; /* where the highest digit is put before an addition */

static unsigned highest(real_digits_t digits)
{
  uint64_t high = (uint64_t)(digits >> 64), low = (uint64_t)digits;
  return high ? 127 - (unsigned)__builtin_clzll(high) : 63 - (unsigned)__builtin_clzll(low);
}

/* Shifts right; what falls out stays visible in the last digit. */
static real_digits_t shifted(real_digits_t digits, unsigned distance)
{
  if (distance > 127)
    return digits != 0;
  real_digits_t kept = digits >> distance;
  return kept << distance == digits ? kept : kept | 1;
}

real_t real_nan(void)
{
  return (real_t){.kind = REAL_NAN};
}

real_t real_infinity(bool negative)
{
  return (real_t){.kind = REAL_INFINITE, .negative = negative};
}

real_t real_of(uint64_t bits, const real_format_t *f)
{
  const uint64_t one = 1, fraction = bits & ((one << f->fraction_bits) - 1);
  const uint64_t top = (one << f->exponent_bits) - 1, field = bits >> f->fraction_bits & top;
  real_t x = {.negative = bits >> (f->fraction_bits + f->exponent_bits) & 1};
  if (f->specials == REAL_FNUZ && x.negative && !field && !fraction)
    return real_nan();
  if (f->specials == REAL_FN && field == top && fraction == (one << f->fraction_bits) - 1)
    return real_nan();
  if (f->specials == REAL_IEEE && field == top) {
    x.kind = fraction ? REAL_NAN : REAL_INFINITE;
    return x;
  }
  x.digits = fraction | (field ? one << f->fraction_bits : 0);
  x.exponent = (int)(field ? field : 1) - f->bias - f->fraction_bits;
  return x;
}

real_t real_of_integer(int64_t value)
{
  bool negative = value < 0;
  return (real_t){.negative = negative, .digits = negative ? 0 - (uint64_t)value : (uint64_t)value};
}

/* Digits in units of 2^unit, rounded. */
static real_digits_t in_units(real_t x, int unit, unsigned rounding)
{
  int distance = unit - x.exponent;
  if (distance <= 0)
    return x.digits << -distance;
  if (distance > 127)
    return x.digits && (rounding == (x.negative ? REAL_DOWN : REAL_UP));
  real_digits_t kept = x.digits >> distance, rest = x.digits - (kept << distance);
  real_digits_t half = (real_digits_t)1 << (distance - 1);
  switch (rounding) {
  case REAL_NEAREST:
    return kept + (rest > half || (rest == half && kept & 1));
  case REAL_UP:
    return kept + (rest && !x.negative);
  case REAL_DOWN:
    return kept + (rest && x.negative);
  default:
    return kept;
  }
}

/* The unit of the last place that the format keeps of x. */
static int last_place(real_t x, const real_format_t *f)
{
  int exponent = real_exponent(x), smallest = 1 - f->bias;
  return (exponent > smallest ? exponent : smallest) - f->fraction_bits;
}

/* From digits in units of the last place. Carries run from the fraction into the exponent. */
static uint64_t encoded(real_t x, const real_format_t *f, uint64_t digits, unsigned rounding)
{
  const unsigned width = f->exponent_bits + f->fraction_bits;
  uint64_t sign = (uint64_t)x.negative << width, limit = (uint64_t)1 << width;
  uint64_t infinity = limit - ((uint64_t)1 << f->fraction_bits);
  uint64_t field = (uint64_t)(last_place(x, f) + f->fraction_bits + f->bias);
  uint64_t bits = field >> f->exponent_bits ? limit : ((field - 1) << f->fraction_bits) + digits;
  if (f->specials == REAL_FNUZ)
    return bits >= limit ? limit : bits ? sign | bits : 0;
  if (f->specials != REAL_IEEE)
    return sign | (bits < limit ? bits : limit - 1);
  if (bits < infinity)
    return sign | bits;
  bool reaches = rounding == REAL_NEAREST || rounding == (x.negative ? REAL_DOWN : REAL_UP);
  return sign | (reaches ? infinity : infinity - 1);
}

static uint64_t special_bits(real_t x, const real_format_t *f)
{
  const unsigned width = f->exponent_bits + f->fraction_bits;
  uint64_t limit = (uint64_t)1 << width, infinity = limit - ((uint64_t)1 << f->fraction_bits);
  if (f->specials == REAL_FNUZ)
    return x.kind == REAL_FINITE ? 0 : limit;
  if (f->specials != REAL_IEEE)
    return (x.kind == REAL_NAN ? 0 : (uint64_t)x.negative << width) |
           (x.kind == REAL_FINITE ? 0 : limit - 1);
  if (x.kind == REAL_NAN)
    return infinity | (uint64_t)1 << (f->fraction_bits - 1);
  return (uint64_t)x.negative << width | (x.kind == REAL_INFINITE ? infinity : 0);
}

uint64_t real_bits(real_t x, const real_format_t *f, unsigned rounding)
{
  if (x.kind != REAL_FINITE || !x.digits)
    return special_bits(x, f);
  return encoded(x, f, (uint64_t)in_units(x, last_place(x, f), rounding), rounding);
}

uint64_t real_bits_stochastic(real_t x, const real_format_t *f, uint32_t noise)
{
  if (x.kind != REAL_FINITE || !x.digits)
    return special_bits(x, f);
  uint64_t fine = (uint64_t)in_units(x, last_place(x, f) - 32, REAL_TO_ZERO);
  return encoded(x, f, (fine + noise) >> 32, REAL_NEAREST);
}

real_t real_rounded(real_t x, unsigned rounding)
{
  if (x.kind != REAL_FINITE || x.exponent >= 0)
    return x;
  x.digits = in_units(x, 0, rounding);
  x.exponent = 0;
  return x;
}

int64_t real_integer(real_t x, unsigned rounding, int64_t low, int64_t high)
{
  if (x.kind == REAL_NAN)
    return 0;
  bool is_large = x.kind == REAL_INFINITE || (x.digits && real_exponent(x) > 62);
  if (is_large)
    return x.negative ? low : high;
  int64_t magnitude = (int64_t)in_units(x, 0, rounding),
          value = x.negative ? -magnitude : magnitude;
  return value < low ? low : value > high ? high : value;
}

real_t real_product(real_t a, real_t b)
{
  bool negative = a.negative != b.negative;
  bool is_invalid =
      (a.kind == REAL_INFINITE && real_is_zero(b)) || (b.kind == REAL_INFINITE && real_is_zero(a));
  if (a.kind == REAL_NAN || b.kind == REAL_NAN || is_invalid)
    return real_nan();
  if (a.kind == REAL_INFINITE || b.kind == REAL_INFINITE)
    return real_infinity(negative);
  return (real_t){
      .negative = negative, .exponent = a.exponent + b.exponent, .digits = a.digits * b.digits};
}

static real_t normalised(real_t x)
{
  int distance = TOP - (int)highest(x.digits);
  x.digits = distance < 0 ? shifted(x.digits, (unsigned)-distance) : x.digits << distance;
  x.exponent -= distance;
  return x;
}

real_t real_sum(real_t a, real_t b, unsigned rounding)
{
  if (a.kind == REAL_NAN || b.kind == REAL_NAN)
    return real_nan();
  if (a.kind == REAL_INFINITE && b.kind == REAL_INFINITE)
    return a.negative == b.negative ? a : real_nan();
  if (a.kind == REAL_INFINITE || b.kind == REAL_INFINITE)
    return a.kind == REAL_INFINITE ? a : b;
  if (!a.digits || !b.digits) {
    if (a.digits || b.digits)
      return a.digits ? a : b;
    a.negative = a.negative == b.negative ? a.negative : rounding == REAL_DOWN;
    return a;
  }
  a = normalised(a);
  b = normalised(b);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.digits < b.digits)) {
    real_t larger = b;
    b = a;
    a = larger;
  }
  real_digits_t digits = shifted(b.digits, (unsigned)(a.exponent - b.exponent));
  a.digits = a.negative == b.negative ? a.digits + digits : a.digits - digits;
  if (!a.digits)
    a.negative = rounding == REAL_DOWN;
  return a;
}

real_t real_negated(real_t x)
{
  x.negative = !x.negative;
  return x;
}

real_t real_scaled(real_t x, int exponent)
{
  x.exponent += exponent;
  return x;
}

int real_compare(real_t a, real_t b)
{
  if (a.kind == REAL_NAN || b.kind == REAL_NAN)
    return 2;
  if (a.kind == REAL_INFINITE || b.kind == REAL_INFINITE) {
    int x = a.kind == REAL_INFINITE ? (a.negative ? -1 : 1) : 0;
    int y = b.kind == REAL_INFINITE ? (b.negative ? -1 : 1) : 0;
    return (x > y) - (x < y);
  }
  real_t difference = real_sum(a, real_negated(b), REAL_NEAREST);
  return !difference.digits ? 0 : difference.negative ? -1 : 1;
}

bool real_is_zero(real_t x)
{
  return x.kind == REAL_FINITE && !x.digits;
}

int real_exponent(real_t x)
{
  return x.exponent + (int)highest(x.digits);
}
