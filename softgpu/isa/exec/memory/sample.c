/* image_sample. The documents name what a sampler can say, and leave the arithmetic to the
 * hardware; what is done here: coordinates have 8 bits after the point, rounded to nearest, or cut
 * off where the sampler says so; texels are taken as f32; their sum with the products of the
 * weights is made in f64, from x on, and rounded to f32. */
#include <math.h>

#include "softgpu/isa/base/float.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/access.h"
#include "softgpu/isa/exec/memory/sample.h"

isa_sampler_t isa_sampler_read(const isa_wave_t *wave, const isa_inst_t *inst,
                               const isa_image_t *image)
{
  /* Which component of a texel is a border colour's alpha, by the image's order. */
  static const uint8_t alpha[8] = {3, 1, 0, 0, 3, 2, 3, 3};
  const uint32_t *s = &wave->s[inst->mem.soffset.index];
  const unsigned color = s[3] >> 30;
  const bool is_integer =
      image->format.number == ISA_NUMBER_UINT || image->format.number == ISA_NUMBER_SINT;
  isa_sampler_t sampler = {
      .clamp = {s[0] & 7, s[0] >> 3 & 7, s[0] >> 6 & 7},
      .is_linear = (s[2] >> 20 & 3) == 1 && !is_integer,
      .is_unnormalized = s[0] >> 15 & 1 || inst->mem.image.unnormalized,
      .truncates = s[0] >> 27 & 1,
  };
  for (unsigned i = 0; i < 4; ++i)
    sampler.border[i] = color == 2 || (color == 1 && i == alpha[image->border]);
  return sampler;
}

/* One axis: up to two texels, -1 for the border, and how much each counts, of 256. */
typedef struct axis {
  int32_t at[2];
  uint32_t weight[2];
} axis_t;

static int64_t modulo(int64_t x, int64_t n)
{
  return (x % n + n) % n;
}

static int32_t clamped(int64_t at, int64_t size, unsigned how)
{
  if (at >= 0 && at < size)
    return (int32_t)at;
  switch (how) {
  case ISA_CLAMP_WRAP:
    return (int32_t)modulo(at, size);
  case ISA_CLAMP_MIRROR:
    at = modulo(at, 2 * size);
    return (int32_t)(at < size ? at : 2 * size - 1 - at);
  case ISA_CLAMP_MIRROR_ONCE_EDGE:
  case ISA_CLAMP_MIRROR_ONCE_BORDER:
    at = at < 0 ? -1 - at : at;
    break;
  default:
    break;
  }
  if (at >= 0 && at < size)
    return (int32_t)at;
  if (how >= ISA_CLAMP_BORDER)
    return -1;
  return at < 0 ? 0 : (int32_t)size - 1;
}

static axis_t axis_of(const isa_sampler_t *sampler, unsigned n, uint32_t size, double coordinate)
{
  enum { FAR = 1 << 17 }; /* beyond every image, mirrored or not */
  const unsigned how = sampler->clamp[n];
  if (!sampler->is_unnormalized)
    coordinate *= size;
  if (how <= ISA_CLAMP_MIRROR && !(fabs(coordinate) < 2.0 * size)) /* the remainder is slow */
    coordinate = fmod(coordinate, 2.0 * size);
  if (isnan(coordinate))
    coordinate = 0;
  coordinate = fmin(fmax(coordinate, -FAR), FAR);
  int64_t fixed = (int64_t)floor(coordinate * 256 + (sampler->truncates ? 0 : 0.5));
  axis_t axis = {{0}, {256, 0}};
  if (sampler->is_linear) {
    fixed -= 128;
    axis.weight[1] = (uint32_t)modulo(fixed, 256);
    axis.weight[0] = 256 - axis.weight[1];
  }
  const int64_t first = (fixed - modulo(fixed, 256)) / 256;
  for (unsigned i = 0; i < 2; ++i)
    axis.at[i] = clamped(first + i, size, how);
  return axis;
}

static double coordinate_of(const isa_wave_t *wave, const isa_inst_t *inst, unsigned component,
                            unsigned lane)
{
  const uint32_t bits = isa_image_address(wave, inst, component, lane);
  return (double)float_of(inst->mem.image.a16 ? half_to_float_bits(bits) : bits);
}

/* A texel that counts: its four components as registers have them. */
typedef struct texel {
  uint32_t values[4];
  double weight;
} texel_t;

