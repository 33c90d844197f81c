/* rawhal/queue.h: dispatching kernels on a device queue.
 *
 * A queue belongs to one device and runs what is submitted to it in order. Submission is a copy:
 * when rawhal_queue_submit() returns, every blob, pointer array and dispatch record it was given
 * may be reused. Completion is a ticket: a number that grows with every submit of the queue, so a
 * ticket that is done implies that every smaller one is.
 *
 * Ordering. A submit is a unit: it starts when everything submitted to the queue before has
 * finished, and its ticket is done when all of it has. Inside a submit each dispatch starts after
 * the one before it has finished, with its writes visible, unless RAWHAL_DISPATCH_CONCURRENT lets
 * them overlap. Different queues are not ordered.
 *
 * Back-pressure. A queue has a fixed number of packets and of 64-byte kernarg blocks; finished work
 * gives its part back. What does not fit now waits until the deadline; what can never fit is
 * OUT_OF_RANGE at once. A refused submit leaves no trace.
 *
 * Thread-safety. Any number of threads may submit to, wait on and read one queue at the same time;
 * submitting takes no lock while there is room. Destroying needs exclusive access.
 *
 * Failure. When a kernel or packet faults, or the device is lost, the queue stops: all tickets that
 * are not done fail with the cause, waiting threads wake up, and later submits fail at once with
 * the same cause. Create a new queue to go on.
 *
 * Nothing outside of this rule waits for ever: with a deadline, a call returns by it (plus
 * scheduling). After fork() a child must not use queues of its parent.
 *
 * Facts: HSA System Architecture Specification 1.2, "User mode queuing" and "AQL". */
#ifndef RAWHAL_QUEUE_H
#define RAWHAL_QUEUE_H

#include <rawhal/kernarg.h>

RAWHAL_BEGIN

typedef struct rawhal_queue rawhal_queue_t; /* made by rawhal_queue_create(), rawhal/hal.h */

/* A kernel loaded on a device; made by rawhal_executable_kernel(), rawhal/hal.h. */
typedef struct rawhal_device_kernel rawhal_device_kernel_t;

/* ---- Deadlines ----
 *
 * A deadline is a point in time: nanoseconds of CLOCK_MONOTONIC. 0 has always passed: the call
 * answers WOULD_BLOCK instead of waiting. */
typedef uint64_t rawhal_deadline_t;

#define RAWHAL_DONT_WAIT    ((rawhal_deadline_t)0)
#define RAWHAL_WAIT_FOREVER UINT64_MAX

/* The point in time `nanoseconds` from now; saturates at RAWHAL_WAIT_FOREVER. */
RAWHAL_API rawhal_deadline_t rawhal_deadline_in(uint64_t nanoseconds);

/* ---- Kernels ---- */

typedef struct rawhal_device_kernel_info {
  const rawhal_kernel_t *facts;          /* what the code object says; lives as long as its hsaco */
  const rawhal_kernarg_layout_t *layout; /* for rawhal_kernarg_check() and rawhal_kernarg_set() */
  uint64_t object;                       /* kernel object: device address of the descriptor */
  uint32_t group_segment_size;           /* static LDS, bytes a work-group */
  uint32_t private_segment_size;         /* scratch, bytes a work-item */
} rawhal_device_kernel_info_t;

/* Never NULL; lives as long as the kernel's executable. */
RAWHAL_API const rawhal_device_kernel_info_t *
rawhal_device_kernel_info(const rawhal_device_kernel_t *kernel);

/* ---- Dispatches ---- */

enum {
  RAWHAL_DISPATCH_CONCURRENT = 1u << 0, /* may overlap the dispatch before it in the same submit */
  /* Memory scopes. The default acquires from and releases to the system, which is right whenever
   * the host or another queue reads the results. The narrower scopes save cache flushes between
   * dispatches of one device. */
  RAWHAL_DISPATCH_ACQUIRE_AGENT = 1u << 1,
  RAWHAL_DISPATCH_ACQUIRE_NONE = 1u << 2,
  RAWHAL_DISPATCH_RELEASE_AGENT = 1u << 3,
  RAWHAL_DISPATCH_RELEASE_NONE = 1u << 4,
};

/* One kernel launch. Zero-initialise, then set what is needed.
 *
 * Arguments come as a blob, the caller's prepacked copy of the kernarg segment's beginning
 * (rawhal/kernarg.h, "Blobs"), or as one pointer for each visible argument: set `arguments`, or
 * leave it NULL and set `blob`. A kernel without arguments needs neither. */
