/* rawhal/semaphore.h: timeline semaphores, which order the work of queues and of the host.
 *
 * A semaphore has a 64-bit value that only rises. Queues and the host signal values, and wait for
 * values: a wait for v is over as soon as the semaphore has reached v or more.
 *
 *   rawhal_semaphore_create(device, 0, &ready, &error)                    in hal.h
 *   rawhal_queue_timeline(b, &(rawhal_timepoint_t){ready, 1}, 1, NULL, 0, ...)  b waits: nobody has
 *   rawhal_queue_submit(b, ...)                                           signalled it yet
 *   rawhal_queue_submit(a, ...)
 *   rawhal_queue_timeline(a, NULL, 0, &(rawhal_timepoint_t){ready, 1}, 1, ...)
 *   rawhal_semaphore_wait(ready, 1, deadline, &error)
 *
 * Order: signals of a semaphore must be reached in ascending order, as the program's own
 * dependencies make them; they may be submitted in any order. A signal of less than what the
 * semaphore has reached by then has no effect. What a submission wrote before its queue's signal is
 * visible to whatever waits for the value, on the host and on devices. A queue's wait holds all
 * that is submitted to it later, OVERLAP or not, and nothing before it.
 *
 * Wait before signal: a queue may wait for a value that nobody has been asked to signal yet. The
 * device waits, not the host, and no thread is needed when the signal comes: whoever submits it
 * has the device let the waiting queue go. (Only a wait for a value that is passed over needs one:
 * a queue is to signal more, and nobody this value. The process's thread, below, then lets the
 * waiting queue go.)
 *
 * Failure: a semaphore fails at a value, with a cause, and never reaches it: when a queue dies that
 * was to signal it, when a queue that was to signal it has itself waited for a value that failed,
 * by rawhal_semaphore_fail(), and by its destruction. It still reaches the smaller values that
 * other queues have been asked to signal by then; those that nobody has been asked to signal fail,
 * too, so that nothing waits for them for ever. All that waits for what fails is let go and told of
 * the cause: host waits fail, descriptors become readable, and a queue that waited is spoilt: what
 * it runs after the wait works on what was never made. From its wait's ticket on, callbacks of a
 * spoilt queue, rawhal_queue_wait() and barriers on its tickets answer the cause, although the
 * device has done the work, and so does every later rawhal_queue_timeline(); other submissions
 * still run. To continue, make a new queue. (A copy that the device failed to carry out fails its
 * own ticket only.)
 *
 * What can never happen is refused where that is known: a submission by which submissions would
 * wait for each other in a circle, through signals of exactly the values that are waited for; a
 * signal of a value that has been reached or is to be signalled by another submission; a wait for a
 * value that has failed. A queue that waits for a value that nobody signals waits until the host
 * signals, fails or destroys the semaphore, or the queue is destroyed. Limits charge nothing for
 * that; a watchdog (RAWHAL_WATCHDOG) finds it.
 *
 * Cost, in packets of the queue's ring: n signals take n + 1; waits for n values take n, of which
 * those that are reached already are none, and at least 1; n waits and m signals in one call take
 * n + m. No kernarg blocks. Nothing is allocated once as many values are in flight as ever before.
 * All of it takes one lock of the process, which nobody keeps while waiting.
 *
 * Thread-safety: any thread, any time, but for destruction, which comes after all calls with that
 * semaphore have begun. Host waits may be under way: they fail. Semaphores work with queues of all
 * devices of the process; semaphores and queues may be destroyed in any order, and with work in
 * flight. After fork() a child finds its parent's semaphores lost (DEVICE_LOST) and may destroy
 * them. pthread_cancel() and deadlines are as in queue.h.
 *
 * Facts: HSA Platform System Architecture Specification 1.2, "Signals", and hsa_ext_amd.h
 * (barrier-value packets). */
#ifndef RAWHAL_SEMAPHORE_H
#define RAWHAL_SEMAPHORE_H

