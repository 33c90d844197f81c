/* The reference engine's image_sample: coordinates in integers, sums rounded as sample.c says. */
#include <string.h>

#include "softgpu/isa/base/real.h"
#include "softgpu/isa/memory/image.h"
#include "softgpu/isa/reference/memory.h"
#include "softgpu/isa/reference/reference.h"

enum { WRAP, MIRROR, EDGE, ONCE_EDGE, BORDER = 6, ONCE_BORDER };

typedef struct texture {
  const uint32_t *t, *s; /* image and sampler */
  unsigned dimensions;
  bool has_layers;
  uint32_t sizes[3], first, last; /* layers */
  layout_t layout;
} texture_t;

static texture_t texture_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  texture_t x = {.t = &wave->s[inst->mem.saddr.index], .s = &wave->s[inst->mem.soffset.index]};
  const unsigned type = x.t[3] >> 28;
  x.dimensions = type == 10 ? 3 : type % 4 == 1 ? 2 : 1;
  x.has_layers = type > 10;
  x.sizes[0] = x.t[2] % 16384 + 1;
  x.sizes[1] = x.dimensions > 1 ? x.t[2] / 16384 % 16384 + 1 : 1;
  x.sizes[2] = x.t[4] % 8192 + 1;
  x.first = x.t[5] % 8192;
  x.last = x.has_layers ? x.t[4] % 8192 : x.first;
  isa_reference_layout(x.t[1] >> 20 & 63, x.t[1] >> 26 & 15, &x.layout);
  return x;
}

static real_t address(isa_wave_t *wave, const isa_inst_t *inst, unsigned n, unsigned lane)
{
  if (!inst->mem.image.a16)
    return real_of(isa_reference_rows(wave, &inst->mem.vaddr, n, lane, 1), &real_f32);
  return real_of(isa_reference_rows(wave, &inst->mem.vaddr, n / 2, lane, 1) >> 16 * (n % 2) &
                     0xffff,
                 &real_f16);
}

/* In 256ths of a texel. Where the image repeats, within two of it. */
static int64_t position(const texture_t *x, const isa_inst_t *inst, unsigned axis, real_t c)
{
  const unsigned how = x->s[0] >> 3 * axis & 7;
  const bool is_normalized = !(x->s[0] >> 15 & 1 || inst->mem.image.unnormalized);
  const int64_t round = 2 * 256 * (int64_t)x->sizes[axis];
  if (c.kind == REAL_NAN || (c.kind == REAL_INFINITE && how <= MIRROR))
    return 0;
  if (is_normalized)
    c = real_product(c, real_of_integer(x->sizes[axis]));
  if (how <= MIRROR && c.kind == REAL_FINITE && c.exponent > 0) { /* an integer, maybe a huge one */
    uint64_t rest = (uint64_t)(c.digits % (uint64_t)round) * 256 % (uint64_t)round;
    for (int i = 0; i < c.exponent; ++i)
      rest = rest * 2 % (uint64_t)round;
    return c.negative ? round - (int64_t)rest : (int64_t)rest;
  }
  if (c.kind == REAL_FINITE && !real_is_zero(c))
    c = real_scaled(c, 8);
  if (!(x->s[0] >> 27 & 1))
    c = real_sum(c, real_scaled(real_of_integer(1), -1), REAL_NEAREST);
  return real_integer(c, REAL_DOWN, -((int64_t)1 << 60), (int64_t)1 << 60);
}

/* -1: beyond the image. */
static int64_t texel_at(const texture_t *x, unsigned axis, int64_t i)
{
  const int64_t size = x->sizes[axis];
  const unsigned how = x->s[0] >> 3 * axis & 7;
  if (how == WRAP)
    return (i % size + size) % size;
  if (how == MIRROR) {
    i = (i % (2 * size) + 2 * size) % (2 * size);
    return i >= size ? 2 * size - 1 - i : i;
  }
  if ((how == ONCE_EDGE || how == ONCE_BORDER) && i < 0)
    i = ~i;
  if (i >= 0 && i < size)
    return i;
  return how == BORDER || how == ONCE_BORDER ? -1 : i < 0 ? 0 : size - 1;
}

static bool is_blended(const texture_t *x)
{
  return (x->s[2] >> 20 & 3) == 1 && !isa_reference_is_integer(&x->layout);
}

static uint32_t border(const texture_t *x, unsigned component)
{
  static const char orders[8][5] = {"XYZW", "XWYZ", "WZYX", "WXYZ", "ZYXW", "YXWZ", "XYZW", "XYZW"};
  const unsigned color = x->s[3] >> 30;
  const bool is_one = color == 2 || (color == 1 && orders[x->t[4] >> 29][component] == 'W');
  return !is_one ? 0 : isa_reference_is_integer(&x->layout) ? 1 : 0x3f800000;
}

