#include "hsaco/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"

/* AddressSanitizer detects accesses beyond a chunk. With GAP it also detects those beyond each
 * allocation: all of a chunk is off limits but what was given out. */
#ifdef __has_feature
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
enum { GAP = 64 };
#define FORBID(from, to) ASAN_POISON_MEMORY_REGION((from), (size_t)((to) - (from)))
#define ALLOW(from, to)  ASAN_UNPOISON_MEMORY_REGION((from), (size_t)((to) - (from)))
#else
enum { GAP = 0 };
#define FORBID(from, to) ((void)(from), (void)(to))
#define ALLOW(from, to)  ((void)(from), (void)(to))
#endif

enum { CHUNK_LEAST = 6000, CHUNK_MOST = 8 << 20, ALIGNMENT = 8 };

typedef struct arena_chunk {
  struct arena_chunk *older;
  size_t size; /* of the usable part after this header */
} arena_chunk_t;

void arena_init(arena_t *arena, uint64_t budget, const allocator_t *allocator)
{
  *arena = (arena_t){.budget = budget};
  if (allocator)
    arena->allocator = *allocator;
}

/* Nothing of it is off limits to the allocator, whose memory it was. */
static void free_chunk(const arena_t *arena, arena_chunk_t *chunk)
{
  ALLOW((char *)(chunk + 1), (char *)(chunk + 1) + chunk->size);
  allocate_free(&arena->allocator, chunk);
}

void arena_free(arena_t *arena)
{
  for (arena_chunk_t *chunk = arena->chunks, *older; chunk; chunk = older) {
    older = chunk->older;
    free_chunk(arena, chunk);
  }
  *arena = (arena_t){0};
}

arena_mark_t arena_mark(const arena_t *arena)
{
  return (arena_mark_t){arena->chunks, arena->next, arena->end, arena->status};
}

void arena_rewind(arena_t *arena, arena_mark_t mark)
{
  while (arena->chunks != mark.chunk) {
    arena_chunk_t *newest = arena->chunks;
    arena->chunks = newest->older;
    arena->budget += newest->size;
    free_chunk(arena, newest);
  }
  arena->next = mark.next;
  arena->end = mark.end;
  arena->status = mark.status;
  FORBID(arena->next, arena->end);
}

static bool add_chunk(arena_t *arena, size_t size)
{
  size_t usual = arena->chunks ? arena->chunks->size * 2 : CHUNK_LEAST;
  if (usual > CHUNK_MOST)
    usual = CHUNK_MOST;
  if (size < usual)
    size = usual <= arena->budget ? usual : size;
  if (size > arena->budget || size > SIZE_MAX - sizeof(arena_chunk_t)) {
    arena->status = RAWHAL_CAP_EXCEEDED;
    return false;
  }
  arena_chunk_t *chunk = allocate(&arena->allocator, sizeof(*chunk) + size);
  if (!chunk) {
    arena->status = RAWHAL_OUT_OF_MEMORY;
    return false;
  }
  *chunk = (arena_chunk_t){.older = arena->chunks, .size = size};
  arena->chunks = chunk;
  arena->budget -= size;
  arena->next = (char *)(chunk + 1);
  arena->end = arena->next + size;
  FORBID(arena->next, arena->end);
  return true;
}

void *arena_alloc(arena_t *arena, size_t size)
{
  if (size > SIZE_MAX - ALIGNMENT - GAP) {
    arena->status = RAWHAL_CAP_EXCEEDED;
    return NULL;
  }
  size_t asked = size;
  size = size ? (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT; /* never NULL */
  size += GAP;
  if ((size_t)(arena->end - arena->next) < size && !add_chunk(arena, size))
    return NULL;
  char *memory = arena->next;
  arena->next += size;
  ALLOW(memory, memory + asked);
  return memory;
}

void *arena_calloc(arena_t *arena, size_t count, size_t size)
{
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) {
    arena->status = RAWHAL_CAP_EXCEEDED;
    return NULL;
  }
  void *memory = arena_alloc(arena, total);
  return memory ? memset(memory, 0, total) : NULL;
}

bool arena_reserve(arena_t *arena, void *items_pointer, size_t *capacity, size_t count,
                   size_t item_size, size_t hint)
{
  if (count < *capacity)
    return true;
  const size_t first = *capacity ? 0 : hint ? hint : 4;
  const size_t grown = array_grown(*capacity, first > count ? first : count + 1, item_size);
  if (!grown)
    arena->status = RAWHAL_CAP_EXCEEDED;
  void *old, *moved = grown ? arena_alloc(arena, grown * item_size) : NULL;
  if (!moved)
    return false;
  memcpy(&old, items_pointer, sizeof(old));
  if (count)
    memcpy(moved, old, count * item_size);
  memcpy(items_pointer, &moved, sizeof(moved));
  *capacity = grown;
  return true;
}

rawhal_string_t arena_print(arena_t *arena, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  size_t size = length < 0 ? 0 : (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
  for (size_t i = 0; i < size; ++i) /* one line of text, whatever the names in the file are */
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
      text[i] = '?';
  char *copy = arena_alloc(arena, size + 1);
  if (!copy)
    return (rawhal_string_t){0};
  memcpy(copy, text, size);
  copy[size] = 0;
  return (rawhal_string_t){copy, size};
}

rawhal_status_t arena_fail(const arena_t *arena, rawhal_error_t *error)
{
  if (arena->status == RAWHAL_CAP_EXCEEDED)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED,
                       "the file's records would exceed the memory allowed for a file of its size");
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "out of host memory");
}
