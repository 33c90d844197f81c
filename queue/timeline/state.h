/* What a queue knows of timelines. Internal; a part of queue/internal.h.
 *
 * What its submissions wait for and signal are steps, in the order of tickets. They are kept until
 * the device is done with them: a timepoint's HSA signal must live as long as packets name it. */
#ifndef RAWHAL_QUEUE_TIMELINE_STATE_H
#define RAWHAL_QUEUE_TIMELINE_STATE_H

#include "base/status.h"

#include <stdatomic.h>

struct rawhal_queue;

/* All but `spoilt` is for who holds the timelines' lock. */
typedef struct queue_timeline {
  _Atomic uint64_t spoilt; /* the first ticket whose wait has failed; 0: none */
  rawhal_error_t cause;    /* of it; written once, before */
  struct timeline_step *first, *last;
  struct rawhal_queue *next, *previous; /* of those that have steps */
  struct rawhal_queue *next_spoilt;
  struct rawhal_queue *next_visit; /* of a search for circles */
  uint64_t visit, visited;         /* which search has come here; up to which ticket */
  bool spreads;                    /* what it was to signal is yet to fail */
  bool dead;                       /* its steps know */
  bool leaving;                    /* it is being destroyed: nobody may begin to sleep on it */
} queue_timeline_t;

#endif
