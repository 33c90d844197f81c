#include "hsaco/descriptor.h"

#include <assert.h>
#include <string.h>

/* As it stands in the file, little-endian. */
typedef struct raw_descriptor {
  uint32_t group_segment_size, private_segment_size, kernarg_size;
  uint8_t reserved0[4];
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t pgm_rsrc3, pgm_rsrc1, pgm_rsrc2;
  uint16_t code_properties;
  uint16_t preload;
  uint8_t reserved2[4];
} raw_descriptor_t;
static_assert(sizeof(raw_descriptor_t) == DESCRIPTOR_SIZE, "no padding");
static_assert(offsetof(raw_descriptor_t, entry_offset) == 16, "AMDGPUUsage");
static_assert(offsetof(raw_descriptor_t, pgm_rsrc3) == 44, "AMDGPUUsage");
static_assert(offsetof(raw_descriptor_t, preload) == 58, "AMDGPUUsage");

enum {
  PROPERTY_WAVE32 = 1 << 10,
  PROPERTY_DYNAMIC_STACK = 1 << 11,
};

/* Registers come in granules that depend on the processor and, from GFX10 on, on the wave size. */
static const struct {
  uint8_t vgprs_wave64, vgprs_wave32; /* a granule */
  uint8_t sgprs;                      /* a granule; 0: the field means nothing */
} granules[] = {
    [FAMILY_GFX6] = {4, 4, 8},     [FAMILY_GFX9] = {4, 4, 16}, [FAMILY_GFX90A] = {8, 8, 16},
    [FAMILY_GFX10] = {4, 8, 0},    [FAMILY_GFX11] = {4, 8, 0}, [FAMILY_GFX12] = {4, 8, 0},
    [FAMILY_GFX125] = {16, 16, 0}, [FAMILY_GFX13] = {4, 8, 0},
};

static bool all_zero(const uint8_t *bytes, size_t size)
{
  uint8_t any = 0;
  for (size_t i = 0; i < size; ++i)
    any |= bytes[i];
  return !any;
}

static void count_registers(const processor_t *processor, rawhal_descriptor_t *descriptor)
{
  uint32_t vgprs = descriptor->pgm_rsrc1 & 0x3f, sgprs = descriptor->pgm_rsrc1 >> 6 & 0xf;
  unsigned family = processor->family;
  descriptor->vgpr_count = (vgprs + 1) * (descriptor->wave32 ? granules[family].vgprs_wave32
                                                             : granules[family].vgprs_wave64);
  if (family == FAMILY_GFX6)
    descriptor->sgpr_count = (sgprs + 1) * granules[family].sgprs;
  else if (granules[family].sgprs) /* GFX9 counts granules of 8 in pairs */
    descriptor->sgpr_count = (sgprs / 2 + 1) * granules[family].sgprs;
  if (family == FAMILY_GFX90A)
    descriptor->accum_offset = ((descriptor->pgm_rsrc3 & 0x3f) + 1) * 4;
}

bool descriptor_decode(const void *bytes, uint64_t address, const processor_t *processor,
                       rawhal_descriptor_t *descriptor)
{
  raw_descriptor_t raw;
  memcpy(&raw, bytes, sizeof(raw));
  bool old = processor && processor->family < FAMILY_GFX10;
  *descriptor = (rawhal_descriptor_t){
      .address = address,
      .entry = address + (uint64_t)raw.entry_offset,
      .group_segment_size = raw.group_segment_size,
      .private_segment_size = raw.private_segment_size,
      .kernarg_size = raw.kernarg_size,
      .pgm_rsrc1 = raw.pgm_rsrc1,
      .pgm_rsrc2 = raw.pgm_rsrc2,
      .pgm_rsrc3 = raw.pgm_rsrc3,
      .code_properties = raw.code_properties,
      .preload_length = (uint8_t)(raw.preload & 0x7f),
      .preload_offset = (uint16_t)(raw.preload >> 7),
      .wave32 = !old && raw.code_properties & PROPERTY_WAVE32,
      .uses_dynamic_stack = raw.code_properties & PROPERTY_DYNAMIC_STACK,
  };
  if (processor)
    count_registers(processor, descriptor);
  return all_zero(raw.reserved0, sizeof(raw.reserved0)) &&
         all_zero(raw.reserved1, sizeof(raw.reserved1)) &&
         all_zero(raw.reserved2, sizeof(raw.reserved2));
}

static void differ(rawhal_hsaco_t *hsaco, const rawhal_kernel_t *kernel, const char *what,
                   uint32_t metadata, uint32_t descriptor)
{
  diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, kernel->name,
                 offset_in(hsaco, kernel->metadata.data),
                 "%s: metadata says %u, the descriptor %u; the loader goes by the descriptor", what,
                 metadata, descriptor);
}

void descriptor_compare(rawhal_hsaco_t *hsaco, const rawhal_kernel_t *kernel)
{
  const rawhal_descriptor_t *descriptor = kernel->descriptor;
  if (kernel->group_segment_fixed_size != descriptor->group_segment_size)
    differ(hsaco, kernel, "group segment size", kernel->group_segment_fixed_size,
           descriptor->group_segment_size);
  if (kernel->private_segment_fixed_size != descriptor->private_segment_size)
    differ(hsaco, kernel, "private segment size", kernel->private_segment_fixed_size,
           descriptor->private_segment_size);
  /* 0 = unspecified */
  if (descriptor->kernarg_size && kernel->kernarg_segment_size != descriptor->kernarg_size)
    differ(hsaco, kernel, "kernarg segment size", kernel->kernarg_segment_size,
           descriptor->kernarg_size);
  uint32_t wavefront = descriptor->wave32 ? 32 : 64;
  if (hsaco->processor && kernel->wavefront_size && kernel->wavefront_size != wavefront)
    differ(hsaco, kernel, "wavefront size", kernel->wavefront_size, wavefront);
  if (hsaco->info.code_object_version >= 5 &&
      kernel->uses_dynamic_stack != descriptor->uses_dynamic_stack)
    differ(hsaco, kernel, "dynamic stack", kernel->uses_dynamic_stack,
           descriptor->uses_dynamic_stack);
  if (descriptor->vgpr_count && kernel->vgpr_count > descriptor->vgpr_count)
    diagnose_quirk(&hsaco->diagnostics, QUIRK_REGISTER_COUNT, kernel->name);
}
