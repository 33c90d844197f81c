#include "softgpu/device/opened.h"

#include <pthread.h>
#include <stdatomic.h>

static _Atomic uint32_t open_count;
static _Atomic bool forked; /* in a child of a process that had the device open */

static void child_after_fork(void)
{
  /* Locks may be held by threads that do not exist here, so nothing is cleaned up or joined. */
  if (atomic_load(&open_count) > 0)
    atomic_store(&forked, true);
}

static void fork_watch(void)
{
  pthread_atfork(NULL, NULL, child_after_fork);
}

bool softgpu_forked(void)
{
  return atomic_load_explicit(&forked, memory_order_relaxed);
}

bool softgpu_opened(void)
{
  return softgpu_open_count() > 0 && !softgpu_forked();
}

uint32_t softgpu_open_count(void)
{
  return atomic_load_explicit(&open_count, memory_order_relaxed);
}

void softgpu_open_count_set(uint32_t count)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fork_watch);
  atomic_store(&open_count, count);
}
