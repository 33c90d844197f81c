/* Whole dwords between registers and memory in one piece, many lanes at a time. Internal to
 * softgpu.
 *
 * Lanes that follow each other mostly have addresses that do, or all the same one: ISA_MOVED of
 * them are then one access of the host's. There is one mover for each build of the vector ALU
 * (valu.h). */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_MOVE_H
#define SOFTGPU_ISA_EXEC_MEMORY_MOVE_H

#include "softgpu/isa/base/wave.h"

/* Whether all that active lanes have, `plus` bytes after where it was looked for, is within `size`
 * bytes. */
static inline bool isa_moves_are_within(const isa_moves_t *moves, uint64_t plus, uint64_t size)
{
  return size >= moves->bytes && moves->last + plus <= size - moves->bytes;
}

typedef struct isa_mover {
  /* How the active lanes' `bytes` lie at the addresses of a row. What was found is kept:
   * instructions use the same addresses again and again. */
  const isa_moves_t *(*look)(isa_wave_t *wave, const isa_inst_t *inst, const uint32_t *address,
                             uint32_t bytes);

  /* The same for addresses of 64 bits, each `plus` bytes on, and for load() and store() alone: of
   * `at` they may have no more than they need, and no `first`. `high` is their upper halves, or
   * NULL when they are 0. False when an active lane's is beyond 32 bits. */
  bool (*look_wide)(isa_wave_t *wave, const uint32_t *low, const uint32_t *high, uint64_t plus,
                    uint32_t bytes, isa_moves_t *moves);

  /* One to four dwords for each active lane, once they have been found. Aligned dwords and
   * quadwords are moved whole; of lanes that store to one place the last one counts. */
  void (*load)(const isa_wave_t *wave, isa_row_t *dst, unsigned dwords, const uint8_t *base,
               const isa_moves_t *moves);
  void (*store)(const isa_wave_t *wave, const isa_row_t *data, unsigned dwords, uint8_t *base,
                const isa_moves_t *moves);

  /* The `run_on` of instructions that load and store whole dwords in LDS, and that load two
   * elements from there. */
  isa_run_t ds_load, ds_store, ds_load_pair;
} isa_mover_t;

/* What those cannot, one lane after the other. */
bool isa_ds_run_plain(isa_wave_t *wave, const isa_inst_t *inst);
bool isa_ds_run_pair(isa_wave_t *wave, const isa_inst_t *inst);

/* That of the build in use. */
const isa_mover_t *isa_mover(void);

#endif
