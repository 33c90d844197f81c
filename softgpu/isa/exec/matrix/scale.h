/* The conversions of gfx950 between f32, f16 or bf16 and scaled small floats. Internal to softgpu.
 *
 * AMD's CDNA4 ISA document, pseudocode of v_cvt_scalef32_*. */
#ifndef SOFTGPU_ISA_EXEC_MATRIX_SCALE_H
#define SOFTGPU_ISA_EXEC_MATRIX_SCALE_H

#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/describe/matrix.h"

typedef struct scale_op {
  uint16_t op;
  uint8_t small, wide; /* mfma_format_t */
  uint8_t count;       /* numbers a lane */
  bool narrows;        /* from wide to small */
  bool has_noise;      /* source 1 seeds v_prng_b32's sequence, a step a number */
  bool has_two;        /* wide numbers come from source 0 and source 1 in turn */
} scale_op_t;

/* NULL when `op` is not one of them. */
const scale_op_t *isa_scale_find(unsigned op);
bool isa_scale_prepare(isa_inst_t *inst, const isa_limits_t *limits); /* see wave.h */

/* The source whose exponent is the scale. */
static inline unsigned scale_source(const scale_op_t *s)
{
  return s->has_noise || s->has_two ? 2 : 1;
}

/* Where a part of a register that op_sel names begins: of the small numbers when there are fewer
 * than a register holds, of a lone f16 result too. */
static inline unsigned scale_small_shift(const scale_op_t *s, unsigned op_sel)
{
  const unsigned bits = s->count * mfma_element_bits(s->small);
  const unsigned select = s->narrows ? op_sel >> 2 : op_sel & 3;
  if (bits > 16)
    return 0;
  return bits == 8 ? 8 * select : 16 * (s->narrows ? select >> 1 : select & 1);
}

#endif
