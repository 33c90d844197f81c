/* Who keeps something for a queue, and wants to know when it is gone. Internal.
 *
 * A queue has a list of them, which is read without a lock by those who use the queue. Its nodes
 * stay with it: one whose follower has left is another's. */
#ifndef RAWHAL_QUEUE_FOLLOW_H
#define RAWHAL_QUEUE_FOLLOW_H

#include "queue/internal.h"

/* Called when the queue is gone, with the followers held. False: the device may still carry out
 * what was submitted (a queue that the program made). */
typedef void queue_gone_fn(void *what, bool ended);

typedef struct queue_follower {
  _Atomic(const void *) who; /* NULL: nobody */
  void *what;
  queue_gone_fn *gone;
  struct queue_follower *next;
} queue_follower_t;

/* What `who` has for this queue; NULL: nothing. */
static inline void *queue_followed(const rawhal_queue_t *queue, const void *who)
{
  const queue_follower_t *at = atomic_load_explicit(&queue->followers, memory_order_acquire);
  for (; at; at = at->next)
    if (atomic_load_explicit(&at->who, memory_order_acquire) == who)
      return at->what;
  return NULL;
}

/* The followers of all queues: while they are held, no queue that is followed goes. This lock comes
 * before the queues' own. */
void queue_followers_hold(void);
void queue_followers_let(void);

/* The caller holds the followers, for both. False: out of memory. */
RAWHAL_CHECKED bool queue_follow(rawhal_queue_t *queue, const void *who, void *what,
                                 queue_gone_fn *gone);
void queue_unfollow(rawhal_queue_t *queue, const void *who);

/* The queue goes. */
void queue_followers_tell(rawhal_queue_t *queue, bool ended);

#endif
