/* Checks of memory instructions, and of what a wave leaves at its end, that a dispatch can ask for
 * (SOFTGPU_CHECK_*). A program is decoded with them or without; without, they cost nothing.
 * Internal to softgpu. */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_CHECKS_H
#define SOFTGPU_ISA_EXEC_MEMORY_CHECKS_H

#include <stddef.h>

#include "softgpu/isa/exec/memory/access.h"

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

/* Puts the checks before what a prepared memory instruction runs, or s_endpgm. */
void isa_checks_prepare(isa_inst_t *inst);

/* What a DS instruction does with LDS: so many elements a lane, at the lane's address + offset. */
typedef struct isa_ds_touch {
  uint8_t kind, bytes, count; /* count 0: nothing */
  uint32_t offset[2];
} isa_ds_touch_t;
isa_ds_touch_t isa_ds_touch(const isa_inst_t *inst);

/* A load into LDS as it lands: it may have done so since it was issued. False for a race. */
typedef struct isa_lds_load isa_lds_load_t;
bool isa_check_landing(isa_wave_t *wave, const isa_lds_load_t *load);

uint64_t isa_smem_address(const isa_wave_t *wave, const isa_inst_t *inst);

#endif
