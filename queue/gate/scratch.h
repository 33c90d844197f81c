/* Scratch: what the HSA runtime takes of a device for its queues, and keeps. Internal.
 *
 * One rule for librawhal's queues and those of programs behind the front, from ROCr's sources,
 * 5.2.3 to 6.2 (AqlQueue::DynamicScratchHandler(), later HandleInsufficientScratch();
 * GpuAgent::AcquireQueueScratch(), class ScratchCache):
 *
 * 1. A dispatch that asks for more than its queue has gets that for as many waves as the device can
 *    run. What the queue had, goes into the cache of its device.
 * 2. Nothing leaves the cache but for a queue that asks for exactly as much, while the device has
 *    memory left. So each size that a queue ever had is charged: to the queue while it lives, and
 *    then as kept, until a queue of the device takes it over. The runtime's queues have each size
 *    for a part of that time, so it never has more of them.
 * 3. Above 146,800,640 bytes (HSA_SCRATCH_SINGLE_LIMIT since 5.6; 3 GiB a die since 6.1 where the
 *    firmware can reclaim), and what comes when an eighth of the pool is taken, a queue has for one
 *    dispatch, and the runtime takes less for a dispatch of fewer waves: kernels that call by
 *    pointer ask for 16 KiB a lane, which is gigabytes for all. Charged is so much of it. The rest
 *    is not, though it goes into the cache afterwards, too (SECURITY.md).
 * 4. All of it goes with the runtime: when hsa_shut_down() was called as often as hsa_init().
 *
 * When the device has no memory left the runtime gives back what is in the cache. Nobody is told,
 * and it stays charged. What 6.1 and later keep beside it with firmware that can reclaim, alternate
 * scratch for dispatches of few waves, nobody is told of, either, and it is not charged. */
#ifndef RAWHAL_QUEUE_GATE_SCRATCH_H
#define RAWHAL_QUEUE_GATE_SCRATCH_H

#include "queue/limit/admission.h"

#include <hsa/hsa.h>

/* What the size of a queue's depends on, besides its compute units. */
typedef struct scratch_chip {
  uint32_t engines;      /* shader engines; 0: not known */
  const char *processor; /* "gfx90a"; NULL: not known */
} scratch_chip_t;

typedef struct scratch_block scratch_block_t;

/* The runtime has just read its environment, and there are no queues: what it says of scratch is
 * read once, for the program may change it. */
void scratch_open(void);
/* How many bytes the runtime lets a queue keep; UINT64_MAX: any. Without scratch_open() as where
 * the environment says nothing. */
uint64_t scratch_most(void);

/* A queue's. Made by scratch_begin(), ended by scratch_keep(). */
typedef struct scratch_queue {
  _Atomic uint32_t lane_bytes; /* that it is charged for: only grows until then */
  uint32_t granule;
  rawhal_limiter_t *limiter;
  uint64_t device;         /* the agent's handle */
  uint64_t owner;          /* 0, or of a queue that lives on after scratch_keep(): its address */
  uint64_t slots;          /* waves that the device can run */
  scratch_block_t *blocks; /* each size that it ever had */
} scratch_queue_t;

/* `real`: the runtime's queue, while the program cannot write what that wrote of it. `owned`: it
 * lives on after scratch_keep(), and nobody else gets what it has then. */
void scratch_begin(scratch_queue_t *queue, rawhal_limiter_t *limiter, hsa_agent_t agent,
                   const hsa_queue_t *real, bool owned, const scratch_chip_t *chip);
RAWHAL_CHECKED rawhal_status_t scratch_grow(scratch_queue_t *queue, uint32_t lane_bytes,
                                            rawhal_error_t *error);
static inline bool scratch_is_reserved(const scratch_queue_t *queue, uint32_t lane_bytes)
{
  return lane_bytes <= atomic_load_explicit(&queue->lane_bytes, memory_order_relaxed);
}
/* What the runtime has given a queue already counts, though it does not fit. */
void scratch_found(scratch_queue_t *queue, uint32_t lane_bytes);
/* The runtime has taken the queue's for the next that asks. */
void scratch_keep(scratch_queue_t *queue);
/* What the runtime has kept of a device since another limiter had it, which is closed, is charged
 * to this one, though it does not fit. */
void scratch_resume(rawhal_limiter_t *limiter, uint64_t device);
/* The runtime has ended, and its limiters are closed, or close next, which gives all of it back. */
void scratch_forget(void);
/* In a child of fork(): what was kept is its parent's. */
void scratch_abandon(void);

#endif
