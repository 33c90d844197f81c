/* Image and sampler descriptors. */
#include "softgpu/isa/memory/image.h"

#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/describe/opcodes.h"

typedef enum reason {
  NO_TYPE,
  NO_FORMAT,
  NO_LAYOUT,
  MIP_LEVELS,
  COMPRESSED,
  NO_REGISTERS,
  NO_ATOMIC,
  NO_STORE,
  NO_FILTER,
  NO_VOLUME,
  NO_BORDER,
  NO_CLAMP,
  NO_WARNING,
  REASONS
} reason_t;

static const char *const reasons[REASONS] = {
    [NO_TYPE] = "the descriptor is not that of an image of one to three dimensions",
    [NO_FORMAT] = "softgpu does not support the descriptor's combination of data and number format",
    [NO_LAYOUT] = "images of this shape and format do not have this layout",
    [MIP_LEVELS] = "the image has mip levels or is one",
    [COMPRESSED] = "the image is compressed",
    [NO_REGISTERS] = "the address is in registers that the wave does not have",
    [NO_ATOMIC] = "image atomics need texels of one component of 32 or 64 bits",
    [NO_STORE] = "stores to sRGB images are not supported",
    [NO_FILTER] = "softgpu does not support the sampler's filter",
    [NO_VOLUME] = "gfx90a has no linear filter for images of three dimensions",
    [NO_BORDER] = "softgpu does not support custom border colours",
    [NO_CLAMP] = "softgpu does not support the sampler's clamp mode",
    [NO_WARNING] = "softgpu does not support level-of-detail warnings (lwe)",
};

const char *isa_image_reason(uint64_t reason)
{
  return reason < REASONS ? reasons[reason] : "";
}

/* By type, from 8 on; 0: not known here. */
static const struct {
  uint8_t dimensions;
  bool is_array;
} types[16] = {
    [ISA_IMAGE_1D] = {1, false},      [ISA_IMAGE_2D] = {2, false},      [ISA_IMAGE_3D] = {3, false},
    [ISA_IMAGE_1D_ARRAY] = {1, true}, [ISA_IMAGE_2D_ARRAY] = {2, true},
};

static const uint32_t *descriptor_of(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return &wave->s[inst->mem.saddr.index];
}

static bool has_level(const isa_inst_t *inst)
{
  const isa_access_t *plan = isa_access_of(inst->op);
  return plan && plan->is_mip;
}

isa_image_t isa_image_read(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = descriptor_of(wave, inst);
  const unsigned type = s[3] >> 28, dimensions = types[type].dimensions;
  isa_image_t image = {
      .base = s[0] * 256ull | (uint64_t)(s[1] & 0xff) << 40,
      .size = {(s[2] & 0x3fff) + 1, 1, 1},
      .pitch = (s[4] >> 13 & 0xffff) + 1,
      .layers = 1,
      .dimensions = (uint8_t)dimensions,
      .is_array = types[type].is_array,
      .is_declared_array = types[type].is_array && inst->mem.image.da,
      .has_level = has_level(inst),
      .border = (uint8_t)(s[4] >> 29),
  };
  const uint32_t depth = s[4] & 0x1fff;
  if (dimensions > 1)
    image.size[1] = (s[2] >> 14 & 0x3fff) + 1;
  if (dimensions > 2)
    image.size[2] = depth + 1;
  else
    image.first_layer = s[5] & 0x1fff;
  if (image.is_array)
    image.layers = depth < image.first_layer ? 0 : depth - image.first_layer + 1;
  for (unsigned i = 0; i < 4; ++i)
    image.select[i] = s[3] >> 3 * i & 7;
  isa_format_find(s[1] >> 20 & 0x3f, s[1] >> 26 & 15, &image.format);
  if (image.format.bytes)
    isa_tiling_find(s[3] >> 20 & 31, dimensions, image.format.bytes, &image.tiling);
  return image;
}

uint32_t isa_image_address(const isa_wave_t *wave, const isa_inst_t *inst, unsigned component,
                           unsigned lane)
{
  const isa_row_t *rows = isa_rows(wave, &inst->mem.vaddr);
  if (inst->mem.image.a16)
    return rows[component / 2][lane] >> 16 * (component % 2) & 0xffff;
  return rows[component][lane];
}

