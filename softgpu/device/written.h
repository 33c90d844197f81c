/* Which bytes of an allocation something has written: for check_memory. Internal to softgpu.
 *
 * Kernels and copy engines say what they write, a bit each byte. The host, and other processes,
 * write without a word: so what is there at first is a pattern, and where that has changed it has
 * been written, too. */
#ifndef SOFTGPU_DEVICE_WRITTEN_H
#define SOFTGPU_DEVICE_WRITTEN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct softgpu_written softgpu_written_t;

/* Nothing of the `size` bytes at `memory`, whole pages that nobody else knows, has been written.
 * NULL when out of memory. */
softgpu_written_t *softgpu_written_begin(void *memory, uint64_t size);

/* When what it is of is no longer in the registry: as soon as no thread can be using it. */
void softgpu_written_retire(softgpu_written_t *written);

/* The allocation has `now` bytes; it has had `before`. */
void softgpu_written_bound(softgpu_written_t *written, uint64_t before, uint64_t now);

/* Whether there is nothing left that has not been. */
bool softgpu_written_is_all(const softgpu_written_t *written);

/* Something writes so many bytes from `offset` on, all within the allocation. */
void softgpu_written_add(softgpu_written_t *written, uint64_t offset, uint64_t bytes);

/* So many bytes were copied from `offset` of one to `at` of the other: what nothing had written is
 * not written there, either, where that is the same byte of a dword. Whether there was any. */
bool softgpu_written_copy(softgpu_written_t *to, uint64_t at, const softgpu_written_t *from,
                          uint64_t offset, uint64_t bytes);

/* Whether they have been written. Of aligned dwords it is enough that a byte of each has: compilers
 * access these where the program has a smaller element. */
bool softgpu_written_has(const softgpu_written_t *written, uint64_t offset, uint64_t bytes);

#endif
