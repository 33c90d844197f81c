#include "debug/core/notes.h"

#include <assert.h>

#include "base/checked.h"

enum { VERSION = 1, RECORD_HEAD = 8 };

typedef struct notes_head {
  uint32_t version, records, dropped, reserved;
} notes_head_t;
static_assert(sizeof(notes_head_t) == CORE_NOTES_HEAD, "no gaps");

/* ---- What a record has ---- */

typedef enum field_kind {
  FIELD_BOOL,
  FIELD_U32,   /* `count` of them; int32_t and enums as well */
  FIELD_U64,   /* int64_t as well */
  FIELD_ARRAY, /* char[count] with a NUL */
  FIELD_STRING,
  FIELD_BYTES,
} field_kind_t;

typedef struct field {
  field_kind_t kind;
  size_t place;
  size_t count;
} field_t;

#define FIELD(KIND, TYPE, MEMBER)                                                                  \
  {                                                                                                \
    FIELD_##KIND, offsetof(TYPE, MEMBER), 1                                                        \
  }
#define FIELDS(TYPE, MEMBER, COUNT)                                                                \
  {                                                                                                \
    FIELD_U32, offsetof(TYPE, MEMBER), COUNT                                                       \
  }
#define ARRAY(TYPE, MEMBER)                                                                        \
  {                                                                                                \
    FIELD_ARRAY, offsetof(TYPE, MEMBER), sizeof(((TYPE *)0)->MEMBER)                               \
  }

static const field_t process_fields[] = {
    FIELD(U64, core_note_process_t, id),           FIELD(U64, core_note_process_t, written),
    FIELD(U64, core_note_process_t, now),          FIELD(STRING, core_note_process_t, program),
    FIELD(STRING, core_note_process_t, arguments), FIELD(STRING, core_note_process_t, host),
    FIELD(STRING, core_note_process_t, versions),  FIELD(STRING, core_note_process_t, omitted),
};
static const field_t module_fields[] = {
    FIELD(U64, core_note_module_t, delta),
    FIELD(U64, core_note_module_t, image),
    FIELD(U64, core_note_module_t, image_bytes),
    FIELD(STRING, core_note_module_t, name),
};
static const field_t dispatch_fields[] = {
    FIELD(U64, core_note_dispatch_t, queue),
    FIELD(U64, core_note_dispatch_t, ticket),
    FIELD(U64, core_note_dispatch_t, packet),
    FIELD(U32, core_note_dispatch_t, index),
    FIELD(U32, core_note_dispatch_t, outcome),
    FIELD(U64, core_note_dispatch_t, submitted),
    FIELD(U64, core_note_dispatch_t, finished),
    FIELD(U64, core_note_dispatch_t, kernel_object),
    FIELD(U64, core_note_dispatch_t, kernarg),
    FIELD(STRING, core_note_dispatch_t, kernel),
    FIELD(STRING, core_note_dispatch_t, label),
    FIELD(BYTES, core_note_dispatch_t, packet_bytes),
    FIELD(BYTES, core_note_dispatch_t, kernarg_bytes),
};
static const field_t allocation_fields[] = {
    FIELD(U64, core_note_allocation_t, base),       FIELD(U64, core_note_allocation_t, size),
    FIELD(U64, core_note_allocation_t, number),     FIELD(U32, core_note_allocation_t, state),
    FIELD(BOOL, core_note_allocation_t, read_only), FIELD(U64, core_note_allocation_t, made),
    FIELD(U64, core_note_allocation_t, freed),      FIELD(STRING, core_note_allocation_t, label),
};
static const field_t fault_fields[] = {
    FIELD(U32, rawhal_fault_t, kind),
    FIELD(U32, rawhal_fault_t, known),
    FIELD(U32, rawhal_fault_t, hsa_status),
    FIELD(U32, rawhal_fault_t, dispatch),
    FIELD(U64, rawhal_fault_t, queue_id),
    FIELD(U64, rawhal_fault_t, ticket),
    FIELD(U64, rawhal_fault_t, packet),
    FIELD(U64, rawhal_fault_t, kernel_object),
    FIELD(U64, rawhal_fault_t, pc),
    FIELD(U64, rawhal_fault_t, pc_offset),
    FIELD(U64, rawhal_fault_t, object_address),
    FIELD(U64, rawhal_fault_t, address),
    FIELD(U32, rawhal_fault_t, bytes),
    FIELD(U32, rawhal_fault_t, access),
    FIELDS(rawhal_fault_t, instruction, 2),
    FIELDS(rawhal_fault_t, group, 3),
    FIELD(U32, rawhal_fault_t, wave),
    FIELD(U32, rawhal_fault_t, lane),
    FIELD(U64, rawhal_fault_t, lanes),
    ARRAY(rawhal_fault_t, kernel),
    ARRAY(rawhal_fault_t, device_text),
};
static const field_t cause_fields[] = {
    FIELD(U32, rawhal_cause_t, kind),
    FIELD(U32, rawhal_cause_t, confidence),
    FIELD(U32, rawhal_cause_t, argument),
    FIELD(U32, rawhal_cause_t, levels),
    FIELD(U64, rawhal_cause_t, offset),
    FIELD(U64, rawhal_cause_t, allocation),
    FIELD(U64, rawhal_cause_t, allocation_bytes),
    FIELD(U64, rawhal_cause_t, freed_ns),
    FIELD(U64, rawhal_cause_t, queue_id),
    FIELD(U64, rawhal_cause_t, ticket),
    FIELD(U64, rawhal_cause_t, packet),
    FIELD(U32, rawhal_cause_t, dispatch),
    ARRAY(rawhal_cause_t, argument_name),
    ARRAY(rawhal_cause_t, label),
    ARRAY(rawhal_cause_t, text),
};
static const field_t limits_fields[] = {FIELD(STRING, core_note_limits_t, text)};
static const field_t left_out_fields[] = {
    FIELD(U64, core_left_out_t, ranges),
    FIELD(U64, core_left_out_t, bytes),
};
static const field_t entry_fields[] = {
    FIELD(U64, core_left_out_entry_t, address),
    FIELD(U64, core_left_out_entry_t, size),
    FIELD(U32, core_left_out_entry_t, kind),
    FIELD(U32, core_left_out_entry_t, reason),
};

