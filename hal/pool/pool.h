/* rawhal/pool.h: memory that is allocated and freed in the order of queues.
 *
 * A pool takes memory from a device in slabs, which are buffers (hal.h), and gives out parts of
 * them. Freeing says "when all that this queue has been given so far has finished", and does not
 * wait for it: what the queue is given later may have the memory at once, as it runs later, while
 * others get it when that has finished.
 *
 *     rawhal_pool_create -> rawhal_pool_allocate -> rawhal_queue_submit .. -> rawhal_pool_free
 *
 * Order. An allocation of a queue may be memory that dispatches of the same queue still use, whose
 * owner has freed it: `after` says so. Then
 *  - what is submitted to that queue after the allocation may use it at once: dispatches, copies,
 *    fills and replays, as they begin when all that was submitted before has finished;
 *  - a dispatch with RAWHAL_DISPATCH_OVERLAP is not ordered, and may use it only behind something
 *    that is (a barrier will do): or ask for RAWHAL_POOL_UNORDERED, with which memory is given out
 *    only when nothing uses it any more;
 *  - another queue may use it behind a barrier (rawhal_queue_barrier()) that depends on the ticket
 *    `after` of that queue, or on a later one; the host when that ticket has finished.
 * Likewise for freeing: the memory is given back in the order of one queue. What other queues do
 * with it must have finished by then, or must be something that this queue waits for by a barrier
 * that was submitted before. Memory that one queue has freed is another's when every ticket up to
 * the last that the queue had given out at that time has finished, which is looked at when memory
 * is short; no barrier makes it so earlier, but the queue that has freed it may allocate it, and
 * hand it on behind a barrier. On a queue whose packets the program writes as well (hsa_queue of
 * rawhal_queue_options_t) only what goes through this library is ordered.
 *
 * Queues that end. What was freed in the order of a queue is everybody's when that has been
 * destroyed, in whatever order queues and pools go. Of a queue that is dead (FAULT, DEVICE_LOST),
 * too, which may still run something on hardware: so memory waits until it is destroyed.
 *
 * Quota and budget. A slab counts towards its device's quota when it is taken, and does so until it
 * is given back, by trimming or with the pool; what is allocated of it counts nothing more. Slabs
 * together never take more than `budget_bytes`.
 *
 * Ownership: a pool keeps the runtime open. It may be destroyed at any time after the dispatches
 * that use its memory have finished, in any order with instances and queues.
 *
 * Thread-safety: all functions may be called by any number of threads at once; destroying must come
 * last. Allocating and freeing for different queues share no lock as long as each finds what it has
 * freed before. Deadlines are those of queue.h. No call is a cancellation point.
 *
 * fork(): as in hal.h: calls return DEVICE_LOST in the child, and destroying frees nothing. */
#ifndef RAWHAL_POOL_H
#define RAWHAL_POOL_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* Memory of one device and kind that is given out in parts. */
typedef struct rawhal_pool rawhal_pool_t;

/* Zero-initialise, then set what should differ; read during the call only. */
typedef struct rawhal_pool_options {
  size_t size;               /* sizeof(rawhal_pool_options_t), or 0: see types.h */
  rawhal_memory_kind_t kind; /* of all its memory; default RAWHAL_MEMORY_DEVICE */
  uint64_t budget_bytes;     /* that all slabs may take together; 0: no budget of its own */
  uint64_t slab_bytes;       /* of a slab, at least; 0: 64 MiB, or the budget where that is less. An
                                allocation that is larger gets a slab of its own. Rounded up to what
                                the device allocates memory in */
  const char *label; /* names the pool's memory in reports of faults; NULL: "pool". Truncated to
                        RAWHAL_LABEL_BYTES */
} rawhal_pool_options_t;

/* Makes a pool, which has no memory yet: the first allocation takes a slab. `options` may be NULL.
 * INVALID_ARGUMENT: an unknown kind, or slab_bytes above budget_bytes; UNSUPPORTED: the device has
 * no memory of that kind, with the reason; OUT_OF_MEMORY; DEVICE_LOST: after fork(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_pool_create(rawhal_device_t *device,
                                                             const rawhal_pool_options_t *options,
                                                             rawhal_pool_t **pool,
                                                             rawhal_error_t *error);

/* Gives all memory back at once, allocated or not: what uses it must have finished. NULL is
 * allowed. */
RAWHAL_API void rawhal_pool_destroy(rawhal_pool_t *pool);

/* Flags of rawhal_pool_request_t. */
typedef enum rawhal_pool_flags {
  RAWHAL_POOL_UNORDERED = 1u << 0, /* only memory that nothing uses any more: `after` is 0 */
} rawhal_pool_flags_t;

