/* The reference engine's typed buffers: formats taken out of their names, values exact and rounded
 * once. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/isa/base/real.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

/* Number formats by the letters below. */
enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOATING, SRGB = 9 };

/* Data formats as the documents name them: the last component stands first. The last row is of
 * images only. */
static const char *const names[] = {
    "",        "8",        "16",          "8_8",        "32",
    "16_16",   "10_11_11", "11_11_10",    "10_10_10_2", "2_10_10_10",
    "8_8_8_8", "32_32",    "16_16_16_16", "32_32_32",   "32_32_32_32",
    "-",       "5_6_5",    "1_5_5_5",     "5_5_5_1",    "4_4_4_4",
};

static const real_format_t float11 = {5, 6, 15, false}, float10 = {5, 5, 15, false};

bool isa_reference_layout(unsigned data, unsigned number, layout_t *l)
{
  const char *name = data < sizeof names / sizeof *names ? names[data] : "-";
  unsigned listed[4], n = 0;
  *l = (layout_t){.number = number};
  for (const char *at = name; *at >= '0' && *at <= '9'; ++n) {
    char *end;
    listed[n] = (unsigned)strtoul(at, &end, 10);
    at = end + (*end == '_');
  }
  l->count = n;
  for (unsigned i = 0; i < n; ++i) {
    l->width[i] = listed[n - 1 - i];
    l->start[i] = l->total;
    l->total += l->width[i];
  }
  if (!n)
    return *name == 0;
  if (data >= 16)
    return number == UNORM;
  if (number == FLOATING)
    return l->width[0] > 8 && !(n == 4 && l->total == 32);
  if (number == SRGB)
    return l->width[0] == 8;
  return number < RESERVED && (l->width[0] != 32 || number == UINT || number == SINT);
}

/* GFX11 has no others of 10_11_11 and 11_11_10 than floats, and no scaled ones of 10_10_10_2. */
static bool is_left_out(unsigned data, unsigned number)
{
  return ((data == 6 || data == 7) && number != FLOATING) ||
         (data == 8 && (number == USCALED || number == SSCALED));
}

/* GFX10 has one number for all that there is, in this order; 0 is no format. GFX11 has fewer. */
static bool unified_layout(unsigned unified, bool has_fewer, layout_t *l)
{
  enum { LAST = 14 };
  unsigned count = 0;
  if (!unified)
    return isa_reference_layout(0, 0, l);
  for (unsigned data = 1; data <= LAST; ++data)
    for (unsigned number = UNORM; number <= FLOATING; ++number)
      if (isa_reference_layout(data, number, l) && !(has_fewer && is_left_out(data, number)) &&
          ++count == unified)
        return true;
  return false;
}

static bool layout_of(const isa_wave_t *wave, const isa_inst_t *inst, layout_t *l)
{
  const uint32_t word = wave->s[inst->mem.saddr.index + 3];
  const bool is_own = inst->encoding == ISA_MTBUF;
  const bool has_fewer = isa_chip(inst->chip)->fewer_formats;
  if (isa_chip(inst->chip)->unified_formats)
    return unified_layout(is_own ? inst->mem.format : word >> 12 & (has_fewer ? 0x3f : 0x7f),
                          has_fewer, l);
  return isa_reference_layout(is_own ? inst->mem.format % 16 : word / 32768 % 16,
                              is_own ? inst->mem.format / 16 : word / 4096 % 8, l);
}

bool isa_reference_is_integer(const layout_t *l)
{
  return l->number == UINT || l->number == SINT;
}

static const real_format_t *float_of_width(unsigned width)
{
  return width == 32 ? &real_f32 : width == 16 ? &real_f16 : width == 11 ? &float11 : &float10;
}

/* NaNs keep their sign and as much of their payload as there is room for, quiet when it shrinks. */
static uint64_t converted(uint64_t bits, const real_format_t *from, const real_format_t *to,
                          bool has_sign)
{
  const real_t x = real_of(bits, from);
  if (from == to)
    return bits;
  if (x.kind != REAL_NAN)
    return has_sign     ? real_bits(x, to, REAL_NEAREST)
           : x.negative ? 0
                        : real_bits(x, to, REAL_NEAREST);
  const unsigned f = from->fraction_bits, t = to->fraction_bits;
  uint64_t payload = bits & (((uint64_t)1 << f) - 1);
  payload = t >= f ? payload << (t - f) : payload >> (f - t) | (uint64_t)1 << (t - 1);
  const uint64_t sign = has_sign ? bits >> (from->exponent_bits + f) & 1 : 0;
  return sign << (to->exponent_bits + t) | (uint64_t)((1 << to->exponent_bits) - 1) << t | payload;
}

