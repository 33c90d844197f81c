#include "softgpu/cp/pause.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "softgpu/cp/processor.h"
#include "softgpu/exports.h"
#include "softgpu/thunk/thunk.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic uint32_t depth; /* written under the lock */
static uint32_t processors, parked;

bool softgpu_pausing(void)
{
  return atomic_load_explicit(&depth, memory_order_relaxed) > 0;
}

void softgpu_pause_join(void)
{
  pthread_mutex_lock(&lock);
  processors++;
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_leave(void)
{
  pthread_mutex_lock(&lock);
  processors--;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_park(const bool *stop)
{
  pthread_mutex_lock(&lock);
  parked++;
  pthread_cond_broadcast(&changed);
  while (atomic_load_explicit(&depth, memory_order_relaxed) > 0 &&
         !__atomic_load_n(stop, __ATOMIC_RELAXED))
    pthread_cond_wait(&changed, &lock);
  parked--;
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_nudge(void)
{
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

SOFTGPU_EXPORT void softgpu_pause(void)
{
  if (softgpu_forked())
    return;
  pthread_mutex_lock(&lock);
  atomic_fetch_add(&depth, 1);
  pthread_mutex_unlock(&lock);
  softgpu_queues_wake();
  pthread_mutex_lock(&lock);
  while (parked < processors && atomic_load(&depth) > 0)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

bool softgpu_pause_within(unsigned milliseconds)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); /* the condition's clock */
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&lock);
  atomic_fetch_add(&depth, 1);
  pthread_mutex_unlock(&lock);
  softgpu_queues_wake();
  pthread_mutex_lock(&lock);
  int status = 0;
  while (parked < processors && status == 0)
    status = pthread_cond_timedwait(&changed, &lock, &until);
  bool done = parked >= processors;
  if (!done) {
    if (atomic_load(&depth) > 0)
      atomic_fetch_sub(&depth, 1);
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return done;
}

SOFTGPU_EXPORT void softgpu_resume(void)
{
  if (softgpu_forked())
    return;
  pthread_mutex_lock(&lock);
  if (atomic_load(&depth) > 0)
    atomic_fetch_sub(&depth, 1);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}
