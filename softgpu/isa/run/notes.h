/* Copies of waves: of a dispatch that failed, and, on request, of one that runs. Internal to
 * softgpu.
 *
 * Each thread that runs work-groups of a dispatch copies its own, where it looks at the time limit
 * or when it leaves, so that none is ever stopped. A dispatch at a time uses a queue's notes. */
#ifndef SOFTGPU_ISA_RUN_NOTES_H
#define SOFTGPU_ISA_RUN_NOTES_H

#include <stdatomic.h>

#include "softgpu/isa/run/group.h"

/* NULL when out of memory. As many calls of isa_notes_release() as of these two end it. */
softgpu_notes_t *isa_notes_create(void);
softgpu_notes_t *isa_notes_hold(softgpu_notes_t *notes);
void isa_notes_release(softgpu_notes_t *notes);

/* softgpu_waves_take() and softgpu_waves(), of any thread. */
bool isa_notes_take(softgpu_notes_t *notes, uint32_t milliseconds);
size_t isa_notes_walk(softgpu_notes_t *notes, softgpu_wave_fn *function, void *context);

/* --- of the threads that run the dispatch --- */

typedef struct isa_noter {
  softgpu_notes_t *notes; /* NULL: none are wanted */
  uint32_t answered;      /* the last request that it had its part in */
  /* The group that failed on this thread, and its wave there; whether that has been noted. */
  const isa_group_t *failed;
  uint32_t failed_wave;
  bool is_noted;
} isa_noter_t;

/* All zeros but for `notes` at first. */
void isa_noter_enter(isa_noter_t *noter);

/* Whether there is a request that it has had no part in. */
bool isa_noter_is_asked(const isa_noter_t *noter);
void isa_noter_answer(isa_noter_t *noter, isa_group_t *const *groups, uint32_t count);

/* The group failed, at an instruction of the wave, or of none of its waves: ISA_NO_WAVE. `is_first`
 * of all groups of the dispatch: so others that leave from now on note theirs, too. */
enum { ISA_NO_WAVE = UINT8_MAX };
void isa_noter_fail(isa_noter_t *noter, const isa_group_t *group, uint32_t wave, bool is_first);

void isa_noter_leave(isa_noter_t *noter, isa_group_t *const *groups, uint32_t count);

#endif
