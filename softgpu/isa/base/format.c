#include "softgpu/isa/base/format.h"

#include <math.h>
#include <stddef.h>

#include "softgpu/isa/base/small.h"

enum {
  INTEGERS = 1 << ISA_NUMBER_UINT | 1 << ISA_NUMBER_SINT,
  FIXED = INTEGERS | 1 << ISA_NUMBER_UNORM | 1 << ISA_NUMBER_SNORM | 1 << ISA_NUMBER_USCALED |
          1 << ISA_NUMBER_SSCALED,
  FLOAT = 1 << ISA_NUMBER_FLOAT,
  SRGB = 1 << ISA_NUMBER_SRGB,
  UNORM = 1 << ISA_NUMBER_UNORM
};

/* By data format; components from x on. */
static const struct {
  uint8_t bytes, components, bits[4];
  uint16_t numbers; /* bit = number format that there is */
} layouts[64] = {
    {0, 0, {0}, 0xff},
    {1, 1, {8}, FIXED | SRGB},
    {2, 1, {16}, FIXED | FLOAT},
    {2, 2, {8, 8}, FIXED | SRGB},
    {4, 1, {32}, INTEGERS | FLOAT},
    {4, 2, {16, 16}, FIXED | FLOAT},
    {4, 3, {11, 11, 10}, FIXED | FLOAT}, /* 10_11_11 */
    {4, 3, {10, 11, 11}, FIXED | FLOAT}, /* 11_11_10 */
    {4, 4, {2, 10, 10, 10}, FIXED},      /* 10_10_10_2 */
    {4, 4, {10, 10, 10, 2}, FIXED},      /* 2_10_10_10 */
    {4, 4, {8, 8, 8, 8}, FIXED | SRGB},
    {8, 2, {32, 32}, INTEGERS | FLOAT},
    {8, 4, {16, 16, 16, 16}, FIXED | FLOAT},
    {12, 3, {32, 32, 32}, INTEGERS | FLOAT},
    {16, 4, {32, 32, 32, 32}, INTEGERS | FLOAT},
    {0, 0, {0}, 0},              /* reserved */
    {2, 3, {5, 6, 5}, UNORM},    /* 5_6_5 */
    {2, 4, {5, 5, 5, 1}, UNORM}, /* 1_5_5_5 */
    {2, 4, {1, 5, 5, 5}, UNORM}, /* 5_5_5_1 */
    {2, 4, {4, 4, 4, 4}, UNORM},
};

bool isa_format_find(unsigned data, unsigned number, isa_format_t *format)
{
  *format = (isa_format_t){.bytes = layouts[data].bytes,
                           .components = layouts[data].components,
                           .number = (uint8_t)number};
  memcpy(format->bits, layouts[data].bits, sizeof format->bits);
  return layouts[data].numbers >> number & 1;
}

/* Which numbers each data format has, in the order in which the unified formats are counted: of
 * GFX10 and from GFX11 on. RDNA 2 and RDNA 3 ISA documents, "Buffer Image format Table". */
typedef struct unified {
  uint8_t data, numbers[2]; /* bit = place in `numbers_in_order` */
} unified_t;

static const uint8_t numbers_in_order[] = {ISA_NUMBER_UNORM,   ISA_NUMBER_SNORM, ISA_NUMBER_USCALED,
                                           ISA_NUMBER_SSCALED, ISA_NUMBER_UINT,  ISA_NUMBER_SINT,
                                           ISA_NUMBER_FLOAT};

enum { ALL = 0x7f, NO_FLOAT = 0x3f, WIDE = 0x70, ONLY_FLOAT = 0x40, UNSCALED = 0x33 };

static const unified_t unified[] = {
    {1, {NO_FLOAT, NO_FLOAT}},  {2, {ALL, ALL}},           {3, {NO_FLOAT, NO_FLOAT}},
    {4, {WIDE, WIDE}},          {5, {ALL, ALL}},           {6, {ALL, ONLY_FLOAT}},
    {7, {ALL, ONLY_FLOAT}},     {8, {NO_FLOAT, UNSCALED}}, {9, {NO_FLOAT, NO_FLOAT}},
    {10, {NO_FLOAT, NO_FLOAT}}, {11, {WIDE, WIDE}},        {12, {ALL, ALL}},
    {13, {WIDE, WIDE}},         {14, {WIDE, WIDE}},
};

bool isa_format_find_unified(unsigned number, bool has_fewer, isa_format_t *format)
{
  unsigned counted = 1;
  if (!number)
    return isa_format_find(0, 0, format);
  for (size_t i = 0; i < sizeof unified / sizeof *unified; ++i)
    for (unsigned n = 0; n < sizeof numbers_in_order; ++n)
      if (unified[i].numbers[has_fewer] >> n & 1 && counted++ == number)
        return isa_format_find(unified[i].data, numbers_in_order[n], format);
  return false;
}

static unsigned first_bit(const isa_format_t *format, unsigned component)
{
  unsigned bit = 0;
  for (unsigned i = 0; i < component; ++i)
    bit += format->bits[i];
  return bit;
}

static uint32_t ones(unsigned bits)
{
  return bits == 32 ? UINT32_MAX : (1u << bits) - 1;
}

static int32_t sign_extended(uint32_t value, unsigned bits)
{
  return (int32_t)(value << (32 - bits)) >> (32 - bits);
}

