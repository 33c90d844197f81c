/* Copies in queue order: carried out by the device's DMA engines, held and waited for by packets.
 * Internal.
 *
 *     barrier --ready--> DMA copies --done--> barrier value --> the ticket's signal
 *
 * The first packet lets the copies begin when everything before it has finished; the second lets
 * the queue go on when they have. */
#ifndef RAWHAL_QUEUE_TRANSFER_H
#define RAWHAL_QUEUE_TRANSFER_H

#include "queue/internal.h"

/* `size` bytes to `to`, from `from`, of which there are `period` bytes, repeated when that is less
 * than `size`. */
typedef struct queue_transfer {
  void *to;
  const void *from;
  hsa_agent_t to_agent, from_agent;
  uint64_t size, period;
  transfer_staging_t staging;
} queue_transfer_t;

/* Host memory that the device reaches. OUT_OF_MEMORY, RUNTIME. */
RAWHAL_CHECKED rawhal_status_t transfer_stage(rawhal_queue_t *queue, size_t size,
                                              transfer_staging_t *staging, rawhal_error_t *error);

/* Submits it. Takes over its staging memory, which is delivered and given back when the ticket has
 * finished and a thread drains the queue, or given back at once when this fails. `ticket` may be
 * NULL. WOULD_BLOCK / TIMED_OUT: no room, or other transfers of this queue are being submitted;
 * RUNTIME: the runtime does not start the copy; as rawhal_queue_submit() otherwise. */
RAWHAL_CHECKED rawhal_status_t queue_transfer(rawhal_queue_t *queue,
                                              const queue_transfer_t *transfer, uint64_t deadline,
                                              rawhal_ticket_t *ticket, rawhal_error_t *error);

/* Whether there is something; code that reports a ticket as finished then drains the queue first.
 */
static inline bool transfers_to_deliver(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->transfers.undelivered, memory_order_acquire) != 0;
}
/* The slot's transfer has finished. The caller holds drain_lock. */
void transfer_finish(rawhal_queue_t *queue, const queue_slot_t *slot);
/* Did the DMA engine say that it failed? */
bool transfer_failed(const rawhal_queue_t *queue, const queue_slot_t *slot);
/* Then its times are those of the whole transfer. False for other submissions. */
bool transfer_is_one_copy(const rawhal_queue_t *queue, const queue_slot_t *slot);
/* When the last of a transfer's copies began and ended. */
hsa_status_t transfer_times(const rawhal_queue_t *queue, const queue_slot_t *slot,
                            hsa_amd_profiling_async_copy_time_t *times);

/* The queue's packets do not come any more: what waits for one begins now, so that the DMA engine
 * can go on. */
void transfers_release(rawhal_queue_t *queue);
/* The device is done with the queue: waits a second for the engine. What it still uses after that
 * is left to the runtime's end. */
void transfers_end(rawhal_queue_t *queue);
void transfers_free(rawhal_queue_t *queue);

#endif
