#include "softgpu/cp/pause.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "softgpu/cp/processor.h"
#include "softgpu/device/opened.h"
#include "softgpu/device/thread.h"
#include "softgpu/exports.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed; /* of CLOCK_MONOTONIC */
static _Atomic uint32_t depth; /* written under the lock */
static uint32_t processors, parked;

/* With pthread_cond_clockwait it would not need to be made, and not run below glibc 2.30. As it
 * is before, it is one of another clock, on which `until` is over. */
__attribute__((constructor)) static void changed_make(void)
{
  (void)softgpu_condition_init(&changed);
}

bool softgpu_pausing(void)
{
  return atomic_load_explicit(&depth, memory_order_relaxed) > 0;
}

void softgpu_pause_join(void)
{
  pthread_mutex_lock(&lock);
  ++processors;
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_leave(void)
{
  pthread_mutex_lock(&lock);
  --processors;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_park(const bool *stop)
{
  pthread_mutex_lock(&lock);
  ++parked;
  pthread_cond_broadcast(&changed);
  while (atomic_load_explicit(&depth, memory_order_relaxed) > 0 &&
         !__atomic_load_n(stop, __ATOMIC_RELAXED))
    pthread_cond_wait(&changed, &lock);
  --parked;
  pthread_mutex_unlock(&lock);
}

void softgpu_pause_nudge(void)
{
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

/* Begins a pause, and waits until all processors are parked, or it is over, or, unless `until` is
 * NULL, it is that late. Whether all are. */
static bool pause_begin(const struct timespec *until)
{
  SOFTGPU_WITHOUT_CANCELLATION();
  pthread_mutex_lock(&lock);
  atomic_fetch_add(&depth, 1);
  pthread_mutex_unlock(&lock);
  softgpu_queues_wake();
  pthread_mutex_lock(&lock);
  int status = 0;
  while (parked < processors && atomic_load(&depth) > 0 && status == 0)
    status =
        until ? pthread_cond_timedwait(&changed, &lock, until) : pthread_cond_wait(&changed, &lock);
  bool done = parked >= processors;
  pthread_mutex_unlock(&lock);
  return done;
}

SOFTGPU_EXPORT void softgpu_pause(void)
{
  if (!softgpu_forked())
    pause_begin(NULL);
}

bool softgpu_pause_within(unsigned milliseconds)
{
  const struct timespec until = softgpu_time_in(milliseconds * 1000000ull);
  bool done = pause_begin(&until);
  if (!done)
    softgpu_resume();
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