/* To nearest even, at once. */
static uint32_t half_of_double(double x)
{
  float f = (float)x;
  uint32_t bits = float_bits(f);
  if ((double)f != x && isfinite(x)) { /* cut off, with a last bit that says there was more */
    bits -= fabs((double)f) > fabs(x);
    bits |= 1;
  }
  return float_bits_to_half(bits);
}

static uint32_t real_of_double(double x, bool is_half)
{
  return is_half ? half_of_double(x) : float_bits((float)x);
}

/* Floats of 10 and 11 bits have five of exponent, as f16, and no sign. */
static uint32_t load_float(uint32_t raw, unsigned bits, bool is_half)
{
  if (bits == 32)
    return is_half ? float_bits_to_half(raw) : raw;
  const uint32_t half = bits == 16 ? raw : raw << (15 - bits);
  return is_half ? half : half_to_float_bits(half);
}

static uint32_t saturated_half(uint32_t raw, bool is_signed)
{
  const int32_t value = (int32_t)raw;
  if (!is_signed)
    return raw < 0xffff ? raw : 0xffff;
  return (uint32_t)(value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value) & 0xffff;
}

/* IEC 61966-2-1. */
static double linear_of(double x)
{
  return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

uint32_t isa_format_load(const isa_format_t *format, unsigned component, const uint32_t element[4],
                         bool is_half)
{
  const unsigned bits = format->bits[component], at = first_bit(format, component);
  const uint32_t raw = element[at / 32] >> at % 32 & ones(bits);
  const int32_t value = sign_extended(raw, bits);
  switch (format->number) {
  case ISA_NUMBER_UNORM:
    return real_of_double((double)raw / ones(bits), is_half);
  case ISA_NUMBER_SRGB:
    return real_of_double(component < 3 ? linear_of(raw / 255.0) : raw / 255.0, is_half);
  case ISA_NUMBER_SNORM: /* the lowest code is -1 as well */
    return real_of_double(fmax((double)value / ones(bits - 1), -1), is_half);
  case ISA_NUMBER_USCALED:
    return real_of_double(raw, is_half);
  case ISA_NUMBER_SSCALED:
    return real_of_double(value, is_half);
  case ISA_NUMBER_UINT:
    return is_half ? saturated_half(raw, false) : raw;
  case ISA_NUMBER_SINT:
    return is_half ? saturated_half((uint32_t)value, true) : (uint32_t)value;
  default:
    return load_float(raw, bits, is_half);
  }
}

uint32_t isa_format_one(const isa_format_t *format, bool is_half)
{
  if (format->number == ISA_NUMBER_UINT || format->number == ISA_NUMBER_SINT)
    return 1;
  return is_half ? 0x3c00 : 0x3f800000;
}

/* A float of f32's bits as one of 10 or 11: to nearest even; below 0 there is nothing. */
static uint32_t small_float(uint32_t value, unsigned bits)
{
  const unsigned mantissa = bits - 5;
  const small_format_t format = {(uint8_t)(bits + 1), (uint8_t)mantissa, 15, SMALL_IEEE};
  if ((value & 0x7fffffff) > 0x7f800000)
    return 31u << mantissa | 1u << (mantissa - 1) | (value >> (23 - mantissa) & ones(mantissa));
  return value >> 31 ? 0 : small_of_float(float_of(value), 127, format, NULL, false);
}

static uint32_t store_float(uint32_t value, unsigned bits, bool is_half)
{
  if (bits == 16)
    return is_half ? value & 0xffff : float_bits_to_half(value);
  const uint32_t wide = is_half ? half_to_float_bits(value & 0xffff) : value;
  return bits == 32 ? wide : small_float(wide, bits);
}

/* NaN as 0. */
static double clamped(double x, double low, double high)
{
  return isnan(x) ? 0 : x < low ? low : x > high ? high : x;
}

static uint32_t store_integer(uint32_t value, unsigned bits, bool is_signed, bool is_half)
{
  if (!is_signed) {
    const uint32_t wide = is_half ? value & 0xffff : value;
    return wide < ones(bits) ? wide : ones(bits);
  }
  const int64_t wide = is_half ? (int16_t)value : (int32_t)value, high = ones(bits - 1);
  return (uint32_t)(wide < -high - 1 ? -high - 1 : wide > high ? high : wide);
}

static uint32_t store_bits(const isa_format_t *format, unsigned bits, uint32_t value, bool is_half)
{
  const bool is_signed = format->number & 1; /* of all but floats */
  const double high = ones(is_signed ? bits - 1 : bits);
  const double x = (double)float_of(is_half ? half_to_float_bits(value & 0xffff) : value);
  switch (format->number) {
  case ISA_NUMBER_UNORM:
  case ISA_NUMBER_SNORM:
    return (uint32_t)(int32_t)rint(clamped(x, is_signed ? -1 : 0, 1) * high);
  case ISA_NUMBER_USCALED:
  case ISA_NUMBER_SSCALED:
    return (uint32_t)(int32_t)clamped(x, is_signed ? -high - 1 : 0, high);
  case ISA_NUMBER_UINT:
  case ISA_NUMBER_SINT:
    return store_integer(value, bits, is_signed, is_half);
  default:
    return store_float(value, bits, is_half);
  }
}

void isa_format_store(const isa_format_t *format, unsigned component, uint32_t value, bool is_half,
                      uint32_t element[4])
{
  const unsigned bits = format->bits[component], at = first_bit(format, component);
  element[at / 32] |= (store_bits(format, bits, value, is_half) & ones(bits)) << at % 32;
}