typedef struct rawhal_dispatch {
  const rawhal_device_kernel_t *kernel;
  rawhal_launch_t launch; /* grid and work-group in WORK-ITEMS, 1 for unused dimensions. queue_ptr
                             and the aperture bases are filled in when 0 */
  const void *blob;
  size_t blob_length; /* bytes */
  const void *const *arguments;
  size_t argument_count;
  uint32_t kernarg_flags; /* RAWHAL_KERNARG_* */
  uint32_t flags;         /* RAWHAL_DISPATCH_* */
} rawhal_dispatch_t;

/* ---- Submission ---- */

/* Names a submit of one queue: grows with every submit, never 0. */
typedef uint64_t rawhal_ticket_t;

/* Submits `count` dispatches (at least one) as a unit, with one doorbell. `ticket` may be NULL, it
 * gets 0 on failure.
 *
 * Everything that can be wrong is checked before anything is reserved: geometry against the kernel
 * and the device, LDS, blobs; the message says which dispatch. When the queue has no room, waits
 * until `deadline`.
 *
 * INVALID_ARGUMENT, OUT_OF_RANGE: this submit can never work. WOULD_BLOCK (deadline 0), TIMED_OUT:
 * no room. FAULT, DEVICE_LOST: the queue had stopped before; `error` holds the cause. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_queue_submit(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches, size_t count,
                    rawhal_deadline_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

/* Waits until everything up to `ticket` is done: spins a few microseconds, then sleeps. Afterwards
 * the results are visible to the caller (as far as the release scopes reach).
 *
 * WOULD_BLOCK (deadline 0), TIMED_OUT: not done yet, nothing is cancelled. FAULT, DEVICE_LOST: the
 * queue stopped before the ticket was done; `error` names kernel and cause. OUT_OF_RANGE: no such
 * ticket was given out by this queue. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_wait(rawhal_queue_t *queue,
                                                            rawhal_ticket_t ticket,
                                                            rawhal_deadline_t deadline,
                                                            rawhal_error_t *error);

/* When the dispatches of a submit ran, by the device's clock, in nanoseconds of CLOCK_MONOTONIC as
 * the runtime translates it: the start of the first and the end of the last. */
typedef struct rawhal_times {
  uint64_t start, end;
} rawhal_times_t;

/* Times of a done ticket. Needs a queue with RAWHAL_QUEUE_TIMES (else UNSUPPORTED). Kept until the
 * ring has gone round: NOT_FOUND afterwards. WOULD_BLOCK: not done yet. FAULT: it failed. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_times(rawhal_queue_t *queue,
                                                             rawhal_ticket_t ticket,
                                                             rawhal_times_t *times,
                                                             rawhal_error_t *error);

/* ---- The queue itself ---- */

enum {
  RAWHAL_QUEUE_TIMES = 1u << 0, /* keep times of every dispatch; costs a packet a submit */
};

/* Zero-initialise; 0 means the default. */
typedef struct rawhal_queue_options {
  uint32_t flags;         /* RAWHAL_QUEUE_* */
  uint32_t packets;       /* a power of two; default 4,096 or the device's maximum if that is less.
                             The most dispatches in flight */
  uint32_t kernarg_bytes; /* rounded up to a power of two, at least 128 a packet; default 256 a
                             packet. The most argument bytes in flight */
} rawhal_queue_options_t;

typedef struct rawhal_queue_info {
  uint32_t packets;       /* capacity */
  uint32_t kernarg_bytes; /* capacity */
  uint64_t submitted;     /* packets handed to the device so far */
  uint64_t done;          /* packets known to be done: in flight are submitted - done */
  rawhal_status_t status; /* OK, or why the queue has stopped */
  const void *hsa_queue;  /* the hsa_queue_t, for profilers; do not write packets to it */
} rawhal_queue_info_t;

/* A momentary view, exact when nobody else uses the queue. */
RAWHAL_API rawhal_queue_info_t rawhal_queue_info(rawhal_queue_t *queue);

/* Destroys a queue; NULL is allowed. Work still in flight is abandoned: wait first if it matters.
 * Does not wait for kernels: the runtime takes the queue away from the device. No other thread may
 * be inside a call with this queue. */
RAWHAL_API void rawhal_queue_destroy(rawhal_queue_t *queue);

RAWHAL_END

#endif
