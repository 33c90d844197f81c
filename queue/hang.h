/* Queues that do not get on. Internal. */
#ifndef RAWHAL_QUEUE_HANG_H
#define RAWHAL_QUEUE_HANG_H

#include "queue/internal.h"

/* Called with the list of queues locked: it must not make or destroy any. `message` says which
 * dispatch runs, or what the queue waits for. True: the queue is to fail. */
typedef bool queue_hang_fn(void *context, rawhal_queue_t *queue, const rawhal_fault_t *fault,
                           const char *message);

/* Looks at all queues, by one thread: `hangs` is called, once, for each whose oldest submission has
 * been so since `limit` ns before `now`, in ns of CLOCK_MONOTONIC. */
void queues_find_hangs(uint64_t now, uint64_t limit, queue_hang_fn *hangs, void *context);

#endif
