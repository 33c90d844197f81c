/* What limits mean to a queue: grants that are kept until what they are for has ended, and is
 * charged. Internal. A queue without limits has no lease and never comes here. */
#ifndef RAWHAL_QUEUE_CHARGE_H
#define RAWHAL_QUEUE_CHARGE_H

#include "queue/internal.h"

/* After everything else of the queue has been made. Where other processes may wait for what it has
 * in flight, its service thread watches that from now on. `share`: see rawhal_queue_options_t. */
RAWHAL_CHECKED rawhal_status_t charge_open(rawhal_queue_t *queue, uint64_t share,
                                           rawhal_error_t *error);
/* When all of it is settled, and before its signals are destroyed. */
void charge_close(rawhal_queue_t *queue);
/* After all of it that is on the device has been. */
void charge_give_back(rawhal_queue_t *queue);

/* Before the ticket is submitted. */
void charge_keep(rawhal_queue_t *queue, const limit_grant_t *grant, uint64_t ticket);

static inline queue_grant_t *charge_grant(const rawhal_queue_t *queue, uint64_t ticket)
{
  return &queue->grants[ticket & (queue->ring.tickets - 1)];
}

#endif
