#include "base/thread.h"

#include <signal.h>
#include <time.h>

int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failure = pthread_create(thread, NULL, run, context);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure;
}

int condition_init(pthread_cond_t *condition)
{
  pthread_condattr_t attributes;
  int failure = pthread_condattr_init(&attributes);
  if (failure)
    return failure;
  (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  failure = pthread_cond_init(condition, &attributes);
  (void)pthread_condattr_destroy(&attributes);
  return failure;
}
