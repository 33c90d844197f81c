/* rawhal/queue.h: kernel dispatches, straight onto one HSA queue.
 *
 * A submission is a batch of dispatches that becomes visible to the device as a whole: everything
 * that can fail is checked and reserved first, and a refused submission leaves the rings as they
 * were (a memory quota stays charged with the scratch that was asked for). A submission gets a
 * ticket; tickets of a queue grow by one. Submission copies blobs and pointer arrays.
 *
 * Ordering: by default a dispatch starts after all earlier ones of its queue have finished and sees
 * their writes and the host's (barrier bit, system-scope acquire and release): in-order use needs
 * nothing else. RAWHAL_DISPATCH_OVERLAP lets a dispatch start while earlier ones run. Different
 * queues are not ordered, except by rawhal_queue_barrier().
 *
 * Back-pressure: three rings are bounded: packets, kernarg blocks and submissions in flight. When
 * one is full, submit waits until the deadline; with deadline 0 it returns WOULD_BLOCK at once.
 *
 * Faults: when the device stops a queue (a kernel faults, a packet is invalid), every ticket that
 * had not finished fails with FAULT and the cause, later submissions fail at once with the same
 * cause, and nothing waits for ever. Other queues are not affected; to continue, make a new queue.
 *
 * Thread-safety: any number of threads may submit to and wait on one queue. Submitting takes no
 * lock while there is room: one compare-and-swap reserves ticket, packets and kernarg blocks
 * together. Destroy must come last. After fork() the parent's queues go on; a child finds them lost
 * (DEVICE_LOST), may destroy them, and must not use anything else of its parent's.
 *
 * pthread_cancel(): no call is a cancellation point. A thread that is cancelled in one ends at the
 * first cancellation point after the call has returned, with its result; to cancel waiting threads,
 * give them deadlines. The caller's functions that a call itself calls (allocator, log, callbacks
 * from rawhal_queue_destroy()) may run with cancellation held back.
 *
 * Deadlines are absolute times of CLOCK_MONOTONIC in nanoseconds, so that one deadline can span
 * several calls: rawhal_deadline_after(), 0 = do not wait, RAWHAL_FOREVER = no deadline.
 *
 * Facts: HSA Platform System Architecture Specification 1.2, "User mode queuing" and "AQL". */
#ifndef RAWHAL_QUEUE_H
#define RAWHAL_QUEUE_H

#include <rawhal/fault.h>
#include <rawhal/kernarg.h>

RAWHAL_BEGIN

/* The deadline that never comes. */
#define RAWHAL_FOREVER UINT64_MAX

/* The time `nanoseconds` from now, saturating at RAWHAL_FOREVER. */
RAWHAL_API uint64_t rawhal_deadline_after(uint64_t nanoseconds);

/* An AQL queue of one device; rawhal_queue_create() in hal.h makes one. */
typedef struct rawhal_queue rawhal_queue_t;

/* A kernel of a loaded executable: see rawhal_executable_kernel(). Immutable. */
typedef struct rawhal_device_kernel rawhal_device_kernel_t;

/* What a loaded kernel is: its facts, its layout, and what the runtime says about it. */
typedef struct rawhal_device_kernel_info {
  const rawhal_kernel_t *kernel;
  const rawhal_kernarg_layout_t *layout;
  uint64_t kernel_object;        /* device address of the descriptor */
  uint32_t group_segment_size;   /* bytes of static LDS per work-group */
  uint32_t private_segment_size; /* bytes of scratch per work-item */
} rawhal_device_kernel_info_t;
/* Lives as long as the kernel's executable. `kernel` must not be NULL. */
RAWHAL_API const rawhal_device_kernel_info_t *
rawhal_device_kernel_info(const rawhal_device_kernel_t *kernel);

/* What keeps more waves from running at once. */
typedef enum rawhal_occupancy_limit {
  RAWHAL_OCCUPANCY_WAVES = 0,      /* the wave slots of a SIMD */
  RAWHAL_OCCUPANCY_WORKGROUPS = 1, /* a compute unit's slots for work-groups of several waves */
  RAWHAL_OCCUPANCY_VGPRS = 2,
  RAWHAL_OCCUPANCY_SGPRS = 3,
  RAWHAL_OCCUPANCY_LDS = 4,
} rawhal_occupancy_limit_t;

/* How much of a kernel a compute unit can hold at once. */
typedef struct rawhal_occupancy {
  size_t size; /* set it to sizeof(rawhal_occupancy_t), or 0: see types.h */
  uint32_t waves_per_simd, waves_per_cu, workgroups_per_cu; /* at once, of this kernel alone */
  rawhal_occupancy_limit_t limited_by;                      /* the first of equals */
} rawhal_occupancy_t;

