/* All that a kernel can reach from its first instruction. Internal to this folder.
 *
 * Code is followed, not scanned: what looks like an instruction may be a literal, and what lies
 * between may be data. */
#ifndef RAWHAL_PROBE_WALK_H
#define RAWHAL_PROBE_WALK_H

#include "base/status.h"
#include "hsaco/memory.h"
#include "probe/code.h"

typedef struct walk_instruction {
  uint32_t at;     /* dwords from the kernel's first */
  uint32_t target; /* of JUMPS and BRANCHES: the number of the instruction */
  uint8_t dwords, flow;
  uint8_t mode;   /* code_mode() before it */
  uint8_t scc;    /* code_scc() */
  bool needs_scc; /* SCC, as it is before it, may be read by it or later */
  bool is_head;   /* a basic block begins */
  bool is_far;    /* of JUMPS: s_setpc_b64, see jump.h */
} walk_instruction_t;

typedef struct walk {
  const allocator_t *allocator;
  const unsigned char *code;        /* the kernel's first instruction */
  uint64_t available;               /* dwords from there to the end of the segment */
  uint64_t offset;                  /* of its first byte in the object, for errors */
  walk_instruction_t *instructions; /* in the order of their places */
  uint32_t count, blocks;
  uint32_t end; /* dwords from the first to the end of the last */
  code_registers_t registers;
  bool reads_pc;
} walk_t;

/* `walk` has its first four members; the rest is made. UNSUPPORTED: calls, indirect jumps, or
 * instructions that overlap; MALFORMED: it leaves the code, or is none; OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t walk_open(walk_t *walk, rawhal_error_t *error);
void walk_close(walk_t *walk);

/* An instruction again. */
code_t walk_code(const walk_t *walk, const walk_instruction_t *instruction);

/* Whether what comes after it in the code may be next. */
static inline bool walk_goes_on(const walk_instruction_t *instruction)
{
  return instruction->flow != CODE_JUMPS && instruction->flow != CODE_ENDS;
}

/* The number of the one at a place, in dwords; `count` where there is none. */
uint32_t walk_find(const walk_t *walk, uint64_t at);

#endif
