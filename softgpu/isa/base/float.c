#include "softgpu/isa/base/float.h"

enum { TO_NEAREST, TO_POSITIVE, TO_NEGATIVE, TO_ZERO };

static bool rounds_up(uint32_t kept, uint32_t rest, uint32_t half, bool negative, unsigned rounding)
{
  switch (rounding) {
  case TO_NEAREST:
    return rest > half || (rest == half && (kept & 1));
  case TO_POSITIVE:
    return rest && !negative;
  case TO_NEGATIVE:
    return rest && negative;
  default:
    return false;
  }
}

uint32_t float_bits_to_half_mode(uint32_t bits, unsigned rounding)
{
  uint32_t magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  if (magnitude == 0x7f800000)
    return sign | 0x7c00;
  int exponent = (int)(magnitude >> 23);
  uint32_t mantissa = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  /* A normal half drops 13 bits; every step below 2^-14 drops one more. */
  int drop = exponent >= 113 ? 13 : 13 + 113 - (exponent ? exponent : 1);
  if (drop > 26)
    drop = 26; /* all of it is less than half of the last place */
  uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1);
  uint32_t result = exponent >= 113 ? kept + ((uint32_t)(exponent - 113) << 10) : kept;
  if (rounds_up(kept, rest, 1u << (drop - 1), sign, rounding))
    ++result; /* carries into the exponent as it should */
  if (result < 0x7c00)
    return sign | result;
  bool to_infinity = rounding == TO_NEAREST || rounding == (sign ? TO_NEGATIVE : TO_POSITIVE);
  return sign | (to_infinity ? 0x7c00 : 0x7bff);
}

/* Rounds by adding below the last place kept: noise, or what makes ties go to even. */
static uint32_t encode(float value, float8_format_t format, bool saturate, const uint32_t *noise)
{
  uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff, sign = bits >> 24 & 0x80;
  if (magnitude > 0x7f800000)
    return 0x80;
  if (magnitude == 0x7f800000)
    return saturate ? sign | 0x7f : 0x80;
  int smallest = 127 - format.bias + 1; /* biased f32 exponent of the smallest normal */
  int exponent = (int)(magnitude >> 23);
  uint64_t mantissa = (magnitude & 0x7fffff) | (exponent ? 0x800000 : 0);
  if (!exponent)
    exponent = 1;
  int drop = 23 - format.mantissa_bits + (exponent < smallest ? smallest - exponent : 0);
  if (drop > 63)
    drop = 63; /* of noise too, all of it is less than half of the last place */
  uint64_t unit = (uint64_t)1 << drop;
  uint64_t increment = noise ? ((uint64_t)*noise << 32 >> (64 - drop)) & (unit - 1)
                             : unit / 2 - 1 + (mantissa >> drop & 1);
  if (noise && drop > 32)
    increment = (uint64_t)*noise << (drop - 32);
  uint32_t result = (uint32_t)((mantissa + increment) >> drop);
  if (exponent >= smallest)
    result += (uint32_t)(exponent - smallest) << format.mantissa_bits;
  if (result > 0x7f)
    return saturate ? sign | 0x7f : 0x80;
  return result ? sign | result : 0;
}

uint32_t float_to_float8(float value, float8_format_t format, bool saturate)
{
  return encode(value, format, saturate, 0);
}

uint32_t float_to_float8_stochastic(float value, float8_format_t format, uint32_t noise,
                                    bool saturate)
{
  return encode(value, format, saturate, &noise);
}