/* How many waves and whole work-groups of `work_items` each a compute unit can hold, given the
 * registers and LDS of the kernel and `dynamic_lds` bytes more; zeros if not even one fits, or on
 * failure. Scratch, other kernels and masks of compute units are not counted. UNSUPPORTED: a
 * processor other than those of GFX9, or a kernel without a descriptor; INVALID_ARGUMENT: no
 * work-items; OUT_OF_RANGE: a work-group that the kernel does not allow. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_device_kernel_occupancy(
    const rawhal_device_kernel_t *kernel, uint32_t work_items, uint32_t dynamic_lds,
    rawhal_occupancy_t *occupancy, rawhal_error_t *error);

/* Flags of a dispatch. */
typedef enum rawhal_dispatch_flags {
  RAWHAL_DISPATCH_CLAMP = 1u << 0,       /* RAWHAL_KERNARG_CLAMP for this blob */
  RAWHAL_DISPATCH_KEEP_HIDDEN = 1u << 1, /* RAWHAL_KERNARG_KEEP_HIDDEN for this blob */
  RAWHAL_DISPATCH_OVERLAP = 1u << 2,     /* no barrier bit: may overlap earlier dispatches */
  RAWHAL_DISPATCH_AGENT_SCOPE = 1u << 3, /* acquire and release at agent scope: what this dispatch
                                            writes need not be seen by host and other devices */
  RAWHAL_DISPATCH_COOPERATIVE = 1u << 4, /* its work-groups wait for each other, through memory:
                                            OUT_OF_RANGE unless all of them can run at once, by the
                                            kernel's occupancy and the queue's compute units (other
                                            work on the device must end by itself); not with
                                            OVERLAP. Use one queue per device for such dispatches:
                                            two at the same time may wait for ever. Barriers by
                                            global wave sync (GWS) do not work on any queue here:
                                            HSA's queue with GWS may be the same for all who ask
                                            for one, and none of them may stop it */
} rawhal_dispatch_flags_t;

/* One dispatch. The arguments are either a prepacked blob or, when `arguments` is not NULL, one
 * pointer for each visible argument; both are read during the call only. */
typedef struct rawhal_dispatch {
  const rawhal_device_kernel_t *kernel;
  uint32_t work_items[3]; /* of the grid in each dimension, 1 where unused */
  uint16_t workgroup[3];  /* work-items of a work-group, 1 where unused */
  uint32_t dynamic_lds;   /* bytes of group segment beyond the kernel's static part */
  const void *blob;       /* see "Blobs" in kernarg.h */
  size_t blob_size;       /* bytes */
  const void *const *arguments;
  size_t argument_count;
  uint32_t flags;            /* RAWHAL_DISPATCH_* */
  uint64_t global_offset[3]; /* what hidden_global_offset_* arguments get, work-items */
  const char *label; /* names it in faults, core files and events; NULL: nothing does. Any bytes:
                        they are escaped where they are shown. Copied during the call; what is
                        longer than RAWHAL_LABEL_BYTES is cut, never within a character of UTF-8. A
                        graph's nodes have those of their dispatches */
} rawhal_dispatch_t;

typedef uint64_t rawhal_ticket_t; /* 0 is never a ticket */

/* Submits `count` dispatches (at least 1) as one batch with one doorbell. INVALID_ARGUMENT /
 * OUT_OF_RANGE: a dispatch is wrong (the message says which, and why), or the batch can never fit
 * this queue's rings. QUOTA_EXCEEDED: a limit can never admit it. WOULD_BLOCK / TIMED_OUT: no room.
 * FAULT / DEVICE_LOST: the queue is dead. `ticket` may be NULL. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_submit_sized(
    rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches, size_t dispatch_size, size_t count,
    uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_queue_submit(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches, size_t count,
                    uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  return rawhal_queue_submit_sized(queue, dispatches, sizeof(*dispatches), count, deadline, ticket,
                                   error);
}

/* A submission of a queue of the same process; or, with `queue` NULL, an HSA signal. */
typedef struct rawhal_dependency {
  rawhal_queue_t *queue;
  rawhal_ticket_t ticket;
  uint64_t signal; /* hsa_signal_t.handle, which must live until the barrier is passed */
  int64_t value;   /* waits until the signal is at most this, by AMD's barrier-value packet: 0
                      for a completion signal that was created with 1 */
} rawhal_dependency_t;

/* The most dependencies of one barrier. */
#define RAWHAL_MAX_DEPENDENCIES 32

