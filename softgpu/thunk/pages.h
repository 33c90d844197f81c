/* Pages that stand for memory of the device.
 *
 * The system puts mappings side by side, where an access beyond one lands in the next unnoticed. So
 * inaccessible address space, which costs no memory, lies before and after each (option guard_kib),
 * for as many as live at a time without using up the process's mappings. */
#ifndef SOFTGPU_THUNK_PAGES_H
#define SOFTGPU_THUNK_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct softgpu_pages {
  uint64_t base, size;              /* usable */
  uint64_t reserved, reserved_size; /* with the guards */
  bool guarded;                     /* counts among those that have guards */
} softgpu_pages_t;

/* `size` is of whole pages; from 2 MiB on, so is the alignment. False when out of address space. */
bool softgpu_pages_map(softgpu_pages_t *pages, uint64_t size);
/* The same at a multiple of `alignment` at least, a power of two or 0. */
bool softgpu_pages_map_aligned(softgpu_pages_t *pages, uint64_t size, uint64_t alignment);
/* Address space alone, which nothing can be read from or written to. */
bool softgpu_pages_reserve(softgpu_pages_t *pages, uint64_t size);
/* At a place of the caller's choice, without guards. False when something is there already. */
bool softgpu_pages_map_at(softgpu_pages_t *pages, uint64_t address, uint64_t size);

void softgpu_pages_unmap(const softgpu_pages_t *pages);
/* The same once no dispatch can be using them any more. */
void softgpu_pages_retire(const softgpu_pages_t *pages);

#endif
