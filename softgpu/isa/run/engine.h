/* Threads of the interpreter. Internal to softgpu. */
#ifndef SOFTGPU_ISA_RUN_ENGINE_H
#define SOFTGPU_ISA_RUN_ENGINE_H

#include "softgpu/execute.h"

/* Sets how many threads run work-groups of one dispatch at most, its caller included. 0 restores
 * the default: the CPUs this process may use. Takes effect for dispatches that begin later. */
void softgpu_engine_threads(unsigned count);

/* Whether dispatches that begin later run on the plain reference engine: slow, for comparison. */
void softgpu_engine_reference(bool is_wanted);

#endif
