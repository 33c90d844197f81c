/* One runtime per process, counted. Internal. */
#ifndef RAWHAL_HAL_RUNTIME_H
#define RAWHAL_HAL_RUNTIME_H

#include "hal/internal.h"

RAWHAL_CHECKED rawhal_status_t runtime_open(const rawhal_instance_options_t *options,
                                            hal_runtime_t **runtime, rawhal_error_t *error);
/* Every object that uses the runtime holds it, so that it shuts down after the last of them. */
void runtime_hold(void);
void runtime_release(void);
/* Memory of the runtime's allocator, for code that holds the runtime and has no place for a
 * pointer. */
void *runtime_allocate(size_t size);
void runtime_free(void *memory);
/* What softgpu tells of faults; all NULL on hardware. */
const debug_softgpu_t *runtime_softgpu(void);
/* OK, or DEVICE_LOST in a child of fork(): the runtime is the parent's, and locks may be held by
 * threads that are not here. Comes first in everything that touches either. */
RAWHAL_CHECKED rawhal_status_t runtime_check(rawhal_error_t *error);

#endif