/* Submits a barrier: what is submitted to `queue` later, OVERLAP or not, starts after everything
 * submitted before and after all `dependencies` have finished. The device waits, not the host.
 * `count` 0 (dependencies may be NULL) makes a marker. The barrier's own ticket finishes when it is
 * passed, and its timing says when that was: it is an event with a time of its own, in the order of
 * the queue. (The device writes the times of a barrier's completion signal like a dispatch's; HIP's
 * events rely on that, too.) Takes count + 1 packets and no kernarg blocks.
 *
 * Fails with the cause, and nothing is submitted, when a dependency has failed already. One that
 * fails later lets the barrier pass, so that nothing waits for ever: wait for the dependency's
 * ticket to learn of the failure. The queues of dependencies must not be destroyed before the
 * barrier is passed. INVALID_ARGUMENT: a ticket that was never given out; OUT_OF_RANGE: too many;
 * otherwise as rawhal_queue_submit(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_barrier_sized(
    rawhal_queue_t *queue, const rawhal_dependency_t *dependencies, size_t dependency_size,
    size_t count, uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_queue_barrier(rawhal_queue_t *queue, const rawhal_dependency_t *dependencies, size_t count,
                     uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  return rawhal_queue_barrier_sized(queue, dependencies, sizeof(*dependencies), count, deadline,
                                    ticket, error);
}

/* Subtracts one from an HSA signal of the caller's when everything submitted before has finished,
 * as a packet does with its completion signal: with system-scope release. The signal must live
 * until then. It is a barrier of its own, with a ticket, and takes two packets. Fails as
 * rawhal_queue_submit(). `ticket` may be NULL. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_signal(rawhal_queue_t *queue,
                                                              uint64_t hsa_signal,
                                                              uint64_t deadline,
                                                              rawhal_ticket_t *ticket,
                                                              rawhal_error_t *error);

/* The reverse: the ticket has finished when `*hsa_signal` (hsa_signal_t.handle) is at most
 * `*value`, for hsa_signal_wait_*(.., HSA_SIGNAL_CONDITION_LT, value + 1, ..) and barrier-value
 * packets. The signal belongs to the queue, lives as long as it does, and only falls; when the
 * queue dies it falls far below. Ask rawhal_queue_wait() whether the ticket succeeded, which also
 * charges limits. Do not write to it. INVALID_ARGUMENT: not a ticket of this queue; FAULT /
 * DEVICE_LOST: it will never finish. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_ticket_signal(rawhal_queue_t *queue,
                                                                     rawhal_ticket_t ticket,
                                                                     uint64_t *hsa_signal,
                                                                     int64_t *value,
                                                                     rawhal_error_t *error);

/* Waits until all dispatches of a ticket have finished: spins briefly, then blocks in the kernel.
 * OK; TIMED_OUT (WOULD_BLOCK with deadline 0): not yet; FAULT / DEVICE_LOST: it never will;
 * INVALID_ARGUMENT: not a ticket of this queue. Waiting again for a finished ticket is cheap.
 *
 * A signal's handler runs during the wait, which then goes on. A program that must see to what the
 * handler noted (an interpreter on Ctrl-C) waits in slices, such as of 50 ms, and looks between two
 * of them: TIMED_OUT takes nothing from the ticket, and the end is not seen later than in one wait.
 * At the beginning of each slice the runtime spins: 0.4 ms of the waiting thread's processor time
 * by Debian's runtime on softgpu, 1 % of it with slices of 50 ms. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_wait(rawhal_queue_t *queue,
                                                            rawhal_ticket_t ticket,
                                                            uint64_t deadline,
                                                            rawhal_error_t *error);

/* A function that is called when a ticket has finished or failed. `result->status` is OK, or what
 * rawhal_queue_wait() would return, with its message; valid during the call. */
typedef void rawhal_completion_fn(void *context, rawhal_ticket_t ticket,
                                  const rawhal_error_t *result);

