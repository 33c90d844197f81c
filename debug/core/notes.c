#include "debug/core/records.h"

#include <assert.h>

#include "base/checked.h"

enum { VERSION = 1 };

typedef struct notes_head {
  uint32_t version, records, dropped, reserved;
} notes_head_t;
static_assert(sizeof(notes_head_t) == CORE_NOTES_HEAD, "no gaps");

static void count(core_notes_t *notes, size_t place)
{
  uint32_t value;
  if (!notes->used)
    return;
  memcpy(&value, notes->bytes + place, sizeof(value));
  ++value;
  memcpy(notes->bytes + place, &value, sizeof(value));
}

void core_notes_begin(core_notes_t *notes, void *bytes, size_t size)
{
  const notes_head_t head = {.version = VERSION};
  *notes = (core_notes_t){.bytes = bytes, .size = size};
  if (size < sizeof(head))
    return;
  memcpy(bytes, &head, sizeof(head));
  notes->used = sizeof(head);
}

bool core_notes_put(core_notes_t *notes, core_record_type_t type, const void *record)
{
  const size_t bytes = record_bytes(type, record);
  if (!notes->used || bytes > UINT32_MAX || bytes > notes->size - notes->used) {
    count(notes, offsetof(notes_head_t, dropped));
    return false;
  }
  record_put(type, record, notes->bytes + notes->used);
  notes->used += bytes;
  count(notes, offsetof(notes_head_t, records));
  return true;
}

bool core_notes_put_fault(core_notes_t *notes, const rawhal_fault_t *fault)
{
  const uint32_t causes =
      fault->cause_count < RAWHAL_FAULT_CAUSES ? fault->cause_count : RAWHAL_FAULT_CAUSES;
  size_t bytes = record_bytes(CORE_RECORD_FAULT, fault);
  for (uint32_t i = 0; i < causes; ++i)
    bytes += record_bytes(CORE_RECORD_CAUSE, &fault->causes[i]);
  if (!notes->used || bytes > notes->size - notes->used) {
    count(notes, offsetof(notes_head_t, dropped));
    return false;
  }
  bool put = core_notes_put(notes, CORE_RECORD_FAULT, fault);
  for (uint32_t i = 0; i < causes; ++i)
    put = core_notes_put(notes, CORE_RECORD_CAUSE, &fault->causes[i]) && put;
  return put;
}

rawhal_bytes_t core_notes_end(const core_notes_t *notes)
{
  return (rawhal_bytes_t){notes->bytes, notes->used};
}

/* ---- Reading ---- */

static bool has_head(rawhal_bytes_t note, notes_head_t *head)
{
  *head = (notes_head_t){0};
  if (note.size < sizeof(*head))
    return false;
  memcpy(head, note.data, sizeof(*head));
  return head->version == VERSION;
}

bool core_notes_next(rawhal_bytes_t note, uint64_t *cursor, core_record_t *record)
{
  notes_head_t notes;
  uint32_t head[2];
  if (!has_head(note, &notes))
    return false;
  for (uint64_t at = *cursor ? *cursor : sizeof(notes); range_within(at, sizeof(head), note.size);
       at = *cursor) {
    const unsigned char *from = (const unsigned char *)note.data + at;
    memcpy(head, from, sizeof(head));
    if (head[1] < sizeof(head) || head[1] % 8 || !range_within(at, head[1], note.size))
      return false;
    *cursor = at + head[1];
    if (record_take((rawhal_bytes_t){from, head[1]}, record))
      return true;
  }
  return false;
}

bool core_notes_fault(rawhal_bytes_t note, rawhal_fault_t *fault)
{
  core_record_t record;
  bool found = false;
  memset(fault, 0, sizeof(*fault));
  for (uint64_t cursor = 0; core_notes_next(note, &cursor, &record);) {
    if (record.type == CORE_RECORD_FAULT) {
      if (found)
        break;
      *fault = record.as.fault;
      fault->size = sizeof(*fault);
      found = true;
    } else if (found && record.type == CORE_RECORD_CAUSE &&
               fault->cause_count < RAWHAL_FAULT_CAUSES) {
      fault->causes[fault->cause_count++] = record.as.cause;
    }
  }
  return found;
}

uint32_t core_notes_dropped(rawhal_bytes_t note)
{
  notes_head_t head;
  return has_head(note, &head) ? head.dropped : 0;
}