#include <rawhal/queue.h>

RAWHAL_BEGIN

/* A timeline semaphore; rawhal_semaphore_create() in hal.h makes one. */
typedef struct rawhal_semaphore rawhal_semaphore_t;

/* The moment at which a semaphore reaches a value. Does not grow. */
typedef struct rawhal_timepoint {
  rawhal_semaphore_t *semaphore;
  uint64_t value;
} rawhal_timepoint_t;

/* The most waits, and the most signals, of one submission. */
#define RAWHAL_MAX_TIMEPOINTS 32

/* What waits for it fails with DEVICE_LOST. NULL is allowed. */
RAWHAL_API void rawhal_semaphore_destroy(rawhal_semaphore_t *semaphore);

/* Names it in messages, or takes its name away (NULL); longer text than RAWHAL_LABEL_BYTES is
 * truncated. */
RAWHAL_API void rawhal_semaphore_label(rawhal_semaphore_t *semaphore, const char *label);

/* The value that has been reached: what was written before its signal is visible to the caller.
 * `*value` is set whether the semaphore has failed or not. INVALID_ARGUMENT: NULL; DEVICE_LOST and
 * others: it has failed, with this cause. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_value(rawhal_semaphore_t *semaphore,
                                                                 uint64_t *value,
                                                                 rawhal_error_t *error);

/* The semaphore reaches a value now. INVALID_ARGUMENT: it has reached it already, or a submission
 * is to signal just this value; the cause: it has failed at this value or a smaller one. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_signal(rawhal_semaphore_t *semaphore,
                                                                  uint64_t value,
                                                                  rawhal_error_t *error);

/* The semaphore never reaches more than it has, with this cause, of which status, HSA status and
 * message count; NULL, or a status of OK: DEVICE_LOST. Of several failures the one at the smallest
 * value counts. INVALID_ARGUMENT: NULL; DEVICE_LOST: it is the parent's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_fail(rawhal_semaphore_t *semaphore,
                                                                const rawhal_error_t *cause,
                                                                rawhal_error_t *error);

/* ---- Queues ---- */

/* Submits to `queue`: wait for all of `waits`, then, when everything before has finished as well,
 * signal all of `signals`. Work in between is submitted between two calls. Either may be empty
 * (NULL, 0); with both empty it is a marker. The ticket finishes when the waits are over and the
 * signals made, and has a timing; `ticket` may be NULL.
 *
 * INVALID_ARGUMENT: a value of a signal that has been reached or is to be signalled by another
 * submission, a semaphore that is signalled twice, a circle (the message names its members), or a
 * NULL; OUT_OF_RANGE: more than RAWHAL_MAX_TIMEPOINTS; the cause of a failure: a wait that has
 * failed, a signal at or above a value that has, a queue that is spoilt; OUT_OF_MEMORY, RUNTIME: no
 * memory, HSA signals or thread for it; otherwise as rawhal_queue_submit(). After a failure nothing
 * is submitted. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_queue_timeline(rawhal_queue_t *queue, const rawhal_timepoint_t *waits, size_t wait_count,
                      const rawhal_timepoint_t *signals, size_t signal_count, uint64_t deadline,
                      rawhal_ticket_t *ticket, rawhal_error_t *error);

/* Imports an HSA signal (hsa_signal_t.handle): the semaphore reaches `value` when the signal is at
 * most `signal_value`, which is 0 for a completion signal that was created with 1, and what was
 * submitted to `queue` before has finished. `queue` waits; it may be one made for this. The signal
 * must live until then. Takes two packets; fails as rawhal_queue_timeline(), and INVALID_ARGUMENT
 * for no signal or a condition that always holds. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_import(
    rawhal_semaphore_t *semaphore, uint64_t value, rawhal_queue_t *queue, uint64_t hsa_signal,
    int64_t signal_value, uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

/* Exports a value as an HSA signal: `*hsa_signal` is 1, and at most 0 when the value has been
 * reached or has failed, for packets of the program's own and hsa_signal_wait_*(). It belongs to
 * the semaphore and lives as long; another call for the same value answers the same. Do not write
 * to it. It has no interrupt: a thread that waits for it by the runtime spins. (Where a signal of
 * more is in flight, the process's thread sets it.) INVALID_ARGUMENT: NULL; OUT_OF_MEMORY;
 * RUNTIME; DEVICE_LOST: it is the parent's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_export(rawhal_semaphore_t *semaphore,
                                                                  uint64_t value,
                                                                  uint64_t *hsa_signal,
                                                                  rawhal_error_t *error);

/* ---- The host ---- */

