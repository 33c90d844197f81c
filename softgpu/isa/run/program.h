/* Decoded code, shared by all waves and threads, and what runs it. Internal to softgpu.
 *
 * A program decodes for one chip and one set of register counts. Code is cut into chunks; a chunk
 * keeps the words it was decoded from, and each instruction is decoded when it is first reached. */
#ifndef SOFTGPU_ISA_RUN_PROGRAM_H
#define SOFTGPU_ISA_RUN_PROGRAM_H

#include "softgpu/device/memory.h"
#include "softgpu/isa/base/wave.h"

typedef struct isa_program isa_program_t;
typedef struct isa_probe isa_probe_t;

/* Instructions that follow each other, decoded together. */
typedef struct isa_stretch {
  struct isa_stretch *next;
  /* Behind them two for each VOPD, and, in a probed program, an isa_probed_t for each. */
  isa_inst_t inst[];
} isa_stretch_t;

typedef struct isa_chunk {
  uint64_t base;                   /* address of at[0] */
  const isa_inst_t *at[ISA_CHUNK]; /* by dword; NULL until decoded */
  isa_stretch_t *stretches;        /* where they are */
  /* The code, and what the last instruction may need of the next chunk. */
  uint32_t code[ISA_CHUNK + ISA_MOST_DWORDS - 1];
  uint32_t available;  /* dwords of it; the rest is beyond executable memory */
  uint32_t bytes;      /* of code, without what belongs to the next chunk */
  uint64_t generation; /* of the memory registry when the code was last compared */
  struct isa_chunk *next;
} isa_chunk_t;

/* Holds a program until isa_program_close(); NULL when out of memory. */
isa_program_t *isa_program_open(const isa_limits_t *limits);
void isa_program_close(isa_program_t *program);

/* A program for one dispatch, in which instructions are probed; it takes `probe` over. What it
 * decodes is kept for the next dispatch that is probed alike. */
isa_program_t *isa_program_open_probed(const isa_limits_t *limits, isa_probe_t *probe);

/* The chunk that holds `pc`; NULL when it is not in live executable memory (or out of memory). */
isa_chunk_t *isa_program_chunk(isa_program_t *program, uint64_t pc);

/* Decodes the instruction in a slot, which it returns, and those that follow it. What no executor
 * runs, or the end of memory cuts off, has a `run` that faults. NULL when out of memory. */
const isa_inst_t *isa_program_decode(isa_program_t *program, isa_chunk_t *chunk, uint32_t slot);

/* The instruction at `pc`, decoded if need be, and the chunk that holds it. NULL as for these. */
const isa_inst_t *isa_program_at(isa_program_t *program, uint64_t pc, const isa_chunk_t **chunk);

/* Runs a wave until its turn is over: it has run `turn` instructions, ends, waits or faults, for
 * which it returns false. Adds to `*executed`. */
bool isa_wave_run(isa_program_t *program, isa_wave_t *wave, uint32_t turn, uint64_t *executed);

#endif
