/* When copies ran, by the program's signals: what those would say if they were the copies' own. */
#include "front/copy.h"

#include <stdlib.h>

#include "base/hash_table.h"

typedef struct timed {
  uint64_t signal;
  hsa_amd_profiling_async_copy_time_t times;
  UT_hash_handle hh;
} timed_t;

static pthread_mutex_t times_lock = PTHREAD_MUTEX_INITIALIZER;
static timed_t *times_all;
static atomic_size_t times_count;

static void forget_times(uint64_t signal)
{
  timed_t *found;
  pthread_mutex_lock(&times_lock);
  HASH_FIND(hh, times_all, &signal, sizeof(signal), found);
  if (found) {
    HASH_DELETE(hh, times_all, found);
    atomic_fetch_sub(&times_count, 1);
  }
  pthread_mutex_unlock(&times_lock);
  free(found);
}

void copy_times_keep(hsa_signal_t signal, const hsa_amd_profiling_async_copy_time_t *times)
{
  timed_t *mine = malloc(sizeof(*mine));
  forget_times(signal.handle);
  if (!mine)
    return;
  *mine = (timed_t){.signal = signal.handle, .times = *times};
  pthread_mutex_lock(&times_lock);
  HASH_ADD(hh, times_all, signal, sizeof(mine->signal), mine);
  bool added = mine->hh.tbl != NULL;
  pthread_mutex_unlock(&times_lock);
  if (added)
    atomic_fetch_add(&times_count, 1);
  else
    free(mine);
}

void copying_disown(hsa_signal_t completion)
{
  if (atomic_load(&times_count))
    forget_times(completion.handle);
}

bool copy_times_find(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t *times)
{
  timed_t *found;
  pthread_mutex_lock(&times_lock);
  HASH_FIND(hh, times_all, &signal.handle, sizeof(signal.handle), found);
  if (found)
    *times = found->times;
  pthread_mutex_unlock(&times_lock);
  return found != NULL;
}

void copy_times_forget(void)
{
  timed_t *timed, *next;
  pthread_mutex_lock(&times_lock);
  HASH_ITER(hh, times_all, timed, next)
  {
    HASH_DELETE(hh, times_all, timed);
    free(timed);
  }
  atomic_store(&times_count, 0);
  pthread_mutex_unlock(&times_lock);
}

void copy_times_abandon(void)
{
  (void)pthread_mutex_init(&times_lock, NULL);
  times_all = NULL;
  atomic_store(&times_count, 0);
}