static bool fetch(isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image, unsigned lane,
                  const int32_t at[3], const isa_sampler_t *sampler, texel_t *texel)
{
  const isa_format_t *format = &image->format;
  const bool is_border = at[0] < 0 || at[1] < 0 || at[2] < 0 || !image->layers;
  const bool is_integer = format->number == ISA_NUMBER_UINT || format->number == ISA_NUMBER_SINT;
  const bool is_half = is_integer && inst->mem.image.d16;
  uint32_t element[4] = {0};
  if (!is_border) {
    isa_range_t *range = isa_range_of(wave, inst);
    const uint64_t address =
        image->base + isa_image_offset(image, (uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2]);
    if (!isa_reach(wave, range, lane, address, format->bytes, ISA_LOAD))
      return false;
    isa_lanes_t one = {.at[0] = isa_range_host(range, address)};
    isa_lane_read(&one, 0, element, format->bytes);
  }
  for (unsigned c = 0; c < 4; ++c) {
    texel->values[c] = c < format->components ? isa_format_load(format, c, element, is_half) : 0;
    if (is_border)
      texel->values[c] = is_integer ? (uint32_t)sampler->border[c] : float_bits(sampler->border[c]);
  }
  return true;
}

/* One texel is itself; of several each component is a sum. */
static void blend(const texel_t *texels, unsigned count, uint32_t values[4])
{
  memcpy(values, texels[0].values, sizeof texels[0].values);
  for (unsigned c = 0; count > 1 && c < 4; ++c) {
    double sum = 0;
    for (unsigned i = 0; i < count; ++i)
      sum += (double)float_of(texels[i].values[c]) * texels[i].weight;
    values[c] = isnan(sum) ? 0x7fc00000 : float_bits((float)sum);
  }
}

static int32_t layer_of(const isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image,
                        unsigned lane)
{
  double layer = 0;
  if (image->is_declared_array)
    layer = rint(coordinate_of(wave, inst, image->dimensions, lane));
  layer = fmin(fmax(isnan(layer) ? 0 : layer, 0), (double)image->layers - 1);
  return (int32_t)layer + (int32_t)image->first_layer;
}

static bool sample(isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image,
                   const isa_sampler_t *sampler, unsigned lane, uint32_t values[4])
{
  axis_t axes[3] = {{{0}, {256, 0}}, {{0}, {256, 0}}, {{0}, {256, 0}}};
  for (unsigned n = 0; n < image->dimensions; ++n)
    axes[n] = axis_of(sampler, n, image->size[n], coordinate_of(wave, inst, n, lane));
  if (image->dimensions < 3)
    axes[2].at[0] = layer_of(wave, inst, image, lane);
  texel_t texels[4];
  unsigned count = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned x = i % 2, y = i / 2;
    const int32_t at[3] = {axes[0].at[x], axes[1].at[y], axes[2].at[0]};
    const uint32_t weight = axes[0].weight[x] * axes[1].weight[y];
    if (!weight)
      continue;
    texels[count].weight = weight * 0x1p-16;
    if (!fetch(wave, inst, image, lane, at, sampler, &texels[count++]))
      return false;
  }
  blend(texels, count, values);
  return true;
}

/* What the descriptor selects of the texel. */
static void put(isa_wave_t *wave, const isa_inst_t *inst, const isa_image_t *image, unsigned lane,
                const uint32_t texel[4])
{
  const isa_format_t *format = &image->format;
  const bool is_half = inst->mem.image.d16;
  const bool is_integer = format->number == ISA_NUMBER_UINT || format->number == ISA_NUMBER_SINT;
  uint32_t values[4];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned select = image->select[i];
    values[i] = select >= 4 && select - 4 < format->components ? texel[select - 4] : 0;
    if (is_half && !is_integer)
      values[i] = float_bits_to_half(values[i]);
    if (select == 1)
      values[i] = isa_format_one(format, is_half);
  }
  isa_image_put(wave, inst, lane, values);
}

bool isa_image_sample(isa_wave_t *wave, const isa_inst_t *inst)
{
  if (!isa_image_check(wave, inst))
    return false;
  const isa_image_t image = isa_image_read(wave, inst);
  const isa_sampler_t sampler = isa_sampler_read(wave, inst, &image);
  uint32_t texels[ISA_LANES][4];
  isa_range_refresh(isa_range_of(wave, inst));
  ISA_EACH_LANE(lane, isa_exec(wave))
    if (!sample(wave, inst, &image, &sampler, lane, texels[lane]))
      return false;
  ISA_EACH_LANE(lane, isa_exec(wave))
    put(wave, inst, &image, lane, texels[lane]);
  return true;
}
