/* The ring of events, and what is written to it most: where submissions are, quickly. Internal.
 *
 * What is written where is remembered here: others can write to the memory. */
#ifndef RAWHAL_DEBUG_DOOR_TICKET_H
#define RAWHAL_DEBUG_DOOR_TICKET_H

#include "debug/core/notes.h"
#include "debug/door/memory.h"
#include "debug/door/subscribers.h"
#include "debug/door/ticks.h"

typedef struct door_ring {
  alignas(64) uint64_t next;
  alignas(64) unsigned char busy[DOOR_SLOTS];
} door_ring_t;
extern door_ring_t door_ring;

/* False: another thread has written there for as long as it took to fill the ring. */
static inline bool slot_take(uint64_t number)
{
  return !__atomic_exchange_n(&door_ring.busy[number % DOOR_SLOTS], 1, __ATOMIC_ACQUIRE);
}

static inline void slot_give(uint64_t number)
{
  __atomic_store_n(&door_ring.busy[number % DOOR_SLOTS], 0, __ATOMIC_RELEASE);
}

static inline void word_put(door_slot_t *slot, uint32_t index, uint64_t word)
{
  __atomic_store_n(&slot->words[index], word, __ATOMIC_RELEASE);
}

/* The slot holds nothing, until slot_end(): who reads a word that is written in between finds that
 * its number has changed. */
static inline door_slot_t *slot_begin(door_memory_t *memory, uint64_t number)
{
  door_slot_t *slot = &memory->slots[number % DOOR_SLOTS];
  __atomic_store_n(&slot->number, 0, __ATOMIC_RELAXED);
  return slot;
}

static inline void slot_end(door_slot_t *slot, uint64_t number)
{
  __atomic_store_n(&slot->number, number + 1, __ATOMIC_RELEASE);
}

static inline void slots_drop(door_memory_t *memory)
{
  __atomic_fetch_add(&memory->head.dropped, 1, __ATOMIC_RELAXED);
}

/* By tell_event(). */
void tell_slowly(rawhal_event_type_t type, uint64_t queue_id, uint64_t ticket, uint64_t packet,
                 uint32_t packets, uint64_t kernel_object);

/* After tell_wants(): tells SUBMIT, or COMPLETE with zeros behind the ticket, as tell_event() does,
 * but writes one slot, without a record in between. */
static inline void tell_ticket(rawhal_event_type_t type, uint64_t queue_id, uint64_t ticket,
                               uint64_t packet, uint32_t packets, uint64_t kernel_object)
{
  static const uint64_t bytes = (uint64_t)DOOR_SLOT_WORDS * 8 << 32;
  door_memory_t *memory = door_memory();
  const uint64_t now = ticks_now();
  if (__builtin_expect(!memory || subscribers_any() || now >= slots_wanted_until(memory), 0)) {
    tell_slowly(type, queue_id, ticket, packet, packets, kernel_object);
    return;
  }
  const uint64_t number = __atomic_fetch_add(&door_ring.next, 1, __ATOMIC_RELAXED);
  if (!slot_take(number)) {
    slots_drop(memory);
    return;
  }
  door_slot_t *slot = slot_begin(memory, number);
  word_put(slot, 0, CORE_RECORD_EVENTS + (uint64_t)type + bytes);
  word_put(slot, 1, now);
  word_put(slot, 2, queue_id);
  word_put(slot, 3, ticket);
  word_put(slot, 4, packet);
  word_put(slot, 5, packets);
  word_put(slot, 6, kernel_object);
  slot_end(slot, number);
  slot_give(number);
  __atomic_store_n(&memory->head.next, number + 1, __ATOMIC_RELAXED);
}

#endif
