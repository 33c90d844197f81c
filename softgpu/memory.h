/* The device's view of memory: which addresses are live. Internal to softgpu.
 *
 * Device addresses are host addresses. Everything the thunk allocated or registered is one
 * allocation here; what is in none of them faults. All functions are thread-safe; lookups take no
 * lock and may run while others add and remove. */
#ifndef SOFTGPU_MEMORY_H
#define SOFTGPU_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

enum {
  SOFTGPU_MEMORY_WRITE = 1u << 0,   /* kernels may store */
  SOFTGPU_MEMORY_EXECUTE = 1u << 1, /* instruction fetch allowed */
  SOFTGPU_MEMORY_VRAM = 1u << 2,    /* counted against a device's memory */
  SOFTGPU_MEMORY_SCRATCH = 1u << 3, /* a queue's scratch backing store */
};

typedef struct softgpu_allocation {
  uint64_t base;
  uint64_t size; /* bytes */
  uint32_t flags;
  uint32_t node; /* topology node that owns it; 0 is the host */
} softgpu_allocation_t;

/* False when out of memory. The range must not overlap a live one. */
bool softgpu_memory_add(const softgpu_allocation_t *allocation);

/* False when no allocation starts at `base`. */
bool softgpu_memory_remove(uint64_t base);

/* Removes every allocation that starts in [first, last) and adds `count` others, in one step: no
 * lookup ever sees the state between. False, and nothing changed, when the result would overlap or
 * memory is out. */
bool softgpu_memory_exchange(uint64_t first, uint64_t last, const softgpu_allocation_t *added,
                             uint32_t count);

/* The live allocation that contains `address`. */
bool softgpu_memory_find(uint64_t address, softgpu_allocation_t *allocation);

/* Whether no live allocation has any of `size` > 0 bytes at `base`. */
bool softgpu_memory_unclaimed(uint64_t base, uint64_t size);

/* The live allocation closest to an address that is in none (for reports). False when there is no
 * allocation at all. */
bool softgpu_memory_nearest(uint64_t address, softgpu_allocation_t *allocation);

/* Whether all of [address, address + size) is live, where adjacent allocations join. `write` asks
 * for memory that may be stored to. */
bool softgpu_memory_covers(uint64_t address, uint64_t size, bool write);

/* Grows with every removal: a copy of an allocation is still good while this has not changed. */
uint64_t softgpu_memory_generation(void);

#endif
