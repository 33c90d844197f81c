/* Bits and formats of floating-point numbers. Internal to softgpu.
 *
 * The inline functions have no branches, so that loops over lanes vectorise. They expect the host
 * to round to nearest. */
#ifndef SOFTGPU_ISA_BASE_FLOAT_H
#define SOFTGPU_ISA_BASE_FLOAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits)
{
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t float_bits(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double double_of(uint64_t bits)
{
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t double_bits(double value)
{
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The f32 of an f16; exact. NaNs keep their payload and stay signalling. */
static inline uint32_t half_to_float_bits(uint32_t half)
{
  uint32_t magnitude = (half & 0x7fff) << 13;
  uint32_t finite = float_bits(float_of(magnitude) * 0x1p112f); /* rebias the exponent */
  uint32_t special = magnitude | 0x7f800000;
  return (half & 0x8000) << 16 | (magnitude >= 0x7c00u << 13 ? special : finite);
}

/* The f16 of an f32, to nearest even. NaNs are quieted. */
static inline uint32_t float_bits_to_half(uint32_t bits)
{
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  /* Adding 1/2 leaves the denormal's units in the last place of the sum. */
  uint32_t denormal = float_bits(float_of(magnitude) + 0.5f) - 0x3f000000;
  uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
  uint32_t result = magnitude < 0x38800000 ? denormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? nan : result;
  return result | (bits >> 16 & 0x8000);
}

/* The same toward zero. */
static inline uint32_t float_bits_to_half_truncated(uint32_t bits)
{
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t normal = (magnitude >> 13) - (112u << 10);
  /* Denormals count units of 2^-24; a number below 2^-14 has at most 1023 of them. */
  float units = magnitude < 0x38800000 ? float_of(magnitude) * 0x1p24f : 0;
  uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x1ff);
  uint32_t result = magnitude < 0x38800000 ? (uint32_t)(int32_t)units : normal;
  result = magnitude >= 0x47800000 ? 0x7bff : result;
  result = magnitude == 0x7f800000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? nan : result;
  return result | (bits >> 16 & 0x8000);
}

/* The same in any rounding mode of the MODE register: 0 to nearest, 1 up, 2 down, 3 to zero. */
uint32_t float_bits_to_half_mode(uint32_t bits, unsigned rounding);

/* The bf16 of an f32, to nearest even. NaNs are quieted. */
static inline uint32_t float_bits_to_bf16(uint32_t bits)
{
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
  return (is_nan ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* 8-bit formats of gfx942: no infinities, no negative zero; 0x80 is the only NaN. */
typedef struct float8_format {
  uint8_t mantissa_bits; /* 3 in fp8, 2 in bf8 */
  uint8_t bias;          /* 8 and 16 */
} float8_format_t;

static const float8_format_t float8_fp8 = {3, 8}, float8_bf8 = {2, 16};

static inline float float8_to_float(uint32_t byte, float8_format_t format)
{
  uint32_t magnitude = (byte & 0x7f) << (23 - format.mantissa_bits);
  float rebias = float_of((254u - format.bias) << 23);
  uint32_t bits = float_bits(float_of(magnitude) * rebias) | (byte & 0x80) << 24;
  return float_of((byte & 0xff) == 0x80 ? 0x7fc00000 : bits);
}

/* To nearest even, or stochastically: `noise` is added below the last place kept. Too large numbers
 * become NaN, or the largest number when `saturate` is set; infinities likewise. */
uint32_t float_to_float8(float value, float8_format_t format, bool saturate);
uint32_t float_to_float8_stochastic(float value, float8_format_t format, uint32_t noise,
                                    bool saturate);

#endif
