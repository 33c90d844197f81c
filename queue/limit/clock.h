/* The limiter's clock, so that tests can run it in virtual time. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_CLOCK_H
#define RAWHAL_QUEUE_LIMIT_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct limit_clock {
  void *context;
  /* CLOCK_MONOTONIC, ns: the same for all processes of a machine. */
  uint64_t (*now)(void *context);
  /* Sleeps until `until`, or until another has changed `*word` from `seen` and called wake(). May
   * return early. */
  void (*wait)(void *context, _Atomic uint32_t *word, uint32_t seen, uint64_t until);
  void (*wake)(void *context, _Atomic uint32_t *word);
} limit_clock_t;

/* The machine's: clock_gettime() and a futex that works between processes. */
extern const limit_clock_t limit_clock_real;

#endif
