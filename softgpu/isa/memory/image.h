/* Images: descriptors and their texels' addresses. Internal to softgpu.
 *
 * Descriptors are those of MI200's ISA document, "Image Resource" and "Sampler Resource", with the
 * fields where ROCr has them in its resource_ai.h. */
#ifndef SOFTGPU_ISA_MEMORY_IMAGE_H
#define SOFTGPU_ISA_MEMORY_IMAGE_H

#include "softgpu/isa/base/format.h"
#include "softgpu/isa/base/wave.h"

typedef enum isa_image_type {
  ISA_IMAGE_1D = 8,
  ISA_IMAGE_2D,
  ISA_IMAGE_3D,
  ISA_IMAGE_CUBE,
  ISA_IMAGE_1D_ARRAY,
  ISA_IMAGE_2D_ARRAY
} isa_image_type_t;

enum { ISA_TILING_COLUMNS = 16 };

/* Where in its block a texel is: at the byte that the columns of the coordinates' bits make,
 * xor'ed. Blocks stand in rows, rows in slices. */
typedef struct isa_tiling {
  uint16_t columns[3][ISA_TILING_COLUMNS]; /* of bit n of x, y and z */
  uint8_t bits;                            /* of a block's size; 0: linear */
  uint8_t block[3];                        /* log2 of its width, height and depth */
} isa_tiling_t;

typedef struct isa_image {
  uint64_t base;
  uint32_t size[3]; /* width, height, depth; 1 for what the type has not */
  uint32_t pitch;   /* texels */
  uint32_t layers, first_layer;
  uint8_t dimensions; /* 1 to 3, without layers */
  bool is_array, is_declared_array;
  bool has_level;    /* the address ends with one */
  uint8_t select[4]; /* per register: 0, 1, or 4 + component */
  uint8_t border;    /* the order in which texels have the components of border colours */
  isa_format_t format;
  isa_tiling_t tiling;
} isa_image_t;

/* Whether the instruction's image, and its sampler, are ones that can be used. False: a described
 * fault that says why not. */
bool isa_image_check(isa_wave_t *wave, const isa_inst_t *inst);

/* The image of an instruction that passed. */
isa_image_t isa_image_read(const isa_wave_t *wave, const isa_inst_t *inst);

/* Why an image cannot be used, of a SOFTGPU_FAULT_IMAGE's address. */
const char *isa_image_reason(uint64_t reason);

/* False when there is no such layout: `mode` is the descriptor's, `bytes` those of a texel. */
bool isa_tiling_find(unsigned mode, unsigned dimensions, unsigned bytes, isa_tiling_t *tiling);

/* A texel's offset from the image's base. z: of the image, or its layer. */
uint64_t isa_image_offset(const isa_image_t *image, uint32_t x, uint32_t y, uint32_t z);

/* A component of a lane's address, as its register has it. */
uint32_t isa_image_address(const isa_wave_t *wave, const isa_inst_t *inst, unsigned component,
                           unsigned lane);

#endif