uint32_t isa_reference_half(uint32_t value)
{
  return (uint32_t)converted(value, &real_f32, &real_f16, true);
}

static int64_t limited(int64_t x, int64_t low, int64_t high)
{
  return x < low ? low : x > high ? high : x;
}

static uint64_t divided(int64_t a, int64_t b, const real_format_t *format)
{
  /* The quotient to 60 bits, and whether there is more. */
  const bool negative = a < 0;
  const real_digits_t n = (real_digits_t)(uint64_t)(negative ? -a : a) << 60;
  real_digits_t digits = n / (uint64_t)b;
  if (n % (uint64_t)b)
    digits |= 1;
  real_t q = {REAL_FINITE, negative, -60, digits};
  return real_bits(q, format, REAL_NEAREST);
}

/* IEC 61966-2-1, to f64. */
static uint64_t linear(uint64_t raw)
{
  const long double x = (long double)raw / 255;
  const double y = (double)(x <= 0.04045L ? x / 12.92L : powl((x + 0.055L) / 1.055L, 2.4L));
  uint64_t bits;
  memcpy(&bits, &y, sizeof bits);
  return bits;
}

/* A component as the register has it. */
static uint32_t loaded(const layout_t *l, unsigned i, uint64_t raw, bool is_half)
{
  const unsigned width = l->width[i];
  const real_format_t *to = is_half ? &real_f16 : &real_f32;
  const int64_t high = ((int64_t)1 << (width - 1)) - 1;
  const int64_t value = raw >> (width - 1) ? (int64_t)raw - 2 * high - 2 : (int64_t)raw;
  switch (l->number) {
  case SRGB:
    if (i < 3)
      return (uint32_t)real_bits(real_of(linear(raw), &real_f64), to, REAL_NEAREST);
    return (uint32_t)divided((int64_t)raw, 2 * high + 1, to);
  case UNORM:
    return (uint32_t)divided((int64_t)raw, 2 * high + 1, to);
  case SNORM:
    return (uint32_t)divided(value < -high ? -high : value, high, to);
  case USCALED:
    return (uint32_t)real_bits(real_of_integer((int64_t)raw), to, REAL_NEAREST);
  case SSCALED:
    return (uint32_t)real_bits(real_of_integer(value), to, REAL_NEAREST);
  case UINT:
    return (uint32_t)(is_half ? limited((int64_t)raw, 0, 65535) : (int64_t)raw);
  case SINT:
    return (uint32_t)(is_half ? limited(value, -32768, 32767) & 0xffff : value);
  default:
    return (uint32_t)converted(raw, float_of_width(width), to, true);
  }
}

/* A register's value as the component has it. */
static uint64_t stored(const layout_t *l, unsigned i, uint32_t value, bool is_half)
{
  const unsigned width = l->width[i];
  const real_format_t *from = is_half ? &real_f16 : &real_f32;
  const real_t x = real_of(value, from);
  const int64_t most = ((int64_t)1 << width) - 1, high = most / 2;
  const int64_t whole = is_half ? (int16_t)value : (int32_t)value;
  real_t scaled;
  switch (l->number) {
  case UNORM: /* times 2^width - 1, which is a product and a difference without rounding */
  case SNORM:
    scaled = real_product(x, real_of_integer(l->number == UNORM ? most : high));
    return (uint64_t)(l->number == UNORM ? real_integer(scaled, REAL_NEAREST, 0, most)
                                         : real_integer(scaled, REAL_NEAREST, -high, high));
  case USCALED:
    return (uint64_t)real_integer(x, REAL_TO_ZERO, 0, most);
  case SSCALED:
    return (uint64_t)real_integer(x, REAL_TO_ZERO, -high - 1, high);
  case UINT:
    return (uint64_t)limited(is_half ? value & 0xffff : value, 0, most);
  case SINT:
    return (uint64_t)limited(whole, -high - 1, high);
  default:
    return converted(value, from, float_of_width(width), width >= 16);
  }
}

