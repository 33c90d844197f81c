/* Samplers, and what becomes of texels. Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_SAMPLE_H
#define SOFTGPU_ISA_EXEC_MEMORY_SAMPLE_H

#include "softgpu/isa/memory/image.h"

/* What image_sample does with coordinates and texels. */
typedef struct isa_sampler {
  uint8_t clamp[3]; /* isa_clamp_t */
  bool is_linear;   /* in x and y */
  bool is_unnormalized, truncates;
  float border[4];
} isa_sampler_t;

typedef enum isa_clamp {
  ISA_CLAMP_WRAP,
  ISA_CLAMP_MIRROR,
  ISA_CLAMP_EDGE,
  ISA_CLAMP_MIRROR_ONCE_EDGE,
  ISA_CLAMP_BORDER = 6,
  ISA_CLAMP_MIRROR_ONCE_BORDER,
} isa_clamp_t;

isa_sampler_t isa_sampler_read(const isa_wave_t *wave, const isa_inst_t *inst,
                               const isa_image_t *image);

/* Writes what a load, `is_half` or not, returns to a lane: those of `values` that dmask names. */
void isa_image_put(isa_wave_t *wave, const isa_inst_t *inst, unsigned lane,
                   const uint32_t values[4]);

bool isa_image_sample(isa_wave_t *wave, const isa_inst_t *inst);

#endif
