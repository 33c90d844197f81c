/* Queues that do not get on. Internal. */
#ifndef RAWHAL_QUEUE_HANG_H
#define RAWHAL_QUEUE_HANG_H

#include "queue/internal.h"
#include "queue/watchdog.h"

typedef struct queue_hang {
  const char *message; /* which dispatch runs, or what the queue waits for */
  watchdog_action_t action;
  hsa_agent_t agent;
  const rawhal_queue_t *queue; /* it may be gone by now */
} queue_hang_t;
/* Called without locks. */
typedef void queue_hang_fn(const queue_hang_t *hang);

/* Looks at all queues, by one thread, for those whose oldest submission has been so, and has stood
 * at the same packet, since the settings' limit before `now`, in ns of the caller's clock. One that
 * waits for a queue that gets on is none of them. `hangs` is called for each, once; a queue that is
 * to fail has failed by then, and its cause has the message. */
void queues_find_hangs(const watchdog_settings_t *settings, uint64_t now, queue_hang_fn *hangs);

/* Where each queue stands now, a line for each, however long it has. By any thread. */
void queues_say(char *text, size_t size);

#endif