/* Part of a pool's memory. Filled in by rawhal_pool_allocate(); plain data, which may be copied. */
typedef struct rawhal_pool_allocation {
  uint64_t address; /* of the device: what goes into kernel arguments */
  void *host;       /* where the host has it; NULL: nowhere. See `after` */
  /* The slab that it is part of, for copies, fills, reads and writes: [offset, offset + bytes). It
   * is the pool's: rawhal_buffer_free() does nothing with it. */
  rawhal_buffer_t *buffer;
  uint64_t offset, bytes; /* bytes: as asked for */
  /* 0: nothing uses the memory any more. Else the ticket of the queue that it was allocated for,
   * up to which it may still be in use: see "Order". */
  rawhal_ticket_t after;
  uint64_t id; /* the pool's: which allocation it is, never used again */
} rawhal_pool_allocation_t;

/* Allocates `bytes` > 0 for what is submitted to `queue` from now on, aligned to 256; or, with
 * `queue` NULL, memory that nothing uses any more, for anybody. The contents are undefined.
 *
 * Where nothing fits, it takes another slab; where it cannot have one, it waits until the deadline
 * for memory that has been freed in the order of queues which still use it: WOULD_BLOCK with
 * deadline 0, TIMED_OUT. Where nothing of that kind is left, at once: OUT_OF_MEMORY (the budget, or
 * the device's memory), QUOTA_EXCEEDED, each with the bytes asked for, in use and allowed. What is
 * allocated is not waited for: freeing it is the caller's. Which of several that wait gets the
 * memory is not said.
 *
 * INVALID_ARGUMENT: bytes is 0, or the queue is another device's; RUNTIME; DEVICE_LOST: after
 * fork(). A queue that is dead gets only memory that nothing uses any more. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_pool_allocate(rawhal_pool_t *pool,
                                                               rawhal_queue_t *queue,
                                                               uint64_t bytes, uint64_t deadline,
                                                               rawhal_pool_allocation_t *allocation,
                                                               rawhal_error_t *error);

/* Zero-initialise, then set what should differ; read during the call only. */
typedef struct rawhal_pool_request {
  size_t size; /* sizeof(rawhal_pool_request_t), or 0: see types.h */
  uint64_t bytes;
  uint64_t alignment; /* a power of two, at most 2 MiB; at least 256 is kept */
  uint32_t flags;     /* RAWHAL_POOL_* */
  const char *label;  /* names the allocation in reports of faults; NULL: the pool's does. Truncated
                         to RAWHAL_LABEL_BYTES */
} rawhal_pool_request_t;

/* The same with more to ask for. INVALID_ARGUMENT also: an alignment that is none, or unknown
 * flags. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_pool_allocate_with(
    rawhal_pool_t *pool, rawhal_queue_t *queue, const rawhal_pool_request_t *request,
    uint64_t deadline, rawhal_pool_allocation_t *allocation, rawhal_error_t *error);

/* Frees an allocation behind all that has been submitted to `queue`, whichever it was allocated
 * for; with `queue` NULL at once: the caller says that nothing uses it any more. Never waits. With
 * softgpu's option check_freed (softgpu.h) a dispatch that was submitted to the queue later, and
 * that uses it all the same, faults, and the fault names the allocation. INVALID_ARGUMENT: it is
 * not an allocation of this pool, has been freed already, or the queue is another device's;
 * OUT_OF_MEMORY: the first time a queue is used with a pool, and nothing has changed;
 * DEVICE_LOST: after fork(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_pool_free(rawhal_pool_t *pool, rawhal_queue_t *queue,
                 const rawhal_pool_allocation_t *allocation, rawhal_error_t *error);

/* Gives slabs back, and with them their bytes to the quota, of which nothing is allocated and
 * nothing that was freed is in use any more, until the pool holds no more than `keep_bytes`. Does
 * not wait. Returns the bytes that were given back; 0 for NULL. */
RAWHAL_API uint64_t rawhal_pool_trim(rawhal_pool_t *pool, uint64_t keep_bytes);

/* What a pool has. */
typedef struct rawhal_pool_info {
  size_t size;             /* set it to sizeof(rawhal_pool_info_t), or 0: see types.h */
  uint64_t reserved_bytes; /* of all slabs, as they count towards the quota */
  uint64_t used_bytes;     /* of what is allocated, as it was rounded up */
  uint64_t waiting_bytes;  /* freed, and not known to be out of use */
  uint64_t peak_reserved_bytes, peak_used_bytes;
  uint64_t budget_bytes; /* UINT64_MAX: none */
  uint64_t slabs;
  uint64_t allocations;        /* that live */
  uint64_t total_allocations;  /* that were ever made */
  uint64_t reused_allocations; /* of these, of memory that the queue had freed just before: no lock
                                  was shared, and nothing searched */
} rawhal_pool_info_t;

/* Fills in `*info` with the state of this moment; zeros for NULL and after fork(). */
RAWHAL_API void rawhal_pool_info(rawhal_pool_t *pool, rawhal_pool_info_t *info);

RAWHAL_END

#endif
