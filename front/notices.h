/* What the program is told of a queue, by the handler that it made it with. Internal.
 *
 * No lock is held then and nothing visited: a handler may use its queues, this one too, as other
 * code may, destroy them, and end the runtime. Who destroys a queue waits until its handlers have
 * returned, as the runtime does; in one of them nobody waits for that one.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_NOTICES_H
#define RAWHAL_FRONT_NOTICES_H

#include <hsa/hsa.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct notice {
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data); /* may be NULL */
  hsa_status_t status;
  hsa_queue_t *source;
  void *data;
  const void *of; /* whose it is; NULL: there is nothing to tell, or no queue any more */
  pthread_t thread;
  struct notice *next;
} notice_t;

/* From here on it is waited for. While what it is of cannot go, and before notice_tell() on the
 * same thread. */
void notice_begin(notice_t *notice);
/* Calls the handler. False: that has destroyed its queue. */
bool notice_tell(notice_t *notice);
/* Until there are none, but for this thread's, which are of nothing from here on. */
void notices_wait(const void *of);
void notices_abandon(void);

#endif
