/* Events into the ring. */
#include "debug/door/ticket.h"

door_ring_t door_ring;

/* Observers say again and again that they are there: one that died is forgotten. */
bool slots_wanted(door_memory_t *memory, rawhal_event_type_t type, uint64_t now)
{
  if (!memory || !(__atomic_load_n(&memory->head.types, __ATOMIC_RELAXED) & RAWHAL_EVENT_BIT(type)))
    return false;
  if (now < slots_wanted_until(memory))
    return true;
  __atomic_store_n(&memory->head.types, 0, __ATOMIC_RELAXED);
  return false;
}

static void slot_write(door_memory_t *memory, uint64_t number, const uint64_t *words,
                       uint32_t count)
{
  door_slot_t *slot = slot_begin(memory, number);
  for (uint32_t i = 0; i < count; ++i)
    word_put(slot, i, words[i]);
  slot_end(slot, number);
}

void slots_put(door_memory_t *memory, const uint64_t *words, uint32_t bytes)
{
  const uint32_t count = bytes / 8, slots = (count + DOOR_SLOT_WORDS - 1) / DOOR_SLOT_WORDS;
  const uint64_t first = __atomic_fetch_add(&door_ring.next, slots, __ATOMIC_RELAXED);
  uint32_t taken = 0;
  while (taken < slots && slot_take(first + taken))
    ++taken;
  for (uint32_t i = 0; i < taken; ++i) {
    const uint32_t at = i * DOOR_SLOT_WORDS, left = count - at;
    if (taken == slots)
      slot_write(memory, first + i, words + at, left < DOOR_SLOT_WORDS ? left : DOOR_SLOT_WORDS);
    slot_give(first + i);
  }
  if (taken < slots)
    slots_drop(memory);
  __atomic_store_n(&memory->head.next, first + slots, __ATOMIC_RELAXED);
}

void tell_slowly(rawhal_event_type_t type, uint64_t queue_id, uint64_t ticket, uint64_t packet,
                 uint32_t packets, uint64_t kernel_object)
{
  tell_event((rawhal_event_t){.type = type,
                              .queue_id = queue_id,
                              .ticket = ticket,
                              .packet = packet,
                              .packets = packets,
                              .kernel_object = kernel_object});
}
