/* The steps of reading an entry of Triton's cache. Internal. */
#ifndef RAWHAL_LIBRARY_TRITON_PARTS_H
#define RAWHAL_LIBRARY_TRITON_PARTS_H

#include "hsaco/arena.h"
#include "library/triton/triton.h"

/* What NAME.json says into `entry`, whose strings are then the arena's. `bytes` need not be JSON.
 * MALFORMED, UNSUPPORTED, OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t triton_read(const void *bytes, size_t size, arena_t *arena,
                                           rawhal_triton_kernel_t *entry, rawhal_error_t *error);

/* Whether the object has the kernel that the entry describes. Completes the entry: warp_size,
 * workgroup, arch. */
RAWHAL_CHECKED rawhal_status_t triton_check(const rawhal_hsaco_t *hsaco,
                                            rawhal_triton_kernel_t *entry, rawhal_error_t *error);

#endif
