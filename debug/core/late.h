/* Deadlines of CLOCK_MONOTONIC, in ns; 0: none. Internal to this folder; header only. */
#ifndef RAWHAL_DEBUG_CORE_LATE_H
#define RAWHAL_DEBUG_CORE_LATE_H

#include "base/clock.h"

#include <stdbool.h>

static inline bool is_late(uint64_t deadline)
{
  return deadline && clock_now() >= deadline;
}

/* Milliseconds until then, as poll(2) takes them; -1: there is no deadline. */
static inline int late_left(uint64_t deadline)
{
  if (!deadline)
    return -1;
  const uint64_t now = clock_now();
  const uint64_t ms = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
  return ms < 1000000 ? (int)ms : 1000000;
}

#endif
