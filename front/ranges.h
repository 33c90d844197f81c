/* Which memory the program has: what it has allocated, and what it has freed lately.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_RANGES_H
#define RAWHAL_FRONT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct range {
  uint64_t base, size;
  uint64_t owner;  /* agent: a device's memory; 0: the host's */
  uint64_t host;   /* where the host has its beginning; 0: the runtime is to be asked */
  bool kept;       /* it is there until ranges_remove(): what a program maps itself it may unmap */
  uint64_t given;  /* devices that are known to reach it: a bit for each, by its index */
  uint64_t number; /* of the allocation, from 1, in the order in which they were made */
  uint64_t made_at, freed_at; /* CLOCK_MONOTONIC ns; freed_at 0: it lives */
  uint32_t told;              /* tell_entry_t, while it lives */
} range_t;

typedef enum range_state {
  RANGE_NONE = 0,
  RANGE_LIVE = 1,
  RANGE_FREED = 2, /* and nothing lives there; the latest RANGES_REMEMBERED are remembered */
} range_state_t;

enum { RANGES_REMEMBERED = 4096 };

#ifdef __cplusplus
extern "C" {
#endif

/* False: no memory to remember it in. What was freed is remembered beneath it. What the runtime
 * allocates of the host's memory the host has at the same address. */
bool ranges_add(uint64_t base, uint64_t size, uint64_t owner);
/* The program's own memory, which the host has at `host`, and devices that it was given to. */
bool ranges_add_mapped(uint64_t base, uint64_t size, uint64_t host, uint64_t given);
/* Nothing happens when nothing begins there. */
void ranges_remove(uint64_t base);
/* Where the address lies; `found` may be NULL. */
range_state_t ranges_find(uint64_t address, range_t *found);
/* To which devices what lies there was given: these too, or only these. */
void ranges_give(uint64_t address, uint64_t devices, bool only);
/* Copies bytes that the host has and keeps: they are not freed meanwhile. False: they are not such,
 * and nothing was copied. For what is short: the lock is held. */
bool ranges_read(uint64_t address, void *to, uint64_t size);
/* The live range that ends just there. */
bool ranges_ending(uint64_t address, range_t *found);
/* From the first byte of all that is live to its end; both 0: nothing is. */
void ranges_bounds(uint64_t *least, uint64_t *end);
/* The live range in which the address lies. Unlike ranges_find() it does not look for freed ones.
 */
bool ranges_live(uint64_t address, range_t *found);
/* Copies what lives and then what is remembered of what was freed, as far as there is room. Returns
 * how many there are. */
size_t ranges_list(range_t *to, size_t room);
/* The next one, for an allocation that is no range. */
uint64_t ranges_number(void);
/* While it is held nothing is removed, and so nothing freed, by threads that do not hold it. */
void ranges_hold(void);
void ranges_let(void);
/* Waits until nobody holds it who did. */
void ranges_settle(void);
void ranges_forget(void);
void ranges_abandon(void);

#ifdef __cplusplus
}
#endif

#endif
