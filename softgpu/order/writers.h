/* Who wrote each of some bytes last. Internal to softgpu. */
#ifndef SOFTGPU_ORDER_WRITERS_H
#define SOFTGPU_ORDER_WRITERS_H

#include "softgpu/back.h"
#include "softgpu/isa/run/group.h"

/* An instruction of a wave, and one of its lanes. */
typedef struct written {
  uint64_t time; /* 0: nobody */
  uint64_t pc, instructions;
  uint32_t workgroup[3];
  uint8_t wave, lane;
} written_t;

enum { WRITERS_HITS = ISA_LANES_MOST * 64 }; /* bytes that an instruction writes, at most */

typedef struct writers {
  softgpu_back_t asked;
  written_t *bytes;    /* asked.bytes of them; NULL: nothing is asked */
  const uint8_t *base; /* where the host has them, of memory */
  unsigned chip, lanes;
  uint64_t time; /* instructions so far */
  /* What the instruction at hand will have written, when it has been executed. */
  written_t now;
  const uint8_t *at; /* the bytes, for its wave */
  size_t hits;
  struct {
    uint32_t at;
    uint8_t lane;
  } hit[WRITERS_HITS];
  /* Of an exchange that only happens where a value is what it is to be: */
  bool is_conditional;
  uint8_t before[WRITERS_HITS];
} writers_t;

/* All zeros at first. False: out of memory. */
bool writers_make(writers_t *writers, const softgpu_back_t *asked);
void writers_free(writers_t *writers);

/* The dispatch begins, which has the node's rights: SOFTGPU_BACK_RUNS, or why not. */
softgpu_back_state_t writers_begin(writers_t *writers, const softgpu_back_t *asked, uint32_t node);

/* Before a wave of the group executes an instruction, which is in the chunk; and when it has. */
void writers_look(writers_t *writers, const isa_group_t *group, isa_wave_t *wave,
                  const isa_inst_t *inst, const isa_chunk_t *chunk, uint64_t instructions);
void writers_commit(writers_t *writers);

/* See softgpu_back_told(). `entry`: where waves begin. */
void writers_tell(const writers_t *writers, uint64_t entry, softgpu_back_writer_fn *writer,
                  void *context);

#endif
