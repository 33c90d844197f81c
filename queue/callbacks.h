/* Completion callbacks: one service thread per queue, started by the first or to watch. Internal.
 *
 * One per queue and not per process: a callback that takes its time holds up no other queue, the
 * thread lives exactly as long as what it serves, and it never waits for more than two signals, its
 * own bell and the oldest ticket that has a callback. Those tickets are kept in a heap, so that
 * callbacks come in the order of tickets; the heap keeps its memory.
 *
 * Other processes may wait until they know what has finished here, and the program need not look.
 * Then the thread is there from the beginning and watches all tickets, without being told of
 * submissions: the signals of slots only fall, so that it can wait for the next ticket's before
 * that is submitted, where nothing is in flight. */
#ifndef RAWHAL_QUEUE_CALLBACKS_H
#define RAWHAL_QUEUE_CALLBACKS_H

#include "queue/queue.h"

#include <hsa/hsa.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct callback {
  uint64_t ticket, order; /* of registration */
  rawhal_completion_fn *function;
  void *context;
} callback_t;

typedef struct queue_callbacks {
  pthread_mutex_t lock;
  callback_t *heap; /* the least (ticket, order) first */
  size_t capacity;
  _Atomic size_t count;
  uint64_t registered;
  hsa_signal_t bell; /* set to `rings` to wake the thread */
  int64_t rings;
  pthread_t thread;
  bool started, closing;
  bool watches;         /* does not change while there is a thread */
  _Atomic bool follows; /* the thread may sleep on its bell alone, for another has the slot */
} queue_callbacks_t;

/* Starts the service thread, which from now on charges what finishes: see above. */
RAWHAL_CHECKED rawhal_status_t callbacks_watch(rawhal_queue_t *queue, rawhal_error_t *error);

/* Wakes the service thread when it waits for the thread that has left a slot. */
void callbacks_notice(rawhal_queue_t *queue);
/* A ticket has ended by which nothing was submitted: its signal does not fall. */
void callbacks_skip(rawhal_queue_t *queue);

/* Whether the calling thread is the service thread: it would wait in vain for a callback. */
bool callbacks_are_here(rawhal_queue_t *queue);

/* Stops the service thread; the callback it is in ends first, unless that is what calls this. */
void callbacks_stop(rawhal_queue_t *queue);
/* Calls what is left, on the calling thread, and frees everything. The device is done with the
 * queue. */
void callbacks_finish(rawhal_queue_t *queue);

#endif
