// OCP's small floating-point formats, bfloat16 and binary16 by their definitions; roundings by
// trying codes.
#ifndef TESTS_SOFTGPU_ISA_SMALL_MODEL_H
#define TESTS_SOFTGPU_ISA_SMALL_MODEL_H

#include "tests/softgpu/isa/words.h"
#include "valu_harness.h"

namespace valu {

// A format of OCP's: sign, exponent, mantissa. What its largest magnitudes mean is `top`.
struct Format {
  const char *name;
  unsigned exponent_bits, mantissa_bits;
  int bias;
  enum { NUMBERS, ONE_NAN, IEEE } top;
  unsigned width() const { return 1 + exponent_bits + mantissa_bits; }
  unsigned largest() const
  {
    const unsigned ones = (1u << (width() - 1)) - 1;
    return top == NUMBERS ? ones : top == ONE_NAN ? ones - 1 : ones - (1u << mantissa_bits);
  }
  double magnitude(unsigned code) const // as if there were numbers only
  {
    const unsigned exponent = code >> mantissa_bits, mantissa = code & ((1u << mantissa_bits) - 1);
    const int least = 1 - bias - (int)mantissa_bits;
    return exponent ? std::ldexp((1u << mantissa_bits) + mantissa, (int)exponent - 1 + least)
                    : std::ldexp(mantissa, least);
  }
  double value(unsigned code) const
  {
    const unsigned sign = 1u << (width() - 1), body = code & (sign - 1);
    double x = body <= largest()                      ? magnitude(body)
               : top == IEEE && body == largest() + 1 ? INFINITY
                                                      : NAN;
    return code & sign ? -x : x;
  }
  // To nearest, ties to the even code, by comparing with all of them.
  unsigned nearest(double x) const
  {
    const unsigned sign = std::signbit(x) ? 1u << (width() - 1) : 0, beyond = largest() + 1;
    x = std::fabs(x);
    if (std::isnan(x))
      return sign | (top == NUMBERS   ? largest()
                     : top == ONE_NAN ? beyond
                                      : beyond | 1u << (mantissa_bits - 1));
    unsigned best = 0;
    for (unsigned code = 1; code <= beyond; ++code) {
      const double closer = std::fabs(magnitude(code) - x) - std::fabs(magnitude(best) - x);
      if (closer < 0 || (closer == 0 && code % 2 == 0))
        best = code;
    }
    if (x >= magnitude(beyond))
      best = beyond;
    return sign | (best == beyond && top == NUMBERS ? largest() : best);
  }
  // Down, or up as often of 2^32 as the distance from the number below says.
  unsigned noisy(double x, uint32_t noise) const
  {
    const unsigned sign = std::signbit(x) ? 1u << (width() - 1) : 0, beyond = largest() + 1;
    x = std::fabs(x);
    if (!std::isfinite(x) || x >= magnitude(beyond))
      return sign | nearest(x);
    unsigned below = 0;
    for (unsigned bit = 1u << (width() - 2); bit; bit >>= 1)
      if ((below | bit) <= largest() && magnitude(below | bit) <= x)
        below |= bit;
    const double step = magnitude(below + 1) - magnitude(below);
    const double fraction = std::floor(std::ldexp((x - magnitude(below)) / step, 32));
    const unsigned code = below + (fraction + noise >= 4294967296.0);
    return sign | (code == beyond && top == NUMBERS ? largest() : code);
  }
};

// In the order of cbsz and blgp.
inline const Format formats[] = {{"fp8", 4, 3, 7, Format::ONE_NAN},
                                 {"bf8", 5, 2, 15, Format::IEEE},
                                 {"fp6", 2, 3, 1, Format::NUMBERS},
                                 {"bf6", 3, 2, 3, Format::NUMBERS},
                                 {"fp4", 2, 1, 1, Format::NUMBERS}};

inline void put_bits(isa_row_t *rows, unsigned lane, unsigned bit, unsigned width, unsigned code)
{
  for (unsigned i = 0; i < width; ++i)
    if (code >> i & 1)
      rows[(bit + i) / 32][lane] |= 1u << (bit + i) % 32;
}

inline uint64_t bf16_bits(uint64_t x)
{
  if ((x & 0x7fffffff) > 0x7f800000)
    return (x >> 16 | 0x40) & 0xffff;
  const uint64_t low = x & 0xffff, up = low > 0x8000 || (low == 0x8000 && x >> 16 & 1);
  return ((x >> 16) + up) & 0xffff;
}

// As decoded, which some instructions need: `types` as in the harness.
inline isa_inst_t decoded_row(unsigned op, const char *types)
{
  isa_inst_t inst = instruction(op, types);
  inst.row = words::rows_of(op).back();
  inst.chip = SOFTGPU_GFX950;
  return inst;
}

} // namespace valu

#endif
