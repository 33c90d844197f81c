/* One allocation lifetime for everything an object or container owns. Internal.
 *
 * Memory comes in a few growing chunks and is released at once. A budget bounds what a hostile file
 * can make us allocate: records are larger than the smallest metadata that asks for them. */
#ifndef RAWHAL_HSACO_ARENA_H
#define RAWHAL_HSACO_ARENA_H

#include "base/allocate.h"

struct arena_chunk;

typedef struct arena {
  struct arena_chunk *chunks; /* newest first */
  char *next, *end;           /* free part of the newest chunk */
  uint64_t budget;            /* bytes that may still be taken from the allocator */
  rawhal_status_t status;     /* why an allocation has failed: OUT_OF_MEMORY or CAP_EXCEEDED */
  allocator_t allocator;
} arena_t;

/* `allocator` is copied; NULL is malloc(). */
void arena_init(arena_t *arena, uint64_t budget, const allocator_t *allocator);
void arena_free(arena_t *arena);

/* A place to return to: what was allocated after it is given back. */
typedef struct arena_mark {
  struct arena_chunk *chunk;
  char *next, *end;
  rawhal_status_t status;
} arena_mark_t;
arena_mark_t arena_mark(const arena_t *arena);
void arena_rewind(arena_t *arena, arena_mark_t mark);

/* Uninitialised memory aligned for any record here (8 bytes); NULL on failure, see `status`. */
void *arena_alloc(arena_t *arena, size_t size);
void *arena_calloc(arena_t *arena, size_t count, size_t size);

/* Makes room for item number `count` of an array that lives in the arena and may move. `hint` is
 * the capacity to start with. */
bool arena_reserve(arena_t *arena, void *items_pointer, size_t *capacity, size_t count,
                   size_t item_size, size_t hint);

/* Formats into the arena; an empty string when there is no memory. */
__attribute__((format(printf, 2, 3))) rawhal_string_t arena_print(arena_t *arena,
                                                                  const char *format, ...);

/* Fails with the arena's status and a sentence that fits it. */
RAWHAL_CHECKED rawhal_status_t arena_fail(const arena_t *arena, rawhal_error_t *error);

#endif
