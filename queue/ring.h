/* Reserving from the three rings of a queue at once: tickets, packets, kernarg blocks. Internal.
 *
 * The tails are one 128-bit word, moved by one compare-and-swap: either a submission gets all
 * three, or nothing has happened. Because the three move together, kernarg blocks are given out in
 * packet order and come back in packet order, and the heads are plain counters.
 *
 * Tails of packets and blocks count modulo 2^32. The ticket has 64 bits and changes with every
 * reservation, so no state ever comes back and the swap cannot be fooled by one.
 *
 * Any number of threads may reserve. Only one thread at a time releases (the queue holds a lock
 * then), possibly while others reserve. */
#ifndef RAWHAL_QUEUE_RING_H
#define RAWHAL_QUEUE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ring_tail {
  uint64_t ticket; /* last given out */
  uint32_t packet; /* next free */
  uint32_t block;  /* next free */
} ring_tail_t;

typedef union ring_word {
  ring_tail_t tail;
  uint64_t halves[2];
  unsigned __int128 bits;
} ring_word_t;

typedef struct ring {
  alignas(64) ring_word_t word;
  alignas(64) _Atomic uint64_t head_ticket; /* last finished */
  _Atomic uint64_t head_packet;             /* oldest not finished */
  _Atomic uint64_t head_block;
  alignas(64) uint32_t tickets; /* capacities; powers of two */
  uint32_t packets;
  uint32_t blocks;
} ring_t;

typedef struct ring_reservation {
  uint64_t ticket;
  uint64_t packet; /* index of the first */
  uint32_t block;  /* the first, modulo 2^32 */
  uint32_t part;   /* of a launch: traits_of_part(); 0 */
} ring_reservation_t;

void ring_init(ring_t *ring, uint32_t tickets, uint32_t packets, uint32_t blocks);

/* Reserves a ticket, `packets` packets and `blocks` blocks, all of them at most the capacity.
 * False, and nothing changed, when there is no room. Lock-free. */
bool ring_reserve(ring_t *ring, uint32_t packets, uint32_t blocks, ring_reservation_t *reserved);
/* The same with several tickets, of which `*reserved` has the first. */
bool ring_reserve_several(ring_t *ring, uint32_t tickets, uint32_t packets, uint32_t blocks,
                          ring_reservation_t *reserved);

/* Gives back the oldest ticket with its packets and blocks. */
static inline void ring_release(ring_t *ring, uint32_t packets, uint32_t blocks)
{
  uint64_t packet = atomic_load_explicit(&ring->head_packet, memory_order_relaxed) + packets;
  uint64_t block = atomic_load_explicit(&ring->head_block, memory_order_relaxed) + blocks;
  uint64_t ticket = atomic_load_explicit(&ring->head_ticket, memory_order_relaxed) + 1;
  atomic_store_explicit(&ring->head_packet, packet, memory_order_release);
  atomic_store_explicit(&ring->head_block, block, memory_order_release);
  atomic_store_explicit(&ring->head_ticket, ticket, memory_order_release);
}

static inline uint64_t ring_last_ticket(const ring_t *ring)
{
  return __atomic_load_n(&ring->word.tail.ticket, __ATOMIC_ACQUIRE);
}

static inline uint64_t ring_finished(ring_t *ring)
{
  return atomic_load_explicit(&ring->head_ticket, memory_order_acquire);
}

#endif
