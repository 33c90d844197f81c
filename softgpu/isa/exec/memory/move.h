/* Whole dwords between registers and memory in one piece, many lanes at a time. Internal to
 * softgpu.
 *
 * Lanes that follow each other mostly have addresses that do, or all the same one: ISA_MOVED of
 * them are then one access of the host's. There is one mover for each build of the vector ALU
 * (valu.h). */
#ifndef SOFTGPU_ISA_EXEC_MEMORY_MOVE_H
#define SOFTGPU_ISA_EXEC_MEMORY_MOVE_H

#include "softgpu/isa/base/wave.h"

enum { ISA_MOVED = 16 };

/* EQUAL and CONSECUTIVE are lanes that are all active. */
enum isa_moved_kind { ISA_MOVED_SCATTERED, ISA_MOVED_EQUAL, ISA_MOVED_CONSECUTIVE };

/* Where each lane's bytes are, from the beginning of the memory, and how they lie. */
typedef struct isa_moves {
  uint32_t at[ISA_LANES] __attribute__((aligned(64)));
  uint32_t kind[ISA_LANES / ISA_MOVED];
} isa_moves_t;

/* The memory's bytes that are looked at, at the most: no address wraps on the way to the next. */
#define ISA_MOVE_MOST (UINT32_MAX - 4096u)

typedef struct isa_mover {
  /* Finds a lane's `bytes` at `address[lane] + plus`, modulo 2^32, of `size`. False when an active
   * lane has a byte outside. */
  bool (*look)(isa_wave_t *wave, const uint32_t *address, uint32_t plus, uint32_t size,
               uint32_t bytes, isa_moves_t *moves);

  /* The same for addresses of 64 bits. `high` is their upper halves, or NULL when they are 0. */
  bool (*look_wide)(isa_wave_t *wave, const uint32_t *low, const uint32_t *high, uint64_t plus,
                    uint32_t size, uint32_t bytes, isa_moves_t *moves);

  /* One to four dwords for each active lane, once they have been found. Aligned dwords and
   * quadwords are moved whole; of lanes that store to one place the last one counts. */
  void (*load)(const isa_wave_t *wave, isa_row_t *dst, unsigned dwords, const uint8_t *base,
               const isa_moves_t *moves);
  void (*store)(const isa_wave_t *wave, const isa_row_t *data, unsigned dwords, uint8_t *base,
                const isa_moves_t *moves);
} isa_mover_t;

/* That of the build in use. */
const isa_mover_t *isa_mover(void);

#endif
