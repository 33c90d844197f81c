/* Kinds of memory, by what the runtime says of its pools. Internal. */
#ifndef RAWHAL_HAL_KINDS_H
#define RAWHAL_HAL_KINDS_H

#include "hal/internal.h"

typedef struct memory_kind {
  hsa_amd_memory_pool_t pool;
  bool is_local;  /* a device's own */
  bool is_mapped; /* and the host reaches it in place */
  size_t granule; /* in which it is allocated */
} memory_kind_t;

/* INVALID_ARGUMENT: there is no such kind; UNSUPPORTED: the runtime has no such memory of the
 * device's, and why; RUNTIME. */
RAWHAL_CHECKED rawhal_status_t kind_find(const rawhal_device_t *device, rawhal_memory_kind_t kind,
                                         memory_kind_t *found, rawhal_error_t *error);

#endif
