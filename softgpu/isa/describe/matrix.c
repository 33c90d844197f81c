/* Which matrix instructions there are, under gfx90a's, gfx942's and gfx950's names. */
#include "softgpu/isa/describe/matrix.h"

#include <stddef.h>

static const mfma_t rows[] = {
#include "softgpu/isa/describe/generated/matrix.inc"
};

const uint8_t isa_mfma_bits[] = {
    [MFMA_F32] = 32, [MFMA_XF32] = 32, [MFMA_F16] = 16, [MFMA_BF16] = 16, [MFMA_FP8] = 8,
    [MFMA_BF8] = 8,  [MFMA_I8] = 8,    [MFMA_F64] = 64, [MFMA_MIXED] = 8, [MFMA_E4M3] = 8,
    [MFMA_E5M2] = 8, [MFMA_E2M3] = 6,  [MFMA_E3M2] = 6, [MFMA_E2M1] = 4,
};

const mfma_t *isa_mfma_find(unsigned op)
{
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}
