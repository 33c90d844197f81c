/* Which matrix instructions there are, under gfx90a's, gfx942's and gfx950's names. */
#include "softgpu/isa/describe/matrix.h"

#include <stddef.h>

static const mfma_t rows[] = {
#include "softgpu/isa/describe/generated/matrix.inc"
};

const mfma_t *isa_mfma_find(unsigned op)
{
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}
