#include "queue/ring.h"

void ring_init(ring_t *ring, uint32_t tickets, uint32_t packets, uint32_t blocks)
{
  *ring = (ring_t){.tickets = tickets, .packets = packets, .blocks = blocks};
}

/* Two loads, so possibly two halves of different moments: fit for a first guess, which the swap
 * confirms. */
static ring_word_t word_guess(ring_t *ring)
{
  ring_word_t word;
  word.halves[0] = __atomic_load_n(&ring->word.halves[0], __ATOMIC_RELAXED);
  word.halves[1] = __atomic_load_n(&ring->word.halves[1], __ATOMIC_RELAXED);
  return word;
}

static inline __attribute__((always_inline)) bool reserve(ring_t *ring, uint32_t tickets,
                                                          uint32_t packets, uint32_t blocks,
                                                          ring_reservation_t *reserved)
{
  /* Heads before tail: heads only follow the tail, so what seems used is at least what is used.
   * Acquire: the thread that gave the room back had seen the device finish with it. */
  uint64_t head_ticket = atomic_load_explicit(&ring->head_ticket, memory_order_acquire);
  uint64_t head_packet = atomic_load_explicit(&ring->head_packet, memory_order_acquire);
  uint32_t head_block = (uint32_t)atomic_load_explicit(&ring->head_block, memory_order_acquire);
  for (;;) {
    ring_word_t word = word_guess(ring);
    const ring_tail_t *tail = &word.tail;
    uint32_t packets_used = tail->packet - (uint32_t)head_packet;
    uint32_t blocks_used = tail->block - head_block;
    bool room = tail->ticket - head_ticket <= ring->tickets - tickets &&
                packets_used <= ring->packets - packets && blocks_used <= ring->blocks - blocks;
    ring_word_t next = {.tail = {tail->ticket, tail->packet, tail->block}};
    if (room)
      next.tail =
          (ring_tail_t){tail->ticket + tickets, tail->packet + packets, tail->block + blocks};
    /* Without room the word is swapped for itself: a torn guess must not refuse a caller. */
    if (!__sync_bool_compare_and_swap(&ring->word.bits, word.bits, next.bits))
      continue;
    if (room)
      *reserved = (ring_reservation_t){
          .ticket = tail->ticket + 1, .packet = head_packet + packets_used, .block = tail->block};
    return room;
  }
}

/* By itself: with one ticket less is to be computed. */
bool ring_reserve(ring_t *ring, uint32_t packets, uint32_t blocks, ring_reservation_t *reserved)
{
  return reserve(ring, 1, packets, blocks, reserved);
}

bool ring_reserve_several(ring_t *ring, uint32_t tickets, uint32_t packets, uint32_t blocks,
                          ring_reservation_t *reserved)
{
  return reserve(ring, tickets, packets, blocks, reserved);
}
