/* All queues of the process. Internal. */
#ifndef RAWHAL_QUEUE_LIST_H
#define RAWHAL_QUEUE_LIST_H

#include "queue/internal.h"

void queue_list_add(rawhal_queue_t *queue);
/* As limit_watch_forks(), for the queues' lock, too. */
void queue_watch_forks(void);
/* From now on its device's failure is no longer the queue's. */
void queue_list_close(rawhal_queue_t *queue);
void queue_list_remove(rawhal_queue_t *queue);
/* Visits queues, with the list locked, until `visit` answers true. */
bool queue_list_find(bool (*visit)(rawhal_queue_t *queue, void *data), void *data);
/* The same with the list locked by the caller: within queue_list_find(). */
bool queue_list_visit(bool (*visit)(rawhal_queue_t *queue, void *data), void *data);
/* Whether a dispatch in flight needs one of the owner's kernels. */
bool queues_run(kernel_owner_t *owner);

#endif
