#include "debug/door/tell.h"

#include "debug/core/records.h"
#include "debug/door/memory.h"
#include "debug/door/subscribers.h"

#include "base/clock.h"
#include "debug/door/ticks.h"

#include <string.h>

static uint64_t nobody;
uint64_t *tell_types = &nobody;

/* With subscribers all is looked at here. */
void tell_aim(void)
{
  static uint64_t all = RAWHAL_EVENTS_ALL;
  door_memory_t *memory = door_memory();
  uint64_t *types = __atomic_load_n(&subscribers_types, __ATOMIC_SEQ_CST) ? &all
                    : memory                                              ? &memory->head.types
                                                                          : &nobody;
  __atomic_store_n(&tell_types, types, __ATOMIC_SEQ_CST);
}

/* A record as the ring and the entries take it. */
typedef struct encoded {
  uint64_t words[DOOR_RECORD_BYTES / 8];
  uint32_t bytes;
} encoded_t;

/* In at most so many bytes: what does not fit of the text is left out. */
static void encode(rawhal_event_t *event, size_t most, encoded_t *to)
{
  const core_record_type_t type = (core_record_type_t)(CORE_RECORD_EVENTS + (int)event->type);
  const rawhal_string_t text = event->text;
  event->text.size = 0;
  const size_t without = record_bytes(type, event);
  event->text.size = text.size < most - without ? text.size : most - without;
  to->bytes = (uint32_t)record_bytes(type, event);
  record_put(type, event, (unsigned char *)to->words);
  event->text = text;
}

void tell_event(rawhal_event_t event)
{
  if (!tell_wants(event.type))
    return;
  door_memory_t *memory = door_memory();
  event.size = sizeof(event);
  event.time = clock_now();
  subscribers_tell(&event);
  const uint64_t now = ticks_now();
  if (!slots_wanted(memory, event.type, now))
    return;
  event.time = now;
  encoded_t encoded;
  encode(&event, sizeof(encoded.words), &encoded);
  slots_put(memory, encoded.words, encoded.bytes);
}

tell_entry_t tell_came(rawhal_event_t event)
{
  door_memory_t *memory = door_memory();
  tell_entry_t entry = TELL_UNLISTED;
  if (memory) {
    encoded_t encoded;
    event.time = ticks_now();
    encode(&event, DOOR_ENTRY_WORDS * 8, &encoded);
    entry = entries_add(memory, encoded.words, encoded.bytes);
  }
  tell_event(event); /* whoever looks at the entries in between sees it twice, not never */
  return entry;
}

/* Only the names that labels have of it: types say which. */
void tell_named(tell_entry_t entry, rawhal_event_t came, rawhal_string_t label)
{
  door_memory_t *memory = door_memory();
  came.text = label;
  if (memory && entry && entry != TELL_UNLISTED) {
    encoded_t encoded;
    encode(&came, DOOR_ENTRY_WORDS * 8, &encoded);
    entries_change(memory, entry, encoded.words, encoded.bytes);
  }
  if (entry)
    tell_event((rawhal_event_t){
        .type = RAWHAL_EVENT_LABEL,
        .queue_id = came.queue_id,
        .id = came.id,
        .address = came.type == RAWHAL_EVENT_ALLOCATE ? came.address : 0,
        .text = label,
    });
}

void tell_unlist(tell_entry_t entry)
{
  door_memory_t *memory = door_memory();
  if (memory && entry && entry != TELL_UNLISTED)
    entries_remove(memory, entry);
}

void tell_went(tell_entry_t entry, rawhal_event_t event)
{
  if (!entry)
    return;
  tell_unlist(entry);
  tell_event(event);
}

uint64_t tell_number(void)
{
  static uint64_t numbers;
  return __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED) + 1;
}