/* The texel's components; false for a fault. */
static bool texel(isa_wave_t *wave, const isa_inst_t *inst, const texture_t *x, unsigned lane,
                  const int64_t at[3], uint32_t values[4])
{
  const bool is_half = inst->mem.image.d16 && isa_reference_is_integer(&x->layout);
  const uint32_t place_at[3] = {(uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2]};
  place_t place = {.bytes = x->layout.total / 8, .is_shared = true};
  const bool is_outside = at[0] < 0 || at[1] < 0 || at[2] < 0 || x->last < x->first;
  if (!is_outside) {
    const uint64_t base = ((uint64_t)(x->t[1] & 255) << 32 | x->t[0]) << 8;
    const uint64_t offset = isa_reference_texel(x->t[3] >> 20 & 31, x->dimensions == 3, place.bytes,
                                                (x->t[4] >> 13 & 65535) + 1, x->sizes[1], place_at);
    uint8_t *host = isa_reference_reach(wave, lane, base + offset, place.bytes, 'L');
    if (!host)
      return false;
    for (unsigned i = 0; i < place.bytes; ++i)
      place.at[i] = host + i;
  }
  for (unsigned i = 0; i < 4; ++i) {
    values[i] = is_outside ? border(x, i) : 0;
    if (!is_outside && i < x->layout.count)
      values[i] = isa_reference_loaded(&x->layout, i, &place, is_half);
  }
  return true;
}

static uint64_t rounded(real_t x, const real_format_t *format)
{
  return real_bits(x, format, REAL_NEAREST);
}

/* Adds weight / 2^16 of a texel to sums of f64. */
static void add(uint64_t sums[4], const uint32_t values[4], uint32_t weight)
{
  const real_t part = real_scaled(real_of_integer(weight), -16);
  for (unsigned i = 0; i < 4; ++i) {
    const real_t more = real_product(real_of(values[i], &real_f32), part);
    sums[i] = rounded(real_sum(real_of(sums[i], &real_f64), more, REAL_NEAREST), &real_f64);
  }
}

static bool sampled(isa_wave_t *wave, const isa_inst_t *inst, const texture_t *x, unsigned lane,
                    uint32_t values[4])
{
  int64_t first[3] = {0};
  uint32_t rest[3] = {0};
  for (unsigned axis = 0; axis < x->dimensions; ++axis) {
    int64_t at = position(x, inst, axis, address(wave, inst, axis, lane));
    at -= is_blended(x) ? 128 : 0;
    rest[axis] = is_blended(x) ? (uint32_t)(at & 255) : 0;
    first[axis] = at >> 8;
  }
  if (x->dimensions < 3) {
    real_t layer = real_of_integer(0);
    if (x->has_layers && inst->mem.image.da)
      layer = address(wave, inst, x->dimensions, lane);
    first[2] = real_integer(layer, REAL_NEAREST, 0, (int64_t)x->last - x->first) + x->first;
  }
  uint64_t sums[4] = {0};
  unsigned count = 0;
  for (unsigned corner = 0; corner < 4; ++corner) {
    int64_t at[3] = {0, 0, first[2]};
    uint32_t weight = 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const unsigned far = corner >> axis & 1;
      if (axis < 2)
        weight *= far ? rest[axis] : 256 - rest[axis];
      if (axis < x->dimensions)
        at[axis] = texel_at(x, axis, first[axis] + far);
    }
    if (!weight)
      continue;
    if (!texel(wave, inst, x, lane, at, values))
      return false;
    add(sums, values, weight);
    ++count;
  }
  for (unsigned i = 0; count > 1 && i < 4; ++i)
    values[i] = (uint32_t)rounded(real_of(sums[i], &real_f64), &real_f32);
  return true;
}

bool isa_reference_sample_passes(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane)
{
  const texture_t x = texture_of(wave, inst);
  uint32_t values[4];
  return sampled(wave, inst, &x, lane, values);
}

bool isa_reference_sample(isa_wave_t *wave, const isa_inst_t *inst)
{
  const texture_t x = texture_of(wave, inst);
  const bool is_half = inst->mem.image.d16, is_integer = isa_reference_is_integer(&x.layout);
  uint32_t values[ISA_LANES][4];
  for (unsigned lane = 0; lane < ISA_LANES; ++lane)
    if (isa_exec(wave) >> lane & 1 && !sampled(wave, inst, &x, lane, values[lane]))
      return false;
  for (unsigned lane = 0; lane < ISA_LANES; ++lane) {
    if (!(isa_exec(wave) >> lane & 1))
      continue;
    uint32_t out[4];
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned select = x.t[3] >> 3 * i & 7;
      uint32_t value = select - 4u < x.layout.count ? values[lane][select - 4] : 0;
      if (is_half && !is_integer)
        value = isa_reference_half(value);
      if (select == 1)
        value = is_integer ? 1 : is_half ? 0x3c00 : 0x3f800000;
      out[i] = value;
    }
    isa_reference_image_put(wave, inst, lane, out);
  }
  return true;
}
