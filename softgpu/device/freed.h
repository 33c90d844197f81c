/* Parts of allocations that were freed in the order of a queue: for check_freed. Internal to
 * softgpu.
 *
 * A part is freed from one packet of the queue on, and may be used again from another one on, which
 * is known later. What is in between is kept until the queue has passed it: dispatches run long
 * after the host has said so. */
#ifndef SOFTGPU_DEVICE_FREED_H
#define SOFTGPU_DEVICE_FREED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SOFTGPU_FREED_TEXT = 192 };

typedef struct softgpu_freed {
  uint64_t base, size;
  uint64_t queue;                             /* of whose dispatches, as in softgpu_dispatch_t */
  uint64_t from, to;                          /* packets; `to` UINT64_MAX: it is free now */
  _Atomic uint64_t *read_index, *write_index; /* of the queue, until it is forgotten */
  char text[SOFTGPU_FREED_TEXT];              /* what it was */
} softgpu_freed_t;

/* False when out of memory. */
bool softgpu_freed_add(const softgpu_freed_t *freed);
/* Packets that are written from now on may use these bytes again. */
void softgpu_freed_end(uint64_t base, uint64_t size);
/* The queue goes. */
void softgpu_freed_forget(uint64_t queue);

/* Whether there may be any in these bytes, for any queue or packet. */
bool softgpu_freed_near(uint64_t base, uint64_t size);
/* Whether any of these bytes are freed for a packet of a queue. `freed` may be NULL. */
bool softgpu_freed_find(uint64_t address, uint64_t bytes, uint64_t queue, uint64_t packet,
                        softgpu_freed_t *freed);

#endif
