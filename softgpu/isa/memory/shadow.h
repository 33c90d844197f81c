/* What has been done to LDS, for SOFTGPU_CHECK_LDS and SOFTGPU_CHECK_RACES. Internal to softgpu. */
#ifndef SOFTGPU_ISA_MEMORY_SHADOW_H
#define SOFTGPU_ISA_MEMORY_SHADOW_H

#include <stddef.h>

#include "softgpu/isa/base/wave.h"

/* What has happened to a byte of LDS. Program counters are relative to the kernel's entry. */
typedef struct isa_shadow_cell {
  uint32_t write_epoch, read_epoch; /* 0: never */
  uint32_t write_pc, read_pc;
  uint8_t writer, reader; /* waves; reader ISA_SHADOW_MANY after more than one */
  bool by_atomic;         /* the write */
} isa_shadow_cell_t;

enum { ISA_SHADOW_MANY = 255 };

/* A work-group's LDS as the checks see it. Everything before a barrier is ordered with everything
 * after it, so `epoch` counts barriers, from 1. */
typedef struct isa_shadow {
  uint32_t epoch;
  isa_shadow_cell_t cells[]; /* one per byte */
} isa_shadow_t;

static inline size_t isa_shadow_size(uint32_t checks, uint32_t lds_bytes)
{
  const bool is_wanted = checks & (SOFTGPU_CHECK_LDS | SOFTGPU_CHECK_RACES);
  return is_wanted ? sizeof(isa_shadow_t) + lds_bytes * sizeof(isa_shadow_cell_t) : 0;
}

/* Use of LDS by one lane of an instruction. */
typedef struct isa_touch {
  isa_wave_t *wave;
  unsigned lane;
  uint32_t address, bytes;
  uint32_t since; /* epoch from which on it may have happened */
  bool reads, writes, is_atomic;
  /* What a plain store puts there: dwords so many apart, of the first from bit `shift` on. NULL:
   * that is not known. */
  const uint32_t *words;
  uint32_t apart, shift;
} isa_touch_t;

/* By isa_access_kind_t; since the last barrier, at no address yet. */
isa_touch_t isa_touch_of(isa_wave_t *wave, unsigned kind, uint32_t bytes);

/* Looks at the use and notes it. What lies outside of LDS is left to the instruction. False for a
 * fault. */
bool isa_shadow_check(const isa_touch_t *touch);

#endif