typedef struct form {
  const field_t *fields;
  size_t count;
} form_t;
#define FORM(FIELDS_OF)                                                                            \
  {                                                                                                \
    FIELDS_OF, sizeof(FIELDS_OF) / sizeof(*(FIELDS_OF))                                            \
  }
static const form_t forms[CORE_RECORD_TYPES] = {
    [CORE_RECORD_PROCESS] = FORM(process_fields),
    [CORE_RECORD_MODULE] = FORM(module_fields),
    [CORE_RECORD_DISPATCH] = FORM(dispatch_fields),
    [CORE_RECORD_ALLOCATION] = FORM(allocation_fields),
    [CORE_RECORD_FAULT] = FORM(fault_fields),
    [CORE_RECORD_CAUSE] = FORM(cause_fields),
    [CORE_RECORD_LIMITS] = FORM(limits_fields),
    [CORE_RECORD_LEFT_OUT] = FORM(left_out_fields),
    [CORE_RECORD_LEFT_OUT_ENTRY] = FORM(entry_fields),
};

/* Of a structure in memory. */
static rawhal_bytes_t contents_of(const field_t *field, const unsigned char *record)
{
  const void *place = record + field->place;
  rawhal_string_t string;
  rawhal_bytes_t bytes;
  switch (field->kind) {
  case FIELD_ARRAY:
    return (rawhal_bytes_t){place, strnlen(place, field->count)};
  case FIELD_STRING:
    memcpy(&string, place, sizeof(string));
    return (rawhal_bytes_t){string.data, string.size};
  default:
    memcpy(&bytes, place, sizeof(bytes));
    return bytes;
  }
}

static bool is_number(const field_t *field)
{
  return field->kind <= FIELD_U64;
}

static size_t padded(size_t size)
{
  return (size + 7) & ~(size_t)7;
}

/* ---- Writing ---- */

static uint64_t number_at(const field_t *field, const unsigned char *place)
{
  uint64_t wide = 0;
  uint32_t narrow;
  if (field->kind == FIELD_BOOL)
    return *place != 0;
  if (field->kind == FIELD_U32) {
    memcpy(&narrow, place, sizeof(narrow));
    return narrow;
  }
  memcpy(&wide, place, sizeof(wide));
  return wide;
}

size_t core_notes_record_bytes(core_record_type_t type, const void *record)
{
  size_t bytes = RECORD_HEAD;
  for (size_t i = 0; i < forms[type].count; ++i) {
    const field_t *field = &forms[type].fields[i];
    bytes += is_number(field) ? 8 * field->count : 8 + padded(contents_of(field, record).size);
  }
  return bytes;
}

