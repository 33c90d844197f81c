/* What was gathered for a core file. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DUMP_INTERNAL_H
#define RAWHAL_DEBUG_DUMP_INTERNAL_H

#include "debug/core/notes.h"
#include "debug/dump.h"
#include "debug/threads.h"

#include <ucontext.h>

enum {
  DUMP_WAVES = 8192,
  DUMP_OBJECTS = 256,
  DUMP_RANGES = 8192,
  DUMP_LATER = 2048, /* of which so many are for what comes after buffers: other queues, stacks */
  DUMP_QUEUES = 256,
  DUMP_NOTES = 6,
};
#define DUMP_SPARE     (UINT64_C(128) << 20) /* for all but memory: waves, lists, notes */
#define DUMP_UNBOUNDED (UINT64_C(256) << 30) /* of copies, with a budget of 0 */
#define DUMP_OWN       (UINT64_C(1) << 30)   /* addresses for the debugger's lists */

/* Pages that are given out from the start on; they cost nothing before they are written. */
typedef struct arena {
  unsigned char *base;
  size_t size, used;
} arena_t;

typedef struct dump_store {
  const dump_settings_t *settings;
  const dump_scene_t *scene; /* while it is gathered; NULL: nothing was */
  arena_t arena;             /* this stands in it, too */
  uint64_t now;              /* the scene's */
  uint64_t left;             /* bytes of memory and objects that may still be copied */
  core_queue_t queues[DUMP_QUEUES];
  threads_t *threads; /* of the host, but for the one that writes; NULL: not known */
  core_wave_t *waves;
  core_object_t objects[DUMP_OBJECTS];
  core_memory_t *ranges;
  core_note_t notes[DUMP_NOTES];
  core_notes_t dispatches; /* of all queues */
  core_description_t all;
} dump_store_t;

/* NULL: there is no room. */
static inline void *arena_take(arena_t *arena, size_t size)
{
  const size_t rounded = (size + 63) & ~(size_t)63;
  if (rounded < size || rounded > arena->size - arena->used)
    return NULL;
  void *taken = arena->base + arena->used;
  arena->used += rounded;
  return taken;
}

/* Whether what the class stands for may be in the file. */
static inline bool dump_wants(const dump_store_t *store, core_class_t kind)
{
  return kind < CORE_KERNARG || store->settings->classes & CORE_CLASS_BIT(kind);
}

typedef bool dump_read_fn(const dump_store_t *store, uint64_t address, void *to, size_t size);
dump_read_fn dump_read_own;
/* Adds a range, with a copy of its bytes where they can be had and as far as there is room; else it
 * is listed as left out. */
void dump_add_range(dump_store_t *store, uint64_t address, uint64_t size, core_class_t kind,
                    dump_read_fn *read);

/* False: there is no room even for the lists. */
bool dump_gather_scene(dump_store_t *store, const dump_scene_t *scene);
void dump_gather_other(dump_store_t *store, const dump_queue_t *queue);
/* The host's threads, the calling one, which is `here`, first, with as much of their stacks as
 * there is room for. */
void dump_add_threads(dump_store_t *store, const ucontext_t *here);

/* Adds the notes of rawhal's own: modules, dispatches, allocations, cause. What finds no room in
 * the arena is missing, or counted in its note. */
void dump_add_notes(dump_store_t *store);
/* The dispatches of a queue. */
void dump_add_dispatches(dump_store_t *store, const dump_queue_t *queue);
/* No queue comes any more, and threads are known. */
void dump_end_notes(dump_store_t *store);

#endif
