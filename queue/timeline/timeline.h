/* What queues tell timelines. Internal. */
#ifndef RAWHAL_QUEUE_TIMELINE_TIMELINE_H
#define RAWHAL_QUEUE_TIMELINE_TIMELINE_H

#include "queue/internal.h"
#include "queue/timeline/semaphore.h"

/* Makes a semaphore for a device's process. */
RAWHAL_CHECKED rawhal_status_t semaphore_create(const queue_device_t *device, uint64_t value,
                                                rawhal_semaphore_t **semaphore,
                                                rawhal_error_t *error);

/* For as long as something names it: destroyed meanwhile, it is there, and has failed. NULL is
 * allowed. Without the lock. */
void semaphore_keep(rawhal_semaphore_t *semaphore);
void semaphore_let(rawhal_semaphore_t *semaphore);

/* A queue has died: what it was to signal fails. Without locks. */
void timeline_died(void);

/* It is being destroyed, and the device is done with it (`ended`; else what it may still do is left
 * to it for ever): what it was to signal fails, and nobody uses its signals any more. */
void timeline_leave(rawhal_queue_t *queue, bool ended);

/* A thread has left a slot on which it slept. */
void timeline_notice(void);

/* "4 of semaphore 2 'ready'", of a signal that stands for that. False: it does not, or that cannot
 * be told now. With any lock, waits for none. */
bool timeline_say(uint64_t signal, print_t *to);

/* OK, or why a ticket that has finished worked on what was never made. */
RAWHAL_CHECKED rawhal_status_t timeline_spoilt(rawhal_queue_t *queue, uint64_t ticket,
                                               rawhal_error_t *error);
RAWHAL_CHECKED static inline rawhal_status_t timeline_check(rawhal_queue_t *queue, uint64_t ticket,
                                                            rawhal_error_t *error)
{
  uint64_t spoilt = atomic_load_explicit(&queue->timeline.spoilt, memory_order_acquire);
  return __builtin_expect(spoilt == 0 || ticket < spoilt, 1)
             ? RAWHAL_OK
             : timeline_spoilt(queue, ticket, error);
}

#endif
