/* Keeping a thread whole while it is cancelled. Internal.
 *
 * A wait inside the runtime is a cancellation point, and what unwinds from there meets functions
 * that promise not to throw, which ends the process; elsewhere it would leave locks held. So calls
 * that may wait hold cancellation back until they return, and none is a cancellation point. */
#ifndef RAWHAL_BASE_CANCEL_H
#define RAWHAL_BASE_CANCEL_H

#include <pthread.h>

static inline int cancellation_hold(void)
{
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void cancellation_resume(const int *before)
{
  int held;
  pthread_setcancelstate(*before, &held);
}

/* From here to the end of the block, on all ways out of it. */
#define WITHOUT_CANCELLATION()                                                                     \
  __attribute__((cleanup(cancellation_resume), unused)) const int cancellation_before =            \
      cancellation_hold()

#endif