/* What the host can wait for: a value of a semaphore, or with `semaphore` NULL a ticket of a queue.
 * Does not grow. */
typedef struct rawhal_wait {
  rawhal_semaphore_t *semaphore;
  uint64_t value;
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket;
} rawhal_wait_t;

/* Waits until all of `waits` have been reached or finished, or one has failed, whose cause it
 * answers at once. `*which`, which may be NULL, is then the index of that one, otherwise of the
 * first that had not been reached; `count` after OK. WOULD_BLOCK: the deadline is 0; TIMED_OUT: it
 * has passed; INVALID_ARGUMENT: a NULL, or a ticket that was never given out. Queues must not be
 * destroyed while they are waited for; semaphores may. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_wait_all(const rawhal_wait_t *waits, size_t count,
                                                          uint64_t deadline, size_t *which,
                                                          rawhal_error_t *error);

/* Waits until one of `waits`, at least one, has been reached or finished, or has failed, whose
 * cause it answers; `*which` is its index, and of several the smallest. Fails as rawhal_wait_all(),
 * and `*which` is then `count`. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_wait_any(const rawhal_wait_t *waits, size_t count,
                                                          uint64_t deadline, size_t *which,
                                                          rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_semaphore_wait(rawhal_semaphore_t *semaphore,
                                                                   uint64_t value,
                                                                   uint64_t deadline,
                                                                   rawhal_error_t *error)
{
  const rawhal_wait_t wait = {semaphore, value, NULL, 0};
  return rawhal_wait_all(&wait, 1, deadline, NULL, error);
}

/* ---- Descriptors ----
 *
 * For poll, epoll and io_uring: an eventfd of the program's, to whose count 1 is added, once, when
 * what was asked for has been reached or has failed; at once if it has already. One eventfd may
 * serve any number of values, semaphores and queues. It is readable from then on until it is read
 * (level-triggered), and each addition is an edge (EPOLLET): a level says that something has
 * happened since the last read, an edge that something more has. rawhal_wait_any() with deadline 0
 * says what it is, and whether it failed.
 *
 * The descriptor is duplicated: the program may close its own at any time. Blocking or not is its
 * own choice; the library never blocks on it: a count of UINT64_MAX - 1 stays as it is. The first
 * call starts one thread of the process, with all signals of the program masked, which serves all
 * descriptors, sleeps while nothing happens, and ends when there is neither a semaphore nor
 * anything left to tell. Where nobody asks for a descriptor there is no such thread, but for values
 * that are passed over. */

/* INVALID_ARGUMENT: NULL or not a descriptor; OUT_OF_MEMORY, also for want of descriptors; RUNTIME:
 * no thread; DEVICE_LOST: it is the parent's. After a failure nothing is ever added. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_semaphore_notify(rawhal_semaphore_t *semaphore,
                                                                  uint64_t value, int eventfd,
                                                                  rawhal_error_t *error);
/* The same for a ticket, which may have finished or failed. When the queue is destroyed, what has
 * not been added is added. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_notify(rawhal_queue_t *queue,
                                                              rawhal_ticket_t ticket, int eventfd,
                                                              rawhal_error_t *error);

RAWHAL_END

#endif
