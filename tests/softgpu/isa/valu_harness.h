// Runs single vector ALU instructions, built by hand, and compares every lane with a scalar model.
#ifndef TESTS_SOFTGPU_ISA_VALU_HARNESS_H
#define TESTS_SOFTGPU_ISA_VALU_HARNESS_H

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/softgpu/isa/split_mix.h"

extern "C" {
#include "softgpu/isa/exec/vector/valu.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

namespace valu {

using Random = SplitMix;

template <typename To, typename From> To bits_as(From from)
{
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
inline float f32(uint64_t bits)
{
  return bits_as<float>((uint32_t)bits);
}
inline double f64(uint64_t bits)
{
  return bits_as<double>(bits);
}
inline uint64_t bits(float x)
{
  return bits_as<uint32_t>(x);
}
inline uint64_t bits(double x)
{
  return bits_as<uint64_t>(x);
}

// f16 by its definition, and back with one rounding to nearest even.
inline double f16(uint64_t half)
{
  int exponent = (int)(half >> 10 & 31), mantissa = (int)(half & 1023);
  double magnitude = exponent == 31 ? (mantissa ? NAN : INFINITY)
                     : exponent     ? std::ldexp(1024 + mantissa, exponent - 25)
                                    : std::ldexp(mantissa, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}
inline uint64_t f16_bits(double x)
{
  uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x))
    return 0x7e00;
  double magnitude = std::fabs(x);
  if (magnitude >= 65520)
    return sign | 0x7c00;
  int exponent = magnitude == 0 ? -14 : std::max(std::ilogb(magnitude), -14);
  double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  return sign | (uint64_t)(units + (exponent + 14) * 1024.0);
}

// Letters: u 32 bits, i the same, h 16 bits, q 64 bits, f e g floats of 32, 16 and 64 bits, m mask;
// results also c and C (u and q with a mask), s and S (f and g with a mask).
inline char base_letter(char letter)
{
  switch (letter) {
  case 'c':
  case 'i':
    return 'u';
  case 'C':
    return 'q';
  case 's':
    return 'f';
  case 'S':
    return 'g';
  default:
    return letter;
  }
}
inline bool is_wide(char letter)
{
  return std::strchr("qgCS", letter) != nullptr;
}
inline bool has_mask(char letter)
{
  return std::strchr("mcCsS", letter) != nullptr;
}

inline uint64_t sample(char letter, Random &random, unsigned which)
{
  static const uint32_t f32s[] = {
      0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x807fffff, 0x800000,
      0x80800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0xbf000000,
      0x3fc00000, 0xc0200000, 0x40490fdb, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
      0x7fc00000, 0xffc12345, 0x7f800001, 0xffa54321, 0x4f000000, 0xcf000000, 0x4f800000,
      0x4b800001, 0x33800000, 0x38800000, 0x477fe000, 0x477ff000, 0x437f0000, 0x42ff8000};
  static const uint16_t f16s[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,
                                  0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800, 0x4248,
                                  0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe55, 0x7c01,
                                  0xfd23, 0x5c00, 0xc500, 0x3555, 0x1400};
  static const uint64_t f64s[] = {0,
                                  0x8000000000000000,
                                  1,
                                  0x800fffffffffffff,
                                  0x000fffffffffffff,
                                  0x0010000000000000,
                                  0x3ff0000000000000,
                                  0xbff0000000000000,
                                  0x3ff0000000000001,
                                  0x3fefffffffffffff,
                                  0x3fe0000000000000,
                                  0xc004000000000000,
                                  0x400921fb54442d18,
                                  0x7fefffffffffffff,
                                  0xffefffffffffffff,
                                  0x7ff0000000000000,
                                  0xfff0000000000000,
                                  0x7ff8000000000000,
                                  0xfff8000000001234,
                                  0x7ff0000000000001,
                                  0xfff4000000000000,
                                  0x41e0000000000000,
                                  0xc1e0000000200000,
                                  0x41efffffffe00000,
                                  0x36a0000000000000,
                                  0x380fffffe0000000,
                                  0x47efffffe0000000,
                                  0x47effffff0000000};
  static const uint64_t integers[] = {
      0,        1,          2,          31,         32,         33,         63,         64,
      0x7f,     0x80,       0xff,       0x7fff,     0x8000,     0xffff,     0x7fffff,   0x800000,
      0xffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x0d0c0b0a, 0x55555555, 0xfffffffe};
  uint64_t r = random();
  switch (base_letter(letter)) {
  case 'f':
    if (which < 12)
      return f32s[r % std::size(f32s)];
    return which % 3 ? (uint32_t)r : ((uint32_t)r & 0x807fffff) | (117 + r % 20) << 23;
  case 'e':
    return which < 12 ? f16s[r % std::size(f16s)] | (r >> 32 << 16 & 0xffff0000) : (uint32_t)r;
  case 'g':
    if (which < 12)
      return f64s[r % std::size(f64s)];
    return which % 3 ? r : (r & 0x800fffffffffffff) | (uint64_t)(1013 + r % 20) << 52;
  case 'q':
    return which < 12 ? integers[r % 24] << (r >> 40 & 32) | integers[r / 64 % 24] : r;
  case 'm':
    return r & 1;
  default:
    return which < 12 ? integers[r % 24] : which % 4 ? (uint32_t)r : (uint32_t)r >> (r >> 40) % 32;
  }
}

// A wave on its own, with enough registers for one instruction.
struct Machine {
  enum { ROWS = 64 };
  isa_row_t v[ROWS] = {}, a[ROWS] = {}; // of one file
  isa_wave_t wave = {};
  isa_thread_t thread = {};
  isa_limits_t limits = {};
  softgpu_dispatch_t dispatch = {};
  Machine()
  {
    wave.v = v;
    wave.a = a;
    wave.thread = &thread;
    wave.dispatch = &dispatch;
    wave.sgprs = limits.sgprs = 102;
    wave.lanes = limits.lanes = ISA_LANES;
    wave.vgprs = limits.vgprs = ROWS;
    wave.agprs = limits.agprs = limits.first_agpr = ROWS;
    limits.chip = SOFTGPU_GFX942;
    wave.mode = ISA_MODE_DENORM_F32 | ISA_MODE_DENORM_F64 | ISA_MODE_DX10_CLAMP;
    isa_write_s64(&wave, ISA_EXEC, UINT64_MAX);
  }
  void set(unsigned row, unsigned lane, uint64_t value, bool wide)
  {
    v[row][lane] = (uint32_t)value;
    if (wide)
      v[row + 1][lane] = (uint32_t)(value >> 32);
  }
  uint64_t get(unsigned row, unsigned lane, bool wide) const
  {
    return v[row][lane] | (wide ? (uint64_t)v[row + 1][lane] << 32 : 0);
  }
  bool run(const isa_inst_t &decoded)
  {
    isa_inst_t inst = decoded;
    return isa_prepare(&inst, &limits) && inst.run(&wave, &inst);
  }
};

inline isa_operand_t vgpr(unsigned index)
{
  return {ISA_OPERAND_VGPR, ISA_WHOLE, (uint16_t)index, 0};
}
inline isa_operand_t agpr(unsigned index)
{
  return {ISA_OPERAND_AGPR, ISA_WHOLE, (uint16_t)index, 0};
}
inline isa_operand_t sgpr(unsigned index)
{
  return {ISA_OPERAND_SGPR, ISA_WHOLE, (uint16_t)index, 0};
}
inline isa_operand_t literal(uint32_t value)
{
  return {ISA_OPERAND_LITERAL, ISA_WHOLE, 255, value};
}
inline isa_operand_t constant(unsigned code)
{
  return {ISA_OPERAND_INLINE, ISA_WHOLE, (uint16_t)code, 0};
}

enum { SRC = 10, SRC_STEP = 10, DST = 50, MASK_IN = 30, MASK_OUT = 40 };

// An instruction with operands in registers that do not overlap. `types` is "result:sources".
inline isa_inst_t instruction(unsigned op, const std::string &types)
{
  isa_inst_t inst = {};
  inst.op = (uint16_t)op;
  inst.encoding = ISA_VOP3;
  if (types[0] != 'm')
    inst.dst = vgpr(DST);
  if (has_mask(types[0]))
    inst.sdst = sgpr(MASK_OUT);
  for (unsigned n = 0; n + 2 < types.size(); ++n)
    inst.src[n] = types[n + 2] == 'm' ? sgpr(MASK_IN) : vgpr(SRC + SRC_STEP * n);
  return inst;
}

struct Lane {
  uint64_t a, b, c;
  bool vcc;
  unsigned lane;
  unsigned chip = 0;
};
struct Value {
  uint64_t d;
  bool mask;
  Value(uint64_t bits, bool set = false) : d(bits), mask(set) {}
  Value(float x) : d(bits(x)), mask(false) {}
  Value(double x) : d(bits(x)), mask(false) {}
  Value(int x) : d((uint32_t)x), mask(false) {}
  Value(uint32_t x) : d(x), mask(false) {}
  Value(int64_t x) : d((uint64_t)x), mask(false) {}
  Value(bool x) : d(0), mask(x) {}
};
enum { EXACT = 0, ULP1 = 1, TIED = 2, OWN_NAN = 4, PACKED = 8, WITHIN_GENERATOR = 16 };
struct Row {
  unsigned op;
  std::string types;
  std::function<Value(const Lane &)> model;
  unsigned flags = EXACT;
};

inline std::vector<Row> &rows()
{
  static std::vector<Row> all;
  return all;
}
inline bool add(std::initializer_list<Row> more)
{
  rows().insert(rows().end(), more);
  return true;
}

} // namespace valu

#endif
