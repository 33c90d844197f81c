/* Queues that do not get on. Internal. */
#ifndef RAWHAL_QUEUE_HANG_H
#define RAWHAL_QUEUE_HANG_H

#include "queue/internal.h"

/* `message` says which dispatch runs, or what the queue waits for. Called without locks. */
typedef void queue_hang_fn(void *context, const char *message);

/* Looks at all queues, by one thread, for those whose oldest submission has been so, and has stood
 * at the same packet, since `limit` ns before `now`, in ns of the caller's clock. One that waits
 * for a queue that gets on is none of them. `hangs` is called for each, once; where it is NULL the
 * queue fails, and its cause has the message. */
void queues_find_hangs(uint64_t now, uint64_t limit, queue_hang_fn *hangs, void *context);

/* Where each queue stands now, a line for each, however long it has. By any thread. */
void queues_say(char *text, size_t size);

#endif
