/* Threads of the interpreter. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_ENGINE_H
#define SOFTGPU_ISA_RUN_ENGINE_H

#include "softgpu/isa/run/group.h"

/* Sets how many threads run work-groups of one dispatch at most, its caller included. 0 restores
 * the default: the CPUs this process may use. Takes effect for dispatches that begin later. */
void softgpu_engine_threads(unsigned count);

/* Whether dispatches that begin later run on the plain reference engine: slow, for comparison. */
void softgpu_engine_reference(bool is_wanted);

/* Who looks at each turn of each wave: a debugger's side, or an order of turns. A dispatch runs on
 * one thread then. */
typedef struct isa_supervisor {
  void (*enter)(const isa_launch_t *launch, const softgpu_limits_t *limits);
  void (*began)(isa_group_t *group); /* a work-group, before its first turn */
  /* A slice of one of the `count` groups that are resident. */
  isa_slice_t (*run)(isa_group_t *group, isa_group_t *const *groups, uint32_t count,
                     uint64_t *executed);
  void (*leave)(void);
} isa_supervisor_t;

/* While there are no dispatches, for all that come; NULL: nobody does. */
void softgpu_engine_supervise(const isa_supervisor_t *supervisor);
/* The same, and their time limits hold, which they do not for who may stop waves. */
void softgpu_engine_supervise_in_time(const isa_supervisor_t *supervisor);
const isa_supervisor_t *softgpu_engine_supervisor(void);

#endif
