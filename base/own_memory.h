/* Reading what this process may have at an address, or have no more. Internal. */
#ifndef RAWHAL_BASE_OWN_MEMORY_H
#define RAWHAL_BASE_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies bytes of this process by the kernel, which does not fault where there are none: false, and
 * what `to` has is not known. */
bool own_memory_copy(void *to, uint64_t from, size_t size);
/* The reverse; false: some of them may have been written. */
bool own_memory_write(uint64_t to, const void *from, size_t size);

#ifdef __cplusplus
}
#endif

#endif
