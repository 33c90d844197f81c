/* Work-groups in execution. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_GROUP_H
#define SOFTGPU_ISA_RUN_GROUP_H

#include "softgpu/isa/run/launch.h"
#include "softgpu/isa/run/placement.h"
#include "softgpu/isa/run/program.h"

/* Instructions a wave runs before the next one gets its turn, and a group, for each of its waves,
 * before the next group does. A chip's waves run side by side, and there are kernels that rely on
 * it: they share LDS with less than barriers to keep one wave from what another one still needs.
 * Waves without LDS, and a wave alone, have longer turns: each change of turns costs time. Turns
 * are exact on both engines: a dispatch that is stopped stops at the same instruction. */
enum { ISA_TURN = 32, ISA_LONG_TURN = 256, ISA_SLICE = 4000 };

typedef struct isa_group {
  size_t bytes; /* of all that begins here */
  const isa_launch_t *launch;
  isa_program_t *program;
  uint32_t id[3];
  uint32_t waves, ended; /* waves of this work-group, and those that have ended */
  uint32_t capacity;     /* waves there is room for */
  uint32_t slot;         /* of a thread's group structures, this one's number */
  isa_placement_t place; /* set before isa_group_begin() */
  uint8_t *lds;
  isa_shadow_t *shadow; /* of LDS, for checks.h; NULL without */
  isa_wave_t *wave;
  uint32_t ids_size[3]; /* of the work-group whose work-items' ids, wave by wave, are in `ids` */
  uint32_t *ids;
} isa_group_t;

/* Of registers, LDS and what checks know of it. */
size_t isa_group_bytes(const isa_launch_t *launch);

/* Room for any work-group of the launch; NULL when out of memory. */
isa_group_t *isa_group_create(const isa_launch_t *launch, isa_program_t *program);
void isa_group_destroy(isa_group_t *group);

/* Begins work-group `number` of the launch. `scratch_slot` counts groups in the scratch memory. */
void isa_group_begin(isa_group_t *group, uint64_t number, uint64_t scratch_slot,
                     isa_thread_t *thread, softgpu_fault_t *fault);

typedef enum isa_slice {
  ISA_SLICE_ENDED,
  ISA_SLICE_UNFINISHED,
  ISA_SLICE_FAULTED,
  ISA_SLICE_HELD, /* a supervisor lets none of its waves run */
} isa_slice_t;

/* Other lengths of turns and slices, for tests; 0: those above. No group may run meanwhile. */
void isa_group_set_turns(uint32_t turn, uint32_t slice);

/* Runs the waves in turns until the slice is over, or all of them wait for something beyond the
 * group. Adds to `*executed`. A fault is described in full. */
isa_slice_t isa_group_run(isa_group_t *group, uint64_t *executed);

/* The same for who supervises waves: each turn is `run`'s, which does as isa_wave_run(), or leaves
 * the wave as it is. */
typedef bool isa_wave_run_t(isa_program_t *program, isa_wave_t *wave, uint32_t turn,
                            uint64_t *executed);
isa_slice_t isa_group_run_supervised(isa_group_t *group, uint64_t *executed, isa_wave_run_t *run);

/* Fills in the rest of a fault that an instruction has begun to describe: where it happened, the
 * bytes, which lanes it concerns, and the line of text. The wave is as before. */
void isa_fault_describe(softgpu_fault_t *fault, const isa_group_t *group, isa_wave_t *wave);

#endif
