/* Path, thunk and options of softgpu. Internal. */
#ifndef RAWHAL_HAL_SOFTGPU_H
#define RAWHAL_HAL_SOFTGPU_H

#include "hal/internal.h"

/* Path, thunk and options of softgpu. `given` may be NULL; `why` it is wanted, for
 * messages. */
RAWHAL_CHECKED rawhal_status_t softgpu_load(const char *given, const char *why,
                                            softgpu_thunk_t *thunk, rawhal_error_t *error);
/* Makes `thunk` that of the softgpu which `runtime` takes. */
RAWHAL_CHECKED rawhal_status_t softgpu_follow(void *runtime, softgpu_thunk_t *thunk,
                                              rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t softgpu_configure(const softgpu_thunk_t *thunk, const char *options,
                                                 rawhal_error_t *error);
/* Before the runtime is begun: it takes address space for the scratch memory of each GPU, and ends
 * the process where it cannot have that. OUT_OF_MEMORY, as with RLIMIT_AS: it could not. */
RAWHAL_CHECKED rawhal_status_t softgpu_check_room(const softgpu_thunk_t *thunk,
                                                  rawhal_error_t *error);
/* Undoing sets what softgpu_configure() has set since the mark back to what it was, as far as the
 * device is closed; keeping leaves it until an earlier mark is undone. 0 is the mark before all. */
size_t softgpu_options_mark(void);
void softgpu_options_undo(const softgpu_thunk_t *thunk, size_t mark);
void softgpu_options_keep(size_t mark);
/* False when `library` is not softgpu. */
bool softgpu_resolve(void *library, softgpu_thunk_t *thunk);

#endif
