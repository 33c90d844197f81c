/* Making buffers, and checking them. Internal. */
#ifndef RAWHAL_HAL_BUFFER_H
#define RAWHAL_HAL_BUFFER_H

#include "hal/internal.h"

/* The beginning of making a buffer: it holds the runtime, and nothing else yet. NULL: out of
 * memory, as `error` says. */
RAWHAL_CHECKED rawhal_buffer_t *buffer_begin(rawhal_device_t *device, rawhal_memory_kind_t kind,
                                             size_t size, rawhal_error_t *error);
/* The end of making a buffer, which came to `status`: registers it, or gives back what it has. */
RAWHAL_CHECKED rawhal_status_t buffer_finish(rawhal_buffer_t *created, rawhal_status_t status,
                                             rawhal_buffer_t **buffer, rawhal_error_t *error);

/* A buffer that is given out in parts, which rawhal_buffer_free() leaves alone. */
RAWHAL_CHECKED rawhal_status_t buffer_allocate_parted(rawhal_device_t *device,
                                                      rawhal_memory_kind_t kind, size_t size,
                                                      const char *label, rawhal_buffer_t **buffer,
                                                      rawhal_error_t *error);
void buffer_free_parted(rawhal_buffer_t *buffer);

/* Graphs name it: one that is freed meanwhile stays as it is, and counted. Without locks. */
void buffer_keep(void *buffer);
void buffer_let(void *buffer);

/* The registry of live buffers: none of them goes while it is held. */
void registry_hold(void);
void registry_let(void);
/* The first; the others follow by `hh.next`. The caller holds the registry. */
const rawhal_buffer_t *registry_first(void);

/* Where the host has these bytes of a device's, which are one buffer's: for the kernel to copy, not
 * to be dereferenced. 0: nowhere. The caller holds the registry. */
uint64_t registry_place(uint64_t address, size_t size);

/* OK for a buffer that is alive. */
RAWHAL_CHECKED rawhal_status_t buffer_check(const rawhal_buffer_t *buffer, rawhal_error_t *error);

#endif
