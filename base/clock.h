/* CLOCK_MONOTONIC in ns, which processes of a machine share. Internal. */
#ifndef RAWHAL_BASE_CLOCK_H
#define RAWHAL_BASE_CLOCK_H

#include "base/cancel.h"

#include <stdint.h>
#include <time.h>

#define CLOCK_SECOND 1000000000u

static inline uint64_t clock_now(void)
{
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * CLOCK_SECOND + (uint64_t)now.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
  return (struct timespec){.tv_sec = (time_t)(ns / CLOCK_SECOND),
                           .tv_nsec = (long)(ns % CLOCK_SECOND)};
}

static inline void clock_nap(uint64_t ns)
{
  const struct timespec time = clock_timespec(ns);
  WITHOUT_CANCELLATION();
  (void)nanosleep(&time, NULL);
}

/* Until `wake`, which is of this clock, is signalled, or so late, which is ETIMEDOUT; UINT64_MAX:
 * never. */
static inline int clock_wait(pthread_cond_t *wake, pthread_mutex_t *lock, uint64_t until)
{
  const struct timespec time = clock_timespec(until);
  return until == UINT64_MAX ? pthread_cond_wait(wake, lock)
                             : pthread_cond_timedwait(wake, lock, &time);
}

/* `value`, or the nearer of the two. */
static inline uint64_t clock_clamp(uint64_t value, uint64_t least, uint64_t most)
{
  return value < least ? least : value > most ? most : value;
}

#endif
