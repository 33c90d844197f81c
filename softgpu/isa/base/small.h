/* Floating-point formats of 4 to 16 bits, by their bits. Internal to softgpu.
 *
 * OCP's formats (OCP 8-bit Floating Point Specification, OCP Microscaling Formats): E4M3 has one
 * NaN a sign and no infinity, E5M2 is as IEEE's formats are, those of 6 and 4 bits have numbers
 * only. gfx942's own 8-bit formats are in float.h. */
#ifndef SOFTGPU_ISA_BASE_SMALL_H
#define SOFTGPU_ISA_BASE_SMALL_H

#include "softgpu/isa/base/float.h"

typedef enum small_specials {
  SMALL_ALL_ONES_NAN, /* magnitudes of ones only are NaN */
  SMALL_IEEE,         /* the highest exponent is infinity and NaN */
  SMALL_NUMBERS,
} small_specials_t;

typedef struct small_format {
  uint8_t bits, mantissa_bits, bias;
  uint8_t specials; /* small_specials_t */
} small_format_t;

static const small_format_t small_e4m3 = {8, 3, 7, SMALL_ALL_ONES_NAN},
                            small_e5m2 = {8, 2, 15, SMALL_IEEE},
                            small_e2m3 = {6, 3, 1, SMALL_NUMBERS},
                            small_e3m2 = {6, 2, 3, SMALL_NUMBERS},
                            small_e2m1 = {4, 1, 1, SMALL_NUMBERS},
                            small_f16 = {16, 10, 15, SMALL_IEEE},
                            small_bf16 = {16, 7, 127, SMALL_IEEE};

/* Magnitude of the largest number, and of a NaN where there is one. */
static inline uint32_t small_largest(small_format_t f)
{
  const uint32_t ones = (1u << (f.bits - 1)) - 1;
  return f.specials == SMALL_NUMBERS        ? ones
         : f.specials == SMALL_ALL_ONES_NAN ? ones - 1
                                            : (ones >> f.mantissa_bits << f.mantissa_bits) - 1;
}

/* Exact; a NaN is the positive quiet one. Bits above the format's do not count. */
static inline float small_to_float(uint32_t code, small_format_t f)
{
  const uint32_t ones = (1u << (f.bits - 1)) - 1, magnitude = code & ones;
  const uint32_t sign = (code >> (f.bits - 1) & 1) << 31, largest = small_largest(f);
  const float rebias = float_of((254u - f.bias) << 23);
  uint32_t bits = float_bits(float_of(magnitude << (23 - f.mantissa_bits)) * rebias);
  bits = f.specials == SMALL_IEEE && magnitude == largest + 1 ? 0x7f800000 : bits;
  const uint32_t most = f.specials == SMALL_IEEE ? largest + 1 : largest;
  return float_of(magnitude > most ? 0x7fc00000 : bits | sign);
}

/* value / 2^(scale - 127), rounded once: to nearest even, or, with `noise`, down after it was added
 * below the last place kept. A scale of 255 is NaN. Too large numbers, and infinities, become the
 * largest one where the format has nothing beyond numbers, or where `saturate` is set; else its
 * infinity, or else its NaN. A NaN, of a format that has none, is the largest number. */
uint32_t small_of_float(float value, uint32_t scale, small_format_t f, const uint32_t *noise,
                        bool saturate);

#endif
