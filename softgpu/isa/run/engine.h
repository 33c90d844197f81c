/* Threads of the interpreter. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_ENGINE_H
#define SOFTGPU_ISA_RUN_ENGINE_H

#include "softgpu/isa/run/group.h"

/* Sets how many threads run work-groups of one dispatch at most, its caller included. 0 restores
 * the default: the CPUs this process may use. Takes effect for dispatches that begin later. */
void softgpu_engine_threads(unsigned count);

/* Whether dispatches that begin later run on the plain reference engine: slow, for comparison. */
void softgpu_engine_reference(bool is_wanted);

/* Who looks at each turn of each wave: a debugger's side. A dispatch runs on one thread then,
 * without a time limit. */
typedef struct isa_supervisor {
  void (*enter)(const isa_launch_t *launch, const softgpu_limits_t *limits);
  void (*began)(isa_group_t *group); /* a work-group, before its first turn */
  /* A slice of one of the `count` groups that are resident. */
  isa_slice_t (*run)(isa_group_t *group, isa_group_t *const *groups, uint32_t count,
                     uint64_t *executed);
  void (*leave)(void);
} isa_supervisor_t;

/* Before the first dispatch, for all of them. NULL: nobody does. */
void softgpu_engine_supervise(const isa_supervisor_t *supervisor);

#endif
