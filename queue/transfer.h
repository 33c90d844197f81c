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

enum { TRANSFER_PACKETS = 2 };

/* Where the first row begins, and how many bytes further the next one. */
typedef struct transfer_side {
  unsigned char *at;
  uint64_t pitch;
  hsa_agent_t agent; /* whose the runtime is told that it is */
} transfer_side_t;

typedef enum transfer_staged {
  TRANSFER_DIRECT, /* the device reaches both sides */
  TRANSFER_WRITES, /* `from` is the program's, as `host` says, */
  TRANSFER_READS,  /* or `to` is */
  TRANSFER_FILLS,  /* `from` is the pattern, repeated */
} transfer_staged_t;

/* `rows` rows of `bytes` each. It is carried out in pieces of at most so many of both, of which
 * those of a fill all have the same source. Zero-initialise; then transfer_cut(). */
typedef struct queue_transfer {
  transfer_side_t to, from;
  uint64_t bytes, rows;
  uint64_t piece_bytes, piece_rows;
  transfer_staged_t staged;
  transfer_rows_t host;
  unsigned char pattern[16];
  uint32_t pattern_bytes;
} queue_transfer_t;

/* `to` says how many and how long. */
void rows_copy(const transfer_rows_t *to, const transfer_rows_t *from);
/* `bytes` is a multiple of the pattern's. */
void pattern_repeat(unsigned char *to, uint64_t bytes, const void *pattern, uint32_t pattern_bytes);

/* pieces.c: chooses the pieces, and the pitch of staging memory, by what the runtime can copy at
 * once: rows that follow one another on both sides are one; others are a rectangle where both sides
 * are as the DMA engine's packet for these can have them, else each is copied by itself. */
void transfer_cut(const hsa_table_t *hsa, queue_transfer_t *transfer);
/* How far apart rows of so many bytes lie in staging memory, so that they can be a rectangle. */
uint64_t transfer_pitch(uint64_t bytes);
/* How many pieces it has: what `done` begins with. */
uint64_t transfer_pieces(const queue_transfer_t *transfer);
/* Starts them. Each begins when `ready` (NULL: nothing) is 0, and then subtracts 1 from `done`, to
 * which, as to `*announced`, those are added that a rectangle becomes when the runtime cannot copy
 * it as one. Counts those that it has started, all of them unless it fails. */
hsa_status_t transfer_start(const hsa_table_t *hsa, hsa_agent_t agent,
                            const queue_transfer_t *transfer, const hsa_signal_t *ready,
                            hsa_signal_t done, uint64_t *announced, uint64_t *started);

/* Submits them, with one ticket. Takes over the staging memory, which is delivered and given back
 * when the ticket has finished and a thread drains the queue, or given back at once when this
 * fails. `ticket` may be NULL. WOULD_BLOCK / TIMED_OUT: no room, or other transfers of this queue
 * are being submitted; RUNTIME: the runtime does not start a copy, and those before it are carried
 * out; as rawhal_queue_submit() otherwise. */
RAWHAL_CHECKED rawhal_status_t queue_transfers(rawhal_queue_t *queue,
                                               const queue_transfer_t *transfers, size_t count,
                                               transfer_staging_t *staging, uint64_t deadline,
                                               rawhal_ticket_t *ticket, rawhal_error_t *error);

/* Some of them. */
typedef struct transfers {
  size_t count;
  const queue_transfer_t *each;
  /* NULL, or what is to be done instead of each of them. */
  const queue_transfer_t *(*instead)(const void *context, const queue_transfer_t *transfer);
  /* NULL, or who is told that the runtime does not start one, before the queue goes on. */
  void (*refused)(const void *context, const rawhal_error_t *cause);
  const void *context;
} transfers_t;

static inline const queue_transfer_t *transfers_at(const transfers_t *transfers, size_t i)
{
  const queue_transfer_t *is = &transfers->each[i];
  return transfers->instead ? transfers->instead(transfers->context, is) : is;
}

/* In a launch of several tickets: whoever holds it takes room, and then submits what is in its
 * place, which has TRANSFER_PACKETS packets. What they use is the owner's. RUNTIME: as above. */
void transfers_enter(void);
void transfers_leave(void);
RAWHAL_CHECKED rawhal_status_t transfers_submit(rawhal_queue_t *queue, const transfers_t *transfers,
                                                transfer_owner_t *owner,
                                                const ring_reservation_t *reserved,
                                                rawhal_error_t *error);

static inline void transfer_owner_let(transfer_owner_t *owner)
{
  if (atomic_fetch_sub(&owner->uses, 1) == 1)
    owner->end(owner);
}

/* Whether there is something, to the program or back to graphs; code that reports a ticket as
 * finished then drains the queue first. */
static inline bool transfers_to_deliver(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->transfers.undelivered, memory_order_acquire) != 0;
}
/* The slot's transfers have finished. The caller holds drain_lock. */
void transfer_finish(rawhal_queue_t *queue, const queue_slot_t *slot);
/* Did the DMA engine say that one failed? */
bool transfer_failed(const rawhal_queue_t *queue, const queue_slot_t *slot);
/* Then its times are those of the whole submission. False for other submissions. */
bool transfer_is_one_copy(const rawhal_queue_t *queue, const queue_slot_t *slot);
/* When the last of its copies began and ended. */
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
