/* Decoded code, shared by all waves and threads. Internal to softgpu.
 *
 * A program decodes for one chip and one set of register counts. Code is cut into chunks; a chunk
 * keeps the words it was decoded from, and each instruction is decoded when it is first reached. */
#ifndef SOFTGPU_ISA_RUN_PROGRAM_H
#define SOFTGPU_ISA_RUN_PROGRAM_H

#include "softgpu/device/memory.h"
#include "softgpu/isa/base/wave.h"

typedef struct isa_program isa_program_t;

/* Instructions that follow each other, decoded together. */
typedef struct isa_stretch {
  struct isa_stretch *next;
  isa_inst_t inst[];
} isa_stretch_t;

typedef struct isa_chunk {
  uint64_t base;                   /* address of at[0] */
  const isa_inst_t *at[ISA_CHUNK]; /* by dword; NULL until decoded */
  isa_stretch_t *stretches;        /* where they are */
  /* The code, and what the last instruction may need of the next chunk. */
  uint32_t words[ISA_CHUNK + ISA_MOST_DWORDS - 1];
  uint32_t available;  /* of words; the rest is beyond executable memory */
  uint64_t generation; /* of the memory registry when the code was last compared */
  struct isa_chunk *next;
} isa_chunk_t;

/* Holds a program until isa_program_close(); NULL when out of memory. */
isa_program_t *isa_program_open(const isa_limits_t *limits);
void isa_program_close(isa_program_t *program);

/* Dwords of code in a chunk. */
static inline uint32_t isa_chunk_dwords(const isa_chunk_t *chunk)
{
  const uint32_t most = ISA_CHUNK;
  return chunk->available < most ? chunk->available : most;
}

/* Whether no memory has been freed since the chunk was last compared with it. */
static inline bool isa_chunk_is_as_compared(const isa_chunk_t *chunk)
{
  return __atomic_load_n(&chunk->generation, __ATOMIC_RELAXED) == softgpu_memory_generation();
}

/* The chunk that holds `pc`; NULL when it is not in live executable memory (or out of memory). */
const isa_chunk_t *isa_program_chunk(isa_program_t *program, uint64_t pc);

/* Decodes the instruction in a slot and those that follow it: afterwards it is there. What no
 * executor runs, or the end of memory cuts off, has a `run` that faults. False when out of memory.
 */
bool isa_program_decode(isa_program_t *program, const isa_chunk_t *chunk, uint32_t slot);

#endif
