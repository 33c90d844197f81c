/* Dot products of GFX11. Internal to softgpu. */
#ifndef SOFTGPU_ISA_REFERENCE_DOT2_H
#define SOFTGPU_ISA_REFERENCE_DOT2_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/base/width.h"

typedef struct isa_dot2 {
  uint32_t a, b; /* pairs */
  uint32_t c;    /* the third, of the result's format */
  bool is_bf16;  /* pairs are; else f16 */
  bool limits;   /* the mode's FP16_OVFL */
  enum { ISA_DOT2_F32, ISA_DOT2_F16, ISA_DOT2_BF16 } result;
} isa_dot2_t;

uint32_t isa_reference_dot2(const isa_dot2_t *dot);

#endif