/* Calls `function` exactly once when a ticket has finished or failed; soon, if it already has. A
 * ticket may have any number of callbacks; those of a queue come one at a time, in the order of
 * tickets and then of registration, if they are registered early enough. The calls come from a
 * thread of the queue's own, which is started by the first registration (or with the queue, where
 * other processes share its limits), blocks while there is nothing to do, and has all signals of
 * the program masked; never from inside this function. What happened before it was registered, and
 * what the dispatches wrote, is visible to the callback.
 *
 * A callback may call any function, and may wait for other tickets, which holds up the callbacks of
 * its own queue only. It may even destroy its own queue, as the last thing it does with it.
 * Callbacks that are pending when their queue is destroyed are called by rawhal_queue_destroy() on
 * the calling thread, when the device is done with the queue: with OK when the ticket had finished,
 * else with DEVICE_LOST or the cause of the queue's death. The queue then takes no more submissions
 * or registrations from them. After fork() callbacks are the parent's.
 *
 * Allocates when more callbacks are pending than ever before on this queue; submitting never
 * allocates for callbacks. INVALID_ARGUMENT: not a ticket of this queue, or `function` is NULL;
 * OUT_OF_MEMORY; RUNTIME; DEVICE_LOST: the queue is being destroyed, or belongs to the parent of
 * this process. After a failure `function` is not called. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_on_complete(rawhal_queue_t *queue,
                                                                   rawhal_ticket_t ticket,
                                                                   rawhal_completion_fn *function,
                                                                   void *context,
                                                                   rawhal_error_t *error);

/* Device time of a finished submission, in nanoseconds of the system's HSA clock: from the start of
 * its first dispatch to the end of its last. (For a batch whose dispatches all OVERLAP: from start
 * to end of the last one to finish.) The runtime converts the device's clock at each call: two
 * answers may differ by nanoseconds. Kept until `submissions` further submissions (see
 * rawhal_queue_options_t) have taken its place, NOT_FOUND after that; WOULD_BLOCK while it runs. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_timing(rawhal_queue_t *queue,
                                                              rawhal_ticket_t ticket,
                                                              uint64_t *start_ns, uint64_t *end_ns,
                                                              rawhal_error_t *error);

/* The same for one of its dispatches, counted from 0 in the order of submission, or of a graph's
 * nodes, on a queue with dispatch_times. OUT_OF_RANGE: no such dispatch, or one without times of
 * its own. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_queue_dispatch_timing(rawhal_queue_t *queue, rawhal_ticket_t ticket, size_t dispatch,
                             uint64_t *start_ns, uint64_t *end_ns, rawhal_error_t *error);

/* Wave-instructions that a finished submission executed, where the device counts them, as softgpu
 * does: one for each instruction that a wave has run, whatever lanes were active, summed over the
 * waves of all its dispatches. An instruction that waits (for memory, at a barrier, for global wave
 * sync) counts once. Barriers, copies and fills have none. The count is the same each time where
 * the kernels' control flow is: not where it follows the clock, or polls what others write. On both
 * of softgpu's engines, and by whatever number of threads, it is the same.
 *
 * UNSUPPORTED, and *instructions is 0: the device does not count, as hardware does not; or, on a
 * queue that the program made (rawhal_queue_options_t), of a batch of several whose dispatches all
 * OVERLAP. Kept and fails as rawhal_queue_timing(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_instructions(rawhal_queue_t *queue,
                                                                    rawhal_ticket_t ticket,
                                                                    uint64_t *instructions,
                                                                    rawhal_error_t *error);

/* The same for one of its dispatches, as rawhal_queue_dispatch_timing(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_dispatch_instructions(rawhal_queue_t *queue,
                                                                             rawhal_ticket_t ticket,
                                                                             size_t dispatch,
                                                                             uint64_t *instructions,
                                                                             rawhal_error_t *error);

/* Device addresses of what only the program can provide to kernels that ask for it by a hidden
 * argument of that name; 0: there is none. The queue does not look at what is there;
 * <rawhal/services.h> makes and serves the first three. A kernel that calls malloc() uses `heap`,
 * one that calls printf() one of the buffers; how they are laid out is between the program and its
 * kernels' device library. The queue itself and the apertures are filled in by rawhal. */
typedef struct rawhal_queue_services {
  size_t size; /* sizeof(rawhal_queue_services_t), or 0: see types.h */
  uint64_t printf_buffer, hostcall_buffer, heap, default_queue, completion_action, multigrid_sync;
} rawhal_queue_services_t;

/* Priority of a queue's waves over those of the device's other queues. */
typedef enum rawhal_queue_priority {
  RAWHAL_QUEUE_PRIORITY_DEFAULT = 0, /* that of the device's limits, else NORMAL */
  RAWHAL_QUEUE_PRIORITY_LOW = 1,
  RAWHAL_QUEUE_PRIORITY_NORMAL = 2,
  RAWHAL_QUEUE_PRIORITY_HIGH = 3,
} rawhal_queue_priority_t;

/* Zero-initialise; 0 = default. The sizes of the rings are rounded up to powers of two.
 * OUT_OF_RANGE: beyond the device's or the library's maximum. */
