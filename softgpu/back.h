/* Going back: a dispatch that runs in an order that can be had again is run once more, up to some
 * moment, and it is said who wrote some bytes last.
 *
 * A plain header, which includes nothing of softgpu's, as waves.h is: its functions are found by
 * their names (dlsym()). */
#ifndef SOFTGPU_BACK_H
#define SOFTGPU_BACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum softgpu_back_stop {
  SOFTGPU_BACK_TO_END = 0,
  SOFTGPU_BACK_AT_WAVE = 1, /* a wave has executed `count` instructions */
  SOFTGPU_BACK_AT_PC = 2,   /* waves are about to execute what is at `pc` for the `count`-th time */
} softgpu_back_stop_t;

typedef enum softgpu_back_space {
  SOFTGPU_BACK_NOTHING = 0,
  SOFTGPU_BACK_MEMORY = 1,
  SOFTGPU_BACK_LDS = 2, /* of work-group `lds_group` */
} softgpu_back_space_t;

enum { SOFTGPU_BACK_BYTES = 1 << 20 }; /* that may be asked about */

typedef struct softgpu_back {
  uint64_t kernel_object;      /* it is about this kernel's next dispatch */
  uint32_t stop;               /* softgpu_back_stop_t */
  uint32_t wave, workgroup[3]; /* AT_WAVE: which, by its number in its work-group */
  uint64_t count;              /* AT_PC: 0 is as 1 */
  uint64_t pc;                 /* device address */
  uint32_t space;              /* softgpu_back_space_t: whose last writers are wanted */
  uint32_t lds_group[3];       /* work-group */
  uint64_t address;            /* device address, or the first byte of LDS */
  uint64_t bytes;
} softgpu_back_t;

typedef enum softgpu_back_state {
  SOFTGPU_BACK_WAITS = 0,     /* for the dispatch; or nothing was asked */
  SOFTGPU_BACK_RUNS = 1,      /* it has begun */
  SOFTGPU_BACK_ENDED = 2,     /* without coming to the moment */
  SOFTGPU_BACK_STOPPED = 3,   /* at the moment */
  SOFTGPU_BACK_FAILED = 4,    /* before the moment */
  SOFTGPU_BACK_NO_MEMORY = 5, /* of the host's, for what was asked; it ran without */
  SOFTGPU_BACK_NOT_THERE = 6, /* the bytes are not in one allocation; likewise */
} softgpu_back_state_t;

enum { SOFTGPU_BACK_NO_LANE = 64 };

/* Who wrote some bytes last. */
typedef struct softgpu_back_writer {
  uint64_t offset, bytes; /* from `address` of what was asked */
  uint64_t pc, pc_offset; /* of the instruction; the latter from where waves begin. pc 0: the
                                * dispatch wrote none of these bytes up to the moment */
  uint64_t instructions;  /* that the wave had executed before it */
  uint64_t time;          /* of two writers the one with the larger was later */
  uint32_t workgroup[3], wave, lane; /* lane SOFTGPU_BACK_NO_LANE: a scalar instruction */
  uint32_t instruction[2];           /* first dwords at pc */
  char instruction_text[160];
} softgpu_back_writer_t;

typedef struct softgpu_back_told {
  uint32_t state;              /* softgpu_back_state_t */
  uint32_t wave, workgroup[3]; /* STOPPED: whose turn it was */
  uint64_t pc, pc_offset;
  uint64_t instructions; /* that this wave had executed */
  uint64_t all;          /* and all waves of the dispatch */
  uint64_t run; /* a digest of the turns of all its waves: of runs that went alike it is equal */
} softgpu_back_told_t;

typedef void softgpu_back_writer_fn(void *context, const softgpu_back_writer_t *writer);

/* Asks it of the next dispatch of a kernel; what was asked before is forgotten. A dispatch that
 * comes to its moment stops with SOFTGPU_FAULT_MOMENT, in which its waves are noted as for any
 * fault. NULL: nothing is asked any more. False, and nothing changed: dispatches have no order
 * (option `order`), or it makes no sense. */
bool softgpu_back(const softgpu_back_t *asked, size_t size);

/* What came of it. `writer`, unless NULL, is called for all bytes in their order, parts that were
 * written together as one; it must not call these functions. False: nothing was asked. */
bool softgpu_back_told(softgpu_back_told_t *told, size_t size, softgpu_back_writer_fn *writer,
                       void *context);

typedef bool softgpu_back_ask_fn(const softgpu_back_t *asked, size_t size);
typedef bool softgpu_back_told_fn(softgpu_back_told_t *told, size_t size,
                                  softgpu_back_writer_fn *writer, void *context);

#ifdef __cplusplus
}
#endif

#endif
