/* Reading what this process may have at an address, or have no more. Internal. */
#ifndef RAWHAL_BASE_OWN_MEMORY_H
#define RAWHAL_BASE_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies bytes of this process by the kernel, which does not fault where there are none: false.
 * Also false where the kernel does not let it, as under some seccomp filters. */
bool own_memory_read(uint64_t address, void *to, size_t size);

#endif