typedef struct rawhal_queue_options {
  size_t size;            /* sizeof(rawhal_queue_options_t), or 0: see types.h */
  uint32_t packets;       /* AQL ring; default 1,024; at most what the device allows */
  uint32_t submissions;   /* in flight; default 256, at most 65,536. Each holds one HSA signal
                             (about 50 us to create; the runtime provides some 4,000) */
  uint64_t kernarg_bytes; /* kernarg ring; default 1 MiB, at most 1 GiB, at least 128 per packet (a
                             kernel of code object V5 often takes 320). Twice that is allocated, so
                             that no image is ever split */
  const rawhal_queue_services_t *services; /* read during the call; NULL: none */
  uint64_t share_ppm; /* of device time, parts per million, where the device has limits; 0: only
                             theirs. See limit.h */
  rawhal_queue_priority_t priority; /* a hint to the device; at most that of its limits */
  /* Bit i of the words: the queue may use compute unit i; read during the call; NULL: all. Compute
   * units that the device's limits exclude are left out. INVALID_ARGUMENT: none is left, or none of
   * a die, or half of a pair where they go in pairs; OUT_OF_RANGE: one that the device does not
   * have. */
  const uint32_t *cu_mask;
  uint32_t cu_mask_bits;
  /* An hsa_queue_t of this device that the program has made, instead of a new one. The program may
   * go on writing packets to it; each side takes indices from its write index and, if it is of type
   * SINGLE, not at the same time as the other. Its size is `packets`. Ordering holds for all that
   * is in the queue. A refused submission may use up a ticket. Its dispatch times are turned on,
   * and the device's limits may set its mask of compute units. It must outlive this queue, whose
   * destruction waits at most a second for what was submitted, and then leaves what the device may
   * still use allocated until the runtime ends. Errors come to the program's own callback: pass
   * them on to rawhal_queue_report(). */
  void *hsa_queue;
  /* Each dispatch of a submission has times of its own: rawhal_queue_dispatch_timing(). Costs an
   * HSA signal per packet of the ring, made with the queue, and one packet more per submission. */
  bool dispatch_times;
} rawhal_queue_options_t;

/* For the error callback of an HSA queue that the program made (rawhal_queue_options_t): tells the
 * queue that it has stopped with this hsa_status_t, which fails the tickets that have not finished.
 * Fails with the cause if the queue is dead already. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_report(rawhal_queue_t *queue,
                                                              int32_t hsa_status,
                                                              rawhal_error_t *error);

/* Names a queue in faults, core files, events, and what `rawhal attach`, `rawhal events` and
 * `rawhal top --queues` show, or takes its name away (NULL). Longer text is cut, as a dispatch's. A
 * dead queue's fault keeps the one that it had. Thread-safety: any thread, any time. */
RAWHAL_API void rawhal_queue_label(rawhal_queue_t *queue, const char *label);

/* Why the queue is dead: what failed and the likely causes, as far as they are known. It may be
 * called as soon as any call has answered FAULT or DEVICE_LOST for the queue, and from completion
 * callbacks. Neither may be NULL. NOT_FOUND: the queue is alive. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_fault(rawhal_queue_t *queue,
                                                             rawhal_fault_t *fault,
                                                             rawhal_error_t *error);

/* After a limit answered WOULD_BLOCK: the time of CLOCK_MONOTONIC, in ns, before which it would do
 * so again unless something finishes. 0 without limits, and for NULL. */
RAWHAL_API uint64_t rawhal_queue_retry_at(const rawhal_queue_t *queue);

/* A queue's sizes and progress. */
typedef struct rawhal_queue_info {
  size_t size;                   /* set it to sizeof(rawhal_queue_info_t), or 0: see types.h */
  uint32_t packets, submissions; /* capacities, as rounded */
  uint64_t kernarg_bytes;
  rawhal_ticket_t last_ticket; /* given out; 0 before the first */
  rawhal_ticket_t finished;    /* every ticket up to this one is known to have finished */
  rawhal_status_t status;      /* OK, or why the queue is dead */
  const void *hsa_queue;       /* the hsa_queue_t; write packets only to one that you made */
} rawhal_queue_info_t;

/* Fills in `*info` with the state of this moment. Neither may be NULL. */
RAWHAL_API void rawhal_queue_info(rawhal_queue_t *queue, rawhal_queue_info_t *info);

/* Stops the queue, whatever runs on it, calls the callbacks that are pending, and frees it.
 * Outstanding tickets are gone; no thread may be waiting for one. Bounded: waits for a callback
 * that is running, not for kernels. NULL is allowed. */
RAWHAL_API void rawhal_queue_destroy(rawhal_queue_t *queue);

RAWHAL_END

#endif