static unsigned char *put_field(unsigned char *to, const field_t *field,
                                const unsigned char *record)
{
  if (is_number(field)) {
    for (size_t i = 0; i < field->count; ++i, to += 8) {
      const uint64_t value = number_at(field, record + field->place + i * sizeof(uint32_t));
      memcpy(to, &value, 8);
    }
    return to;
  }
  const rawhal_bytes_t from = contents_of(field, record);
  const uint64_t size = from.size;
  memcpy(to, &size, 8);
  memset(to + 8, 0, padded(from.size));
  if (from.size)
    memcpy(to + 8, from.data, from.size);
  return to + 8 + padded(from.size);
}

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
  const size_t bytes = core_notes_record_bytes(type, record);
  if (!notes->used || bytes > UINT32_MAX || bytes > notes->size - notes->used) {
    count(notes, offsetof(notes_head_t, dropped));
    return false;
  }
  const uint32_t head[2] = {(uint32_t)type, (uint32_t)bytes};
  unsigned char *to = notes->bytes + notes->used;
  memcpy(to, head, sizeof(head));
  to += sizeof(head);
  for (size_t i = 0; i < forms[type].count; ++i)
    to = put_field(to, &forms[type].fields[i], record);
  notes->used += bytes;
  count(notes, offsetof(notes_head_t, records));
  return true;
}

bool core_notes_put_fault(core_notes_t *notes, const rawhal_fault_t *fault)
{
  const uint32_t causes =
      fault->cause_count < RAWHAL_FAULT_CAUSES ? fault->cause_count : RAWHAL_FAULT_CAUSES;
  size_t bytes = core_notes_record_bytes(CORE_RECORD_FAULT, fault);
  for (uint32_t i = 0; i < causes; ++i)
    bytes += core_notes_record_bytes(CORE_RECORD_CAUSE, &fault->causes[i]);
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

typedef struct source {
  const unsigned char *at;
  size_t left;
} source_t;

/* Zeros where there is nothing. */
static uint64_t take_number(source_t *from)
{
  uint64_t value = 0;
  if (from->left < 8) {
    from->left = 0;
    return 0;
  }
  memcpy(&value, from->at, 8);
  from->at += 8;
  from->left -= 8;
  return value;
}

static rawhal_bytes_t take_bytes(source_t *from)
{
  const uint64_t size = take_number(from);
  if (size > from->left) {
    from->left = 0;
    return (rawhal_bytes_t){0};
  }
  const rawhal_bytes_t bytes = {from->at, (size_t)size};
  const size_t whole = padded((size_t)size) <= from->left ? padded((size_t)size) : from->left;
  from->at += whole;
  from->left -= whole;
  return bytes;
}

static void take_one(source_t *from, const field_t *field, unsigned char *place)
{
  const uint64_t wide = take_number(from);
  const uint32_t narrow = (uint32_t)wide;
  const bool truth = wide != 0;
  if (field->kind == FIELD_BOOL)
    memcpy(place, &truth, sizeof(truth));
  else if (field->kind == FIELD_U32)
    memcpy(place, &narrow, sizeof(narrow));
  else
    memcpy(place, &wide, sizeof(wide));
}

static void take_field(source_t *from, const field_t *field, unsigned char *record)
{
  unsigned char *place = record + field->place;
  if (is_number(field)) {
    for (size_t i = 0; i < field->count; ++i)
      take_one(from, field, place + i * sizeof(uint32_t));
    return;
  }
  const rawhal_bytes_t bytes = take_bytes(from);
  const rawhal_string_t string = {bytes.data, bytes.size};
  if (field->kind == FIELD_STRING)
    memcpy(place, &string, sizeof(string));
  else if (field->kind == FIELD_BYTES)
    memcpy(place, &bytes, sizeof(bytes));
  else if (bytes.size) /* which are zeros: the last stays one */
    memcpy(place, bytes.data, bytes.size < field->count ? bytes.size : field->count - 1);
}

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
    if (head[0] >= CORE_RECORD_TYPES || !forms[head[0]].count)
      continue;
    source_t source = {from + sizeof(head), head[1] - sizeof(head)};
    memset(record, 0, sizeof(*record));
    record->type = (core_record_type_t)head[0];
    for (size_t i = 0; i < forms[head[0]].count; ++i)
      take_field(&source, &forms[head[0]].fields[i], (unsigned char *)&record->as);
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
