#include "front/unloaded.h"

#include "base/clock.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unloaded_t all[UNLOADED]; /* size 0: none */
static size_t next;

void unloaded_note(uint64_t base, uint64_t size, uint64_t agent)
{
  pthread_mutex_lock(&lock);
  all[next++ % UNLOADED] = (unloaded_t){base, size, clock_now(), agent};
  pthread_mutex_unlock(&lock);
}

void unloaded_forget(uint64_t base, uint64_t size)
{
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < UNLOADED; ++i)
    if (all[i].base < base + size && base < all[i].base + all[i].size)
      all[i].size = 0;
  pthread_mutex_unlock(&lock);
}

size_t unloaded_list(unloaded_t *to, size_t room)
{
  size_t count = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < UNLOADED; ++i)
    if (all[i].size && count++ < room)
      to[count - 1] = all[i];
  pthread_mutex_unlock(&lock);
  return count;
}

bool unloaded_has(uint64_t address)
{
  unloaded_t listed[UNLOADED];
  const size_t count = unloaded_list(listed, UNLOADED);
  for (size_t i = 0; i < count; ++i)
    if (address - listed[i].base < listed[i].size)
      return true;
  return false;
}

void unloaded_abandon(void)
{
  (void)pthread_mutex_init(&lock, NULL);
  unloaded_forget(0, UINT64_MAX);
}
