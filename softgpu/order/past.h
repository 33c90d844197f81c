/* What is asked of one dispatch in its order: a moment to stop at, and who wrote bytes last.
 * Internal to softgpu. */
#ifndef SOFTGPU_ORDER_PAST_H
#define SOFTGPU_ORDER_PAST_H

#include "softgpu/back.h"
#include "softgpu/isa/run/group.h"

typedef struct past past_t;

/* What the dispatch is asked, which it has to end; NULL: nothing. */
past_t *past_take(const isa_launch_t *launch);
/* `run` and `all` as in softgpu_back_told_t. `failed`: it did not come to its end. */
void past_end(past_t *past, uint64_t run, uint64_t all, bool failed);

/* A work-group begins, or has a turn; false: out of memory, and nothing is asked any more. */
bool past_began(past_t *past, const isa_group_t *group);
void past_enter(past_t *past, const isa_group_t *group);

/* The wave's turn of so many instructions, or up to the moment. False: a fault, or the moment. */
bool past_run(past_t *past, isa_program_t *program, isa_wave_t *wave, uint32_t turn,
              uint64_t *executed);

#endif
