/* Dense matrix multiply-add, D = A * B + C, over a whole wave. Internal to softgpu/isa/valu*. */
#ifndef SOFTGPU_ISA_VALU_MFMA_H
#define SOFTGPU_ISA_VALU_MFMA_H

#include "softgpu/isa/valu.h"

typedef enum mfma_format {
  MFMA_F32,
  MFMA_XF32, /* f32 with 10 bits of mantissa, rounded to nearest even */
  MFMA_F16,
  MFMA_BF16,
  MFMA_FP8,
  MFMA_BF8,
  MFMA_I8,
  MFMA_F64,
} mfma_format_t;

typedef struct mfma {
  uint16_t op;
  uint8_t a, b; /* mfma_format_t */
  uint8_t size; /* A is size x k, B is k x size, C and D are size x size */
  uint8_t k;
  uint8_t blocks; /* independent products side by side */
} mfma_t;

/* Elements of A (and of B) that each lane holds, in the order of k. */
static inline unsigned mfma_items(const mfma_t *m)
{
  return (unsigned)m->k * m->size * m->blocks / ISA_LANES;
}

static inline unsigned mfma_element_bits(unsigned format)
{
  return format == MFMA_F64                          ? 64
         : format <= MFMA_XF32                       ? 32
         : format == MFMA_F16 || format == MFMA_BF16 ? 16
                                                     : 8;
}

/* NULL when `op` is not one of them. */
const mfma_t *isa_mfma_find(unsigned op);

#endif
