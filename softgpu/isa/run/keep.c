#include "softgpu/isa/run/keep.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
  ALIGNMENT = 256,
  KEPT = 64,             /* pieces */
  KEPT_BYTES = 32 << 20, /* of all of them */
};

typedef struct kept {
  void *memory;
  size_t size;
} kept_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kept_t kept[KEPT]; /* the first `count` */
static unsigned count;
static size_t bytes;

/* The piece of just that size that was given last; NULL when there is none. */
static void *find_kept(size_t size)
{
  void *memory = NULL;
  pthread_mutex_lock(&lock);
  for (unsigned i = count; i-- > 0 && !memory;)
    if (kept[i].size == size) {
      memory = kept[i].memory;
      kept[i] = kept[--count];
      bytes -= size;
    }
  pthread_mutex_unlock(&lock);
  return memory;
}

void *isa_keep_take(size_t size)
{
  void *memory = find_kept(size);
  return memory ? memory : aligned_alloc(ALIGNMENT, size);
}

/* What was given first goes where there is no room. */
void isa_keep_give(void *memory, size_t size)
{
  kept_t dropped[KEPT];
  unsigned drops = 0;
  if (!memory)
    return;
  pthread_mutex_lock(&lock);
  while (count && (count == KEPT || bytes + size > KEPT_BYTES)) {
    dropped[drops++] = kept[0];
    bytes -= kept[0].size;
    kept[0] = kept[--count];
  }
  const bool is_kept = bytes + size <= KEPT_BYTES;
  if (is_kept) {
    kept[count++] = (kept_t){memory, size};
    bytes += size;
  }
  pthread_mutex_unlock(&lock);
  while (drops)
    free(dropped[--drops].memory);
  if (!is_kept)
    free(memory);
}
