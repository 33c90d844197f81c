/* What chips differ in, besides the instructions they have. Internal to softgpu. */
#ifndef SOFTGPU_ISA_DESCRIBE_CHIPS_H
#define SOFTGPU_ISA_DESCRIBE_CHIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/execute.h"

/* Chips that have the same encodings and opcode tables. */
typedef enum isa_family_number {
  ISA_FAMILY_GFX9,
  ISA_FAMILY_GFX10,
  ISA_FAMILY_GFX11,
  ISA_FAMILY_COUNT
} isa_family_number_t;

typedef struct isa_chip {
  uint32_t number;           /* 0x90a: gfx90a */
  uint32_t alike[3];         /* chips that execute the same in the same way; 0: no more */
  uint8_t family, member;    /* isa_family_number_t; the bit of isa_opcode_t.chips */
  uint8_t lanes;             /* of a wave, where the kernel does not say */
  uint8_t exchanging;        /* lanes among which ds_permute_b32 and its kind exchange */
  const char *cache_bits[3]; /* what the assembler calls glc, slc and scc of vector memory */
  const char *dpp_rows[2];   /* and dpp_ctrl from 0x150 and from 0x160 on; NULL: there are none */
  uint8_t most_lgkm;         /* what s_waitcnt can say of lgkmcnt */
  bool has_flat_scratch;     /* flat_scratch and xnack_mask are where other chips have SGPRs */
  uint32_t lds_base;         /* the bits of M0 that say where loads go that put into LDS */
  uint32_t units;            /* compute units, in so many dies */
  uint32_t dies, engines;    /* shader engines of a die */
  uint32_t simd_bytes;       /* vector registers of a SIMD */
  bool scratch_both;         /* SCRATCH: an SGPR and a VGPR address may come together */
  bool scratch_sgpr;         /* a wave's scratch begins where an SGPR says, or flat_scratch does */
  bool flushes_products;     /* dot products and matrices of f16 and bf16 flush denormals */
  bool flushes_atomics;      /* so do additions of f32 in memory */
  bool ocp_floats;           /* 8-bit floats of matrices are OCP's */
  bool wide_lds_loads;       /* loads that put into LDS may be of 12 and 16 bytes */
  bool keeps_halves;         /* a 16-bit result leaves the other half of its register */
  bool unified_formats;      /* buffers: one number for data and number format; bounds are chosen */
  bool fewer_formats;        /* of which numbers of 10 and 11 bits have fewer; swizzles by field */
  bool architected_scratch;  /* flat_scratch is set up, and cannot be changed */
  bool separate_ids;         /* work-item ids are in v0, v1 and v2 */
  bool dpp_in_rows;          /* DPP moves nothing from one row of 16 lanes to another */
  bool scales_by_exponents;  /* v_div_scale looks at exponents alone; v_div_fmas rounds once */
} isa_chip_t;

extern const isa_chip_t isa_chips[SOFTGPU_CHIP_OTHER];

/* `chip` is a softgpu_chip_t that is decoded. */
static inline const isa_chip_t *isa_chip(unsigned chip)
{
  return &isa_chips[chip];
}

#endif
