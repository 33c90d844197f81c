/* What limits mean to a queue: admission before anything is reserved, charging when it is done.
 * Internal. A queue without limits has no lease and never comes here. */
#ifndef RAWHAL_QUEUE_LIMITED_H
#define RAWHAL_QUEUE_LIMITED_H

#include "queue/submit.h"

/* After everything else of the queue has been made. Where other processes may wait for what it has
 * in flight, its service thread watches that from now on. `share`: see rawhal_queue_options_t. */
RAWHAL_CHECKED rawhal_status_t limited_create(rawhal_queue_t *queue, uint64_t share,
                                              rawhal_error_t *error);
/* When the device is done with the queue, and before its signals are destroyed. */
void limited_destroy(rawhal_queue_t *queue);
/* After all of it that is on the device has been. */
void limited_give_back(rawhal_queue_t *queue);

/* submit_reserve() for a checked batch, after its admission. */
RAWHAL_CHECKED rawhal_status_t limited_reserve(rawhal_queue_t *queue, const batch_t *batch,
                                               uint32_t blocks, uint64_t deadline,
                                               ring_reservation_t *reserved, rawhal_error_t *error);
/* What a batch takes when it is estimated as a whole. */
typedef struct limited_shape {
  limit_shape_t cost;
  uint32_t lane_bytes; /* of scratch, at most */
} limited_shape_t;
limited_shape_t limited_shape(const batch_t *batch);

/* Its two halves, for code that reserves otherwise: a grant is kept with a ticket, or cancelled. */
RAWHAL_CHECKED rawhal_status_t limited_admit(rawhal_queue_t *queue, const limited_shape_t *shape,
                                             uint64_t deadline, limit_grant_t *grant,
                                             rawhal_error_t *error);
void limited_keep(rawhal_queue_t *queue, const limit_grant_t *grant, uint64_t ticket);

/* limited_reserve() for something that is always submitted as a whole, in so many packets. */
RAWHAL_CHECKED rawhal_status_t limited_reserve_shape(rawhal_queue_t *queue,
                                                     const limited_shape_t *shape, uint32_t packets,
                                                     uint32_t blocks, uint64_t deadline,
                                                     ring_reservation_t *reserved,
                                                     rawhal_error_t *error);

/* The queue has died: whatever was in flight is charged up to then. */
void limited_settle_dead(rawhal_queue_t *queue);

enum { LIMITED_AT_ONCE = 32 };
/* The tickets from `first` on, and before `end`, have finished: LIMITED_AT_ONCE at most. The caller
 * holds drain_lock. */
void limited_complete(rawhal_queue_t *queue, uint64_t first, uint64_t end);

#endif
