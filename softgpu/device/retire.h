/* Freed memory stays mapped, though empty, while a dispatch that may have looked it up before still
 * runs: a kernel's use after free must not become a crash of the process. */
#ifndef SOFTGPU_DEVICE_RETIRE_H
#define SOFTGPU_DEVICE_RETIRE_H

#include <stddef.h>
#include <stdint.h>

/* Brackets everything the device does to memory it found in the registry. */
unsigned softgpu_retire_enter(void);
void softgpu_retire_leave(unsigned token);

/* Unmaps pages that are no longer in the registry, as soon as no thread can be using them. */
void softgpu_retire_unmap(void *base, size_t size);

#endif
