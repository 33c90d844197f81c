#include "queue/limit/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000u;

static uint64_t real_now(void *context)
{
  (void)context;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

static void real_wait(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until)
{
  (void)context;
  struct timespec at = {.tv_sec = (time_t)(until / second_ns),
                        .tv_nsec = (long)(until % second_ns)};
  /* WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC. A time beyond 2^63 ns never comes. */
  struct timespec *limit = until > INT64_MAX ? NULL : &at;
  (void)syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, limit, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void real_wake(void *context, _Atomic uint32_t *word)
{
  (void)context;
  (void)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

const limit_clock_t limit_clock_real = {NULL, real_now, real_wait, real_wake};
