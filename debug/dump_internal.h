/* A core file in the making. Internal to this folder. */
#ifndef RAWHAL_DEBUG_DUMP_INTERNAL_H
#define RAWHAL_DEBUG_DUMP_INTERNAL_H

#include "debug/dump.h"

enum {
  DUMP_WAVES = 8192,
  DUMP_OBJECTS = 256,
  DUMP_RANGES = 4096,
  DUMP_NOTES = 5,
  DUMP_STACK = 64 << 10, /* bytes above the stack pointer */
  DUMP_SECONDS = 10,     /* for writing, at most */
};
#define DUMP_SPARE     (UINT64_C(64) << 20)
#define DUMP_UNBOUNDED (UINT64_C(4) << 30) /* of copies, with a budget of 0 */
#define DUMP_OWN       (UINT64_C(1) << 30) /* addresses for the debugger's lists */

/* Pages that are given out from the start on; they cost nothing before they are written. */
typedef struct arena {
  unsigned char *base;
  size_t size, used;
} arena_t;

typedef struct dump {
  const dump_settings_t *settings;
  const dump_scene_t *scene;
  arena_t arena;
  core_queue_t queue;
  core_thread_t thread;
  core_wave_t *waves;
  core_object_t objects[DUMP_OBJECTS];
  core_memory_t *ranges;
  core_note_t notes[DUMP_NOTES];
  core_description_t all;
} dump_t;

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
static inline bool dump_wants(const dump_t *dump, core_class_t kind)
{
  return kind < CORE_KERNARG || dump->settings->classes & CORE_CLASS_BIT(kind);
}

/* Adds the notes of rawhal's own: process, modules, dispatches, allocations, cause. What finds no
 * room in the arena is missing, or counted in its note. */
void dump_add_notes(dump_t *dump);

#endif
