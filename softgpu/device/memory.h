/* The devices' view of memory: which addresses are live, and for which device. Internal to softgpu.
 *
 * Everything the thunk allocated or registered is one allocation here; what is in none of them
 * faults, and so does what is in one that the device was not given (its page tables do not have
 * it). What the thunk allocated has one address for devices and host; what the program allocated
 * itself and registered may have another one for devices. All functions are thread-safe; lookups
 * take no lock and may run while others add and remove. */
#ifndef SOFTGPU_DEVICE_MEMORY_H
#define SOFTGPU_DEVICE_MEMORY_H

#include "softgpu/device/written.h"

#include <stdbool.h>
#include <stdint.h>

enum { SOFTGPU_PAGE = 4096 }; /* bytes */

enum {
  SOFTGPU_MEMORY_WRITE = 1u << 0,   /* kernels may store */
  SOFTGPU_MEMORY_EXECUTE = 1u << 1, /* instruction fetch allowed */
  SOFTGPU_MEMORY_VRAM = 1u << 2,    /* counted against a device's memory */
  SOFTGPU_MEMORY_SCRATCH = 1u << 3, /* a queue's scratch backing store */
  SOFTGPU_MEMORY_USER = 1u << 4,    /* the program's own, which may unmap it at any time */
  SOFTGPU_MEMORY_LOCKED = 1u << 5,  /* of that, what it registered: bounds are exact */
};

typedef struct softgpu_allocation {
  uint64_t base;
  uint64_t size; /* bytes */
  uint32_t flags;
  uint32_t node;              /* topology node that owns it; 0 is the host */
  uint32_t access;            /* nodes it is mapped to, 1 << node each */
  uint64_t shift;             /* added to a device address it is the host's, modulo 2^64 */
  softgpu_written_t *written; /* of its bytes; NULL: all count as written */
} softgpu_allocation_t;

/* Whether kernels and copy engines of a node may use it. Node 0 is the host, which may use all. */
static inline bool softgpu_memory_allows(const softgpu_allocation_t *allocation, uint32_t node)
{
  return node == 0 || (allocation->access >> node & 1);
}

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

/* The first live allocation that ends above `address`. */
bool softgpu_memory_next(uint64_t address, softgpu_allocation_t *allocation);

/* The live allocation closest to an address that is in none (for reports). False when there is no
 * allocation at all. */
bool softgpu_memory_nearest(uint64_t address, softgpu_allocation_t *allocation);

/* Whether the host still has all of the `size` bytes at an allocation's `address`. The program may
 * have unmapped its own without a word; then a device finds no page there. */
bool softgpu_memory_present(const softgpu_allocation_t *allocation, uint64_t address,
                            uint64_t size);

/* Executable dwords at `base`, at most so many; 0 when there are none at `pc`, on the same page,
 * that `node` may use. Code is where the thunk allocated it, at one address for host and
 * devices. */
uint32_t softgpu_memory_code(uint32_t node, uint64_t base, uint64_t pc, uint32_t most);

/* Where the host has the `size` > 0 bytes at `address`, when all of them are live, `node` may use
 * them and, with `write`, store to them, as it then does; else NULL. Adjacent allocations join. */
void *softgpu_memory_reach(uint32_t node, uint64_t address, uint64_t size, bool write);
/* A copy engine has moved them, which softgpu_memory_reach() has found. What nothing had written is
 * not written where it is now. */
void softgpu_memory_copied(uint64_t to, uint64_t from, uint64_t size);
/* Whether `node` may store to all of them, and they are of the thunk's allocations: at the host's
 * address, and there until it says otherwise, unlike what the program may unmap. */
bool softgpu_memory_keeps(uint32_t node, uint64_t address, uint64_t size);

/* A debugger may have changed what is there: code that was decoded is compared once more. */
void softgpu_memory_poked(void);

/* Grows with every removal and change: a copy of an allocation is good while it stays the same. */
extern uint64_t softgpu_memory_removals; /* memory.c's */
static inline uint64_t softgpu_memory_generation(void)
{
  return __atomic_load_n(&softgpu_memory_removals, __ATOMIC_SEQ_CST);
}

#endif
