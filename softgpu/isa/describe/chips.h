/* What chips differ in, besides the instructions they have. Internal to softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_CHIPS_H
#define SOFTGPU_ISA_DESCRIBE_CHIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/execute.h"

typedef struct isa_chip {
  uint32_t number;           /* 0x90a: gfx90a */
  const char *cache_bits[3]; /* what the assembler calls glc, slc and scc of vector memory */
  uint32_t lds_base;         /* the bits of M0 that say where loads go that put into LDS */
  uint32_t units;            /* compute units, in so many dies */
  uint32_t dies, engines;    /* shader engines of a die */
  bool scratch_both;         /* SCRATCH: an SGPR and a VGPR address may come together */
  bool scratch_sgpr;         /* a wave's scratch begins where an SGPR says, or flat_scratch does */
  bool flushes_products;     /* dot products and matrices of f16 and bf16 flush denormals */
  bool flushes_atomics;      /* so do additions of f32 in memory */
  bool ocp_floats;           /* 8-bit floats of matrices are OCP's */
  bool wide_lds_loads;       /* loads that put into LDS may be of 12 and 16 bytes */
} isa_chip_t;

extern const isa_chip_t isa_chips[SOFTGPU_CHIP_OTHER];

/* `chip` is a softgpu_chip_t below SOFTGPU_CHIP_OTHER. */
static inline const isa_chip_t *isa_chip(unsigned chip)
{
  return &isa_chips[chip];
}

#endif