/* --- what can be used --- */

static bool refuse(isa_wave_t *wave, reason_t reason)
{
  return isa_wave_fault(wave, SOFTGPU_FAULT_IMAGE, 0, reason, 0);
}

static bool atomic_fits(const isa_inst_t *inst, const isa_format_t *format)
{
  const unsigned values = inst->op == ISA_image_atomic_cmpswap ? 2 : 1;
  const unsigned dmask = inst->mem.image.dmask;
  return (dmask == (1u << values) - 1 && format->bytes == 4 && format->bits[0] == 32) ||
         (dmask == (1u << 2 * values) - 1 && format->bytes == 8 && format->bits[0] == 32);
}

/* That linear filters are not for three dimensions, HIP says from 5.3 on ("3D linear filter"). */
static bool check_sampler(isa_wave_t *wave, const isa_inst_t *inst, unsigned dimensions)
{
  const uint32_t *s = &wave->s[inst->mem.soffset.index];
  const unsigned magnify = s[2] >> 20 & 3, minify = s[2] >> 22 & 3, depth = s[2] >> 24 & 3;
  const bool compares_or_reduces = s[0] >> 29 & 3, has_degamma = s[0] >> 20 & 1;
  if (inst->mem.image.lwe)
    return refuse(wave, NO_WARNING);
  if (magnify != minify || magnify > 1 || depth > 2 || compares_or_reduces || has_degamma)
    return refuse(wave, NO_FILTER);
  if (dimensions == 3 && (magnify == 1 || depth == 2))
    return refuse(wave, NO_VOLUME);
  if (s[3] >> 30 == 3)
    return refuse(wave, NO_BORDER);
  for (unsigned i = 0; i < 3; ++i)
    if ((s[0] >> 3 * i & 6) == 4)
      return refuse(wave, NO_CLAMP);
  return true;
}

/* Registers of addresses are known when the image is. */
static unsigned address_registers(const isa_wave_t *wave, const isa_inst_t *inst)
{
  const unsigned type = descriptor_of(wave, inst)[3] >> 28;
  const bool has_layer = types[type].is_array && inst->mem.image.da;
  unsigned count = types[type].dimensions + (unsigned)has_layer + has_level(inst);
  if (inst->op == ISA_image_get_resinfo)
    count = 1;
  return inst->mem.image.a16 ? (count + 1) / 2 : count;
}

bool isa_image_check(isa_wave_t *wave, const isa_inst_t *inst)
{
  const uint32_t *s = descriptor_of(wave, inst);
  const unsigned dimensions = types[s[3] >> 28].dimensions;
  const unsigned number = s[1] >> 26 & 15;
  const isa_access_t *plan = isa_access_of(inst->op);
  const unsigned kind = plan ? plan->kind : 0;
  isa_format_t format;
  isa_tiling_t tiling;
  if (!dimensions)
    return refuse(wave, NO_TYPE);
  if (inst->mem.vaddr.index + address_registers(wave, inst) > wave->vgprs)
    return refuse(wave, NO_REGISTERS);
  if (inst->op == ISA_image_get_resinfo)
    return true;
  if (!isa_format_find(s[1] >> 20 & 0x3f, number, &format) || !format.bytes)
    return refuse(wave, NO_FORMAT);
  if (!isa_tiling_find(s[3] >> 20 & 31, dimensions, format.bytes, &tiling))
    return refuse(wave, NO_LAYOUT);
  if (s[3] >> 12 & 0xff || s[5] >> 28)
    return refuse(wave, MIP_LEVELS);
  if (s[6] >> 21 & 1)
    return refuse(wave, COMPRESSED);
  if (kind == ISA_ATOMIC && !atomic_fits(inst, &format))
    return refuse(wave, NO_ATOMIC);
  if (kind == ISA_STORE && !plan->is_packed && number == ISA_NUMBER_SRGB)
    return refuse(wave, NO_STORE);
  return inst->op != ISA_image_sample || check_sampler(wave, inst, dimensions);
}
