/* What the program says about kernel arguments: softgpu_kernarg_missing(). */
#ifndef SOFTGPU_CP_KERNARG_H
#define SOFTGPU_CP_KERNARG_H

#include "softgpu/execute.h"

/* Hands what was said about the dispatch's kernarg segment, if anything, to the dispatch. */
void softgpu_kernarg_take(softgpu_dispatch_t *dispatch);

#endif
