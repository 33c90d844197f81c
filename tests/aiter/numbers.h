// Numbers of 8 and 16 bits, and the order of elements that aiter's kernels expect of some operands.
#ifndef RAWHAL_TESTS_AITER_NUMBERS_H
#define RAWHAL_TESTS_AITER_NUMBERS_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

// Largest relative error of rounding to nearest.
constexpr double float_unit = 0x1p-24, bfloat_unit = 0x1p-8, half_unit = 0x1p-11;

inline float from_bfloat(uint16_t bits)
{
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

// To nearest, ties to even; no NaN.
inline uint16_t to_bfloat(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// Of magnitudes up to 1.
inline std::vector<uint16_t> bfloats(std::mt19937 &random, size_t count)
{
  std::vector<uint16_t> result(count);
  for (uint16_t &each : result)
    each = to_bfloat(static_cast<float>(random() % 4001) / 2000 - 1);
  return result;
}

inline std::vector<double> from_bfloats(const std::vector<uint16_t> &bits)
{
  std::vector<double> result;
  for (uint16_t each : bits)
    result.push_back(from_bfloat(each));
  return result;
}

// From 1 to 2; exact: 1 or 2.
inline std::vector<float> scales(std::mt19937 &random, size_t count, bool exact)
{
  std::vector<float> result(count);
  for (float &each : result)
    each = exact ? static_cast<float>(1 << random() % 2)
                 : 1 + static_cast<float>(random() % 1000) / 1000;
  return result;
}

inline double from_half(uint16_t bits)
{
  const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  const double value =
      exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return bits & 0x8000 ? -value : value;
}

// Of a number that a normal half represents, or 0.
inline uint16_t to_half(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits << 1 == 0
             ? static_cast<uint16_t>(bits >> 16)
             : static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
                                     (bits >> 13 & 0x3ff));
}

// e4m3 as gfx942 has it, with bias 8, without negative zero, 0x80 its only NaN; or else as OCP
// defines it and gfx950 has it, with bias 7 and NaN where all other bits are set.
inline double from_fp8(uint8_t bits, bool fnuz)
{
  const int exponent = bits >> 3 & 15, fraction = bits & 7, bias = fnuz ? 11 : 10;
  if (fnuz ? bits == 0x80 : (bits & 0x7f) == 0x7f)
    return std::nan("");
  const double value =
      exponent ? std::ldexp(8 + fraction, exponent - bias) : std::ldexp(fraction, 1 - bias);
  return bits & 0x80 ? -value : value;
}

// Of an integer from -15 to 15.
inline uint8_t to_fp8(int value, bool fnuz)
{
  for (int bits = 0; bits < 256; ++bits)
    if (from_fp8(static_cast<uint8_t>(bits), fnuz) == value)
      return static_cast<uint8_t>(bits);
  return fnuz ? 0x80 : 0x7f;
}

// A matrix of `rows` by `columns` in tiles of 16 rows by 32 bytes' double width, as matrix
// instructions read them: of each tile, the pieces of 16 bytes of its rows one after the other, a
// column of pieces at a time. aiter calls it shuffle_weight() with layout (16, 16).
template <typename T>
std::vector<T> shuffled(const std::vector<T> &matrix, size_t rows, size_t columns)
{
  constexpr size_t piece = 16 / sizeof(T), tile = 32;
  std::vector<T> result;
  for (size_t row = 0; row < rows; row += 16)
    for (size_t column = 0; column < columns; column += tile)
      for (size_t at = column; at < column + tile; at += piece)
        for (size_t each = row; each < row + 16; ++each)
          for (size_t i = 0; i < piece; ++i)
            result.push_back(matrix[each * columns + at + i]);
  return result;
}

#endif
