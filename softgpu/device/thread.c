#include "softgpu/device/thread.h"

#include <fenv.h>
#include <signal.h>
#include <time.h>

static softgpu_thread_starter_t *starter = softgpu_thread_start_here;

void softgpu_thread_start_by(softgpu_thread_starter_t *start)
{
  __atomic_store_n(&starter, start, __ATOMIC_RELEASE);
}

bool softgpu_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
  return __atomic_load_n(&starter, __ATOMIC_ACQUIRE)(thread, name, run, argument);
}

bool softgpu_thread_start_here(pthread_t *thread, const char *name, void *(*run)(void *),
                               void *argument)
{
  sigset_t all, before;
  sigfillset(&all);
  /* Faults of the thread itself must stay what they are. */
  sigdelset(&all, SIGSEGV);
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGILL);
  if (starter != softgpu_thread_start_here)
    sigdelset(&all, SIGTRAP); /* who starts them hears of breakpoints */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  /* A thread begins with what its creator has: programs round as they like, and flush denormals
   * when they are compiled with -ffast-math. */
  fenv_t environment;
  fegetenv(&environment);
  fesetenv(FE_DFL_ENV);
  int status = pthread_create(thread, NULL, run, argument);
  fesetenv(&environment);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (status == 0)
    pthread_setname_np(*thread, name);
  return status == 0;
}

struct timespec softgpu_time_in(uint64_t ns)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  ns += (uint64_t)time.tv_nsec;
  time.tv_sec += (time_t)(ns / 1000000000);
  time.tv_nsec = (long)(ns % 1000000000);
  return time;
}

bool softgpu_condition_init(pthread_cond_t *condition)
{
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0)
    return false;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  int status = pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
  return status == 0;
}

void softgpu_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, long ns)
{
  const struct timespec until = softgpu_time_in((uint64_t)ns);
  pthread_cond_timedwait(condition, mutex, &until);
}

int softgpu_cancellation_hold(void)
{
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

void softgpu_cancellation_resume(const int *before)
{
  int held;
  pthread_setcancelstate(*before, &held);
}
