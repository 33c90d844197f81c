/* The memory of format.h from the side of the process that it tells of. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DOOR_MEMORY_H
#define RAWHAL_DEBUG_DOOR_MEMORY_H

#include "debug/door/format.h"
#include "debug/door/tell.h"

#include "base/status.h"

/* NULL before one is made, in a child of fork(), and where none can be had. */
extern door_memory_t *memory_made;
static inline door_memory_t *door_memory(void)
{
  return __atomic_load_n(&memory_made, __ATOMIC_ACQUIRE);
}
/* tell_types is to be looked at again: there is memory now, or other subscribers. */
void tell_aim(void);
/* Makes it, once; `socket`: of format.h. `watched`: as if an observer had just said that it wants
 * everything. RUNTIME: the system gives none. */
RAWHAL_CHECKED rawhal_status_t door_memory_make(door_kind_t kind, int socket, bool watched,
                                                rawhal_error_t *error);

/* Puts a record of so many bytes, a multiple of 8 and at most DOOR_RECORD_BYTES, into the ring. */
void slots_put(door_memory_t *memory, const uint64_t *words, uint32_t bytes);
static inline uint64_t slots_wanted_until(const door_memory_t *memory)
{
  return __atomic_load_n(&memory->head.until, __ATOMIC_RELAXED);
}
/* Whether an observer wants such events. They say so again and again: one that died is
 * forgotten. */
bool slots_wanted(door_memory_t *memory, rawhal_event_type_t type, uint64_t now);

/* The first so many bytes of a record, at most DOOR_ENTRY_WORDS words. TELL_UNLISTED: there is no
 * room. */
tell_entry_t entries_add(door_memory_t *memory, const uint64_t *words, uint32_t bytes);
/* Another record stands there; it came when the former did. */
void entries_change(door_memory_t *memory, tell_entry_t entry, const uint64_t *words,
                    uint32_t bytes);
void entries_remove(door_memory_t *memory, tell_entry_t entry);

#endif