uint32_t isa_reference_loaded(const layout_t *l, unsigned i, const place_t *place, bool is_half)
{
  const unsigned at = l->start[i] / 32 * 4, bytes = place->bytes - at;
  const uint64_t raw = isa_reference_get(place, at, bytes < 4 ? bytes : 4) >> l->start[i] % 32;
  return loaded(l, i, raw & (((uint64_t)1 << l->width[i]) - 1), is_half);
}

uint64_t isa_reference_stored(const layout_t *l, unsigned i, uint32_t value, bool is_half)
{
  return stored(l, i, value, is_half) & (((uint64_t)1 << l->width[i]) - 1);
}

typedef struct what {
  unsigned count; /* components of the instruction */
  bool is_half;
  unsigned first; /* half of the register that x is in */
} what_t;

static void load(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l, what_t what,
                 const place_t *place, unsigned lane)
{
  const uint32_t word = wave->s[inst->mem.saddr.index + 3];
  const bool is_integer = isa_reference_is_integer(l);
  for (unsigned i = 0; i < what.count; ++i) {
    const unsigned select = inst->encoding == ISA_MTBUF ? 4 + i : word >> 3 * i & 7;
    uint32_t value = 0;
    if (select == 1)
      value = is_integer ? 1 : what.is_half ? 0x3c00 : 0x3f800000;
    if (select >= 4 && select - 4 < l->count)
      value = isa_reference_loaded(l, select - 4, place, what.is_half);
    if (what.is_half) {
      const unsigned row = (i + what.first) / 2, half = (i + what.first) % 2;
      uint32_t old = (uint32_t)isa_reference_rows(wave, &inst->dst, row, lane, 1);
      if (wave->dispatch->sram_ecc && i % 2 == 0)
        old = 0;
      value = half ? (old & 0xffff) | value << 16 : (old & 0xffff0000) | value;
      isa_reference_set(wave, &inst->dst, row, lane, value);
    } else {
      isa_reference_set(wave, &inst->dst, i, lane, value);
    }
  }
}

static void store(isa_wave_t *wave, const isa_inst_t *inst, const layout_t *l, what_t what,
                  const place_t *place, unsigned lane)
{
  uint64_t packed = 0;
  const bool is_packed = l->width[0] % 8;
  for (unsigned i = 0; i < what.count && i < l->count; ++i) {
    const unsigned half = i + what.first;
    uint32_t value = (uint32_t)isa_reference_rows(wave, &inst->mem.data[0],
                                                  what.is_half ? half / 2 : i, lane, 1);
    if (what.is_half)
      value = value >> 16 * (half % 2) & 0xffff;
    const uint64_t bits = isa_reference_stored(l, i, value, what.is_half);
    packed |= is_packed ? bits << l->start[i] : 0;
    if (!is_packed)
      isa_reference_put(place, l->start[i] / 8, l->width[i] / 8, bits);
  }
  if (is_packed)
    isa_reference_put(place, 0, 4, packed);
}

static transfer_t transfer_of(const isa_inst_t *inst, const layout_t *l)
{
  return (transfer_t){.kind = strstr(isa_op_name(inst->op), "store") ? 'S' : 'L',
                      .bytes = (uint8_t)(l->total / 8)};
}

bool isa_reference_format_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  layout_t l;
  place_t place;
  if (!layout_of(wave, inst, &l) || !l.count)
    return true;
  const transfer_t t = transfer_of(inst, &l);
  return isa_reference_element(wave, inst, &t, lane, &place);
}

bool isa_reference_format_place(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                                place_t *place)
{
  layout_t l;
  if (!layout_of(wave, inst, &l) || !l.count)
    return false;
  const transfer_t t = transfer_of(inst, &l);
  return isa_reference_element(wave, inst, &t, lane, place);
}

bool isa_reference_format(isa_wave_t *wave, const isa_inst_t *inst)
{
  const char *name = isa_op_name(inst->op);
  const bool is_store = strstr(name, "store");
  const what_t what = {(unsigned)strlen(strrchr(name, '_') + 1), strstr(name, "d16") != NULL,
                       strstr(name, "hi_x") != NULL};
  layout_t l;
  place_t places[ISA_LANES];
  if (!layout_of(wave, inst, &l))
    return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  const transfer_t t = transfer_of(inst, &l);
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (l.count && isa_exec(wave) >> lane & 1 &&
        !isa_reference_element(wave, inst, &t, lane, &places[lane]))
      return false;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1 && (l.count || !is_store))
      (is_store ? store : load)(wave, inst, &l, what, &places[lane], lane);
  return true;
}
