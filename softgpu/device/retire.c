#include "softgpu/device/retire.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Users are counted in the current phase, retired ranges wait in the phase they were retired in.
 * The phase turns only when no user is left in the other one; ranges waiting there were retired
 * before the current phase began, so no user that could know them is left either. */
typedef struct range {
  struct range *next;
  void *base;
  size_t size;
} range_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned phase;
static size_t users[2];
static range_t *waiting[2];

static void waiting_unmap(unsigned which)
{
  while (waiting[which]) {
    range_t *range = waiting[which];
    waiting[which] = range->next;
    munmap(range->base, range->size);
    free(range);
  }
}

static void reclaim(void)
{
  for (int turn = 0; turn < 2 && users[!phase] == 0; ++turn) {
    waiting_unmap(!phase);
    if (!waiting[phase])
      return;
    phase = !phase;
  }
}

unsigned softgpu_retire_enter(void)
{
  pthread_mutex_lock(&lock);
  unsigned token = phase;
  ++users[token];
  pthread_mutex_unlock(&lock);
  return token;
}

void softgpu_retire_leave(unsigned token)
{
  pthread_mutex_lock(&lock);
  --users[token];
  reclaim();
  pthread_mutex_unlock(&lock);
}

void softgpu_retire_unmap(void *base, size_t size)
{
  pthread_mutex_lock(&lock);
  if (users[0] == 0 && users[1] == 0) {
    munmap(base, size);
  } else {
    /* The memory goes back at once, only the addresses stay taken. */
    madvise(base, size, MADV_DONTNEED);
    range_t *range = malloc(sizeof(*range));
    if (range) {
      *range = (range_t){.next = waiting[phase], .base = base, .size = size};
      waiting[phase] = range;
      reclaim();
    }
    /* Without memory for the note, the addresses stay taken for good. */
  }
  pthread_mutex_unlock(&lock);
}
