/* Deadlines, waiting, and giving back the room of what has finished. Internal. */
#ifndef RAWHAL_QUEUE_WAIT_H
#define RAWHAL_QUEUE_WAIT_H

#include "queue/fault.h"

#include "base/clock.h"

/* Gives back the room of finished submissions. */
void queue_drain(rawhal_queue_t *queue);
/* The device has let go of the queue at `at`: charges what is left. Takes the lock without a lease,
 * too: so the thread that destroys the queue comes after the runtime's, which reported that the
 * queue died. */
void queue_settle(rawhal_queue_t *queue, uint64_t at);
/* How the limiter reaches it. */
limit_queue_t queue_reached(rawhal_queue_t *queue);
/* Sleeps until the oldest submission in flight has finished, the queue dies, or the deadline. */
void queue_wait_for_room(rawhal_queue_t *queue, uint64_t deadline);
/* Nanoseconds in ticks of a clock, rounded up and saturating: what the runtime's waits want. */
uint64_t deadline_ticks(uint64_t nanoseconds, uint64_t hz);
/* INVALID_ARGUMENT when the ticket was never given out, or `queue` is NULL. */
RAWHAL_CHECKED rawhal_status_t queue_check_ticket(rawhal_queue_t *queue, uint64_t ticket,
                                                  rawhal_error_t *error);

typedef enum queue_progress { QUEUE_FINISHED, QUEUE_RUNNING, QUEUE_FAILED } queue_progress_t;
/* Where a ticket that was given out stands. RUNNING: its slot's signal has finished with it at
 * `target`; FAILED: `error` (may be NULL) has the cause. */
queue_progress_t queue_progress(rawhal_queue_t *queue, uint64_t ticket, int64_t *target,
                                rawhal_error_t *error);

/* The runtime lets one thread sleep on a signal and has all others spin, so one thread at a time
 * sleeps on a slot. True: the caller is that one. Leaving wakes the others. */
bool queue_slot_claim(rawhal_queue_t *queue, queue_slot_t *slot);
void queue_slot_leave(rawhal_queue_t *queue, queue_slot_t *slot);

/* A finished submission's packets cannot fail; its DMA copies can, as long as its slot is kept, and
 * what it has waited for. */
RAWHAL_CHECKED rawhal_status_t queue_check_result(rawhal_queue_t *queue, uint64_t ticket,
                                                  rawhal_error_t *error);

/* What a device must see to know that a ticket has finished: `signal` at most `target`. The signal
 * is 0 when it has. Fails with the cause when the ticket never will, or was never given out. */
RAWHAL_CHECKED rawhal_status_t queue_dependency(rawhal_queue_t *queue, uint64_t ticket,
                                                hsa_signal_t *signal, int64_t *target,
                                                rawhal_error_t *error);

#endif
