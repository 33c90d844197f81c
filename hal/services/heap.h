/* What malloc() of kernels takes its memory from: one piece of device memory, in pages. Internal.
 *
 * The device library asks for slabs of 2 MiB, which it finds again by the address's upper bits, and
 * for what is larger than a block of a slab, which it tells from those by being at the beginning of
 * a page of 4 KiB. One thread at a time, which is the one that serves hostcalls. */
#ifndef RAWHAL_HAL_SERVICES_HEAP_H
#define RAWHAL_HAL_SERVICES_HEAP_H

#include "base/allocate.h"
#include "hal/services/services.h"

#define HEAP_PAGE ((uint64_t)4096)
#define HEAP_SLAB ((uint64_t)2 << 20)

typedef struct services_heap {
  uint64_t base; /* a multiple of HEAP_SLAB; 0: there is none */
  uint32_t pages;
  uint32_t *runs; /* where a run of pages begins: its length, and HEAP_USED; else 0 */
  uint64_t used;  /* bytes; atomic */
  uint64_t full;  /* requests that found no room; atomic */
  const allocator_t *allocator;
} services_heap_t;

/* Of `size` bytes at `base`, both multiples of HEAP_SLAB. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t heap_open(services_heap_t *heap, uint64_t base, uint64_t size,
                                         const allocator_t *allocator, rawhal_error_t *error);
void heap_close(services_heap_t *heap);

/* 0: not so much in one piece. What is as large as a slab lies like one. */
uint64_t heap_take(services_heap_t *heap, uint64_t size);
/* False: not an address that was given out. */
bool heap_give(services_heap_t *heap, uint64_t address);

#endif
