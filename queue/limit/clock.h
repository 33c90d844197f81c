/* The limiter's clock, so that tests can run it in virtual time. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CLOCK_H
#define RAWHAL_QUEUE_LIMIT_CLOCK_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct limit_clock {
  void *context;
  /* CLOCK_MONOTONIC, ns: the same for all processes of a machine, see limit_clock_check(). */
  uint64_t (*now)(void *context);
  /* Sleeps until `until`, or until another has changed `*word` from `seen` and called wake(). May
   * return early. */
  void (*wait)(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until);
  void (*wake)(void *context, _Atomic uint32_t *word);
} limit_clock_t;

/* The machine's: clock_gettime() and a futex that works between processes. */
extern const limit_clock_t limit_clock_real;

/* Is it other processes' clock? In a time namespace (time_namespaces(7)), which no privilege is
 * needed for, it is ahead or behind, and what is written in its time would hold back others.
 * UNSUPPORTED. Where /proc does not tell it is taken for the machine's. */
RAWHAL_CHECKED rawhal_status_t limit_clock_check(rawhal_error_t *error);

#endif
