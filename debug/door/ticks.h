/* The time of an event, as cheap as it can be had: of the processor's counter, which all processors
 * of a machine have alike, where there is one. Internal to both sides of a door.
 *
 * The process notes both clocks when it opens its door; an observer, who reads both as well, knows
 * the rate from the two. A counter that changes its rate, as of processors before 2008, makes the
 * times approximate. */
#ifndef RAWHAL_DEBUG_DOOR_TICKS_H
#define RAWHAL_DEBUG_DOOR_TICKS_H

#include "base/clock.h"

#ifdef __x86_64__
#include <x86intrin.h>
#endif

static inline uint64_t ticks_now(void)
{
#ifdef __x86_64__
  return __rdtsc();
#else
  return clock_now();
#endif
}

/* One moment by both clocks. */
typedef struct ticks_moment {
  uint64_t ticks, ns; /* CLOCK_MONOTONIC */
} ticks_moment_t;

static inline ticks_moment_t ticks_moment(void)
{
  return (ticks_moment_t){ticks_now(), clock_now()};
}

/* Where a value of one clock is by the other, by two moments: `from` and `to` are the earlier and
 * the later one by the clock that is known. */
static inline uint64_t ticks_between(uint64_t value, uint64_t from, uint64_t to,
                                     uint64_t from_other, uint64_t to_other)
{
  const double rate = to > from ? (double)(to_other - from_other) / (double)(to - from) : 1;
  const double distance = (double)(int64_t)(value - from) * rate;
  /* Garbage in, garbage out: but no conversion that is undefined. */
  return distance > -9e18 && distance < 9e18 ? from_other + (uint64_t)(int64_t)distance : 0;
}

#endif
