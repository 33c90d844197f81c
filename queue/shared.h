/* HSA queues that the program made, and to which it may write packets of its own. Internal. */
#ifndef RAWHAL_QUEUE_SHARED_H
#define RAWHAL_QUEUE_SHARED_H

#include "queue/submit.h"

/* A moment's sleep: the device does not tell when it reads. */
void shared_nap(void);

/* Waits until the program's queue has room for so many packets. */
RAWHAL_CHECKED rawhal_status_t shared_await(rawhal_queue_t *queue, uint32_t packets,
                                            uint64_t deadline, rawhal_error_t *error);

/* Packets of the program's queue, by its write index, as all that write to it take them. Fails as
 * submit_reserve() does; the ticket that was reserved is then left empty. */
RAWHAL_CHECKED rawhal_status_t shared_reserve(rawhal_queue_t *queue, uint32_t packets,
                                              uint32_t blocks, uint64_t deadline,
                                              ring_reservation_t *reserved, rawhal_error_t *error);

/* The same at once, or not at all. */
bool shared_try(rawhal_queue_t *queue, uint32_t tickets, uint32_t packets, uint32_t blocks,
                ring_reservation_t *reserved);

/* Waits a second for what the device has of ours, unless the queue has stopped. False: it has
 * something still, which must be left to the runtime's end. */
bool shared_end(rawhal_queue_t *queue);

#endif
