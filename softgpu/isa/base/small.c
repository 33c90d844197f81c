#include "softgpu/isa/base/small.h"

/* `rest` of `drop` bits is cut off from `kept`. */
static uint64_t rounded(uint64_t digits, unsigned drop, const uint32_t *noise)
{
  const uint64_t one = 1;
  if (drop > 62)
    return 0; /* less than half of the last place, and no noise reaches it */
  const uint64_t kept = digits >> drop, rest = digits - (kept << drop);
  if (!drop)
    return kept;
  if (!noise)
    return kept + (rest > one << (drop - 1) || (rest == one << (drop - 1) && kept & 1));
  const uint64_t fraction = drop > 32 ? rest >> (drop - 32) : rest << (32 - drop);
  return kept + ((fraction + *noise) >> 32);
}

uint32_t small_of_float(float value, uint32_t scale, small_format_t f, const uint32_t *noise,
                        bool saturate)
{
  const uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffff;
  const uint32_t sign = bits >> 31 << (f.bits - 1), largest = small_largest(f);
  const bool is_nan = magnitude > 0x7f800000 || scale == 255;
  if (is_nan)
    return sign |
           (f.specials == SMALL_NUMBERS        ? largest
            : f.specials == SMALL_ALL_ONES_NAN ? largest + 1
                                               : (largest + 1) | 1u << (f.mantissa_bits - 1));
  const uint32_t beyond = f.specials == SMALL_NUMBERS || saturate ? largest : largest + 1;
  if (magnitude == 0x7f800000)
    return sign | beyond;
  const int field = (int)(magnitude >> 23);
  uint64_t digits = (magnitude & 0x7fffff) | (field ? 0x800000 : 0);
  if (!digits)
    return sign;
  int exponent = (field ? field : 1) - 127 - (int)scale + 127; /* of 2^23 in `digits` */
  while (!(digits & 0x800000)) {
    digits <<= 1;
    --exponent;
  }
  const int smallest = 1 - f.bias;
  if (exponent > smallest + (1 << (f.bits - 1 - f.mantissa_bits)))
    return sign | beyond;
  const unsigned below = exponent < smallest ? (unsigned)(smallest - exponent) : 0;
  uint64_t code = rounded(digits, 23u - f.mantissa_bits + below, noise);
  if (exponent >= smallest)
    code += (uint64_t)(exponent - smallest) << f.mantissa_bits;
  return sign | (code > largest ? beyond : (uint32_t)code);
}
