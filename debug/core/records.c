/* One record: its structure's members in their order, by a table of them. */
#include "debug/core/records.h"

#include <string.h>

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
    FIELD(STRING, core_note_dispatch_t, queue_label),
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
    ARRAY(rawhal_fault_t, label),
    ARRAY(rawhal_fault_t, queue_label),
    ARRAY(rawhal_fault_t, instruction_text),
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
static const field_t watch_fields[] = {
    FIELD(U64, core_note_watch_t, door),
    FIELD(U64, core_note_watch_t, opened),
    FIELD(U64, core_note_watch_t, lost),
    FIELD(BOOL, core_note_watch_t, exists),
};

/* Events: the time comes first. */
static const field_t module_load_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, id),
    FIELD(U64, rawhal_event_t, agent),   FIELD(U64, rawhal_event_t, bytes),
    FIELD(STRING, rawhal_event_t, text),
};
static const field_t module_unload_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, id),
};
static const field_t kernel_fields[] = {
    FIELD(U64, rawhal_event_t, time),          FIELD(U64, rawhal_event_t, id),
    FIELD(U64, rawhal_event_t, kernel_object), FIELD(U64, rawhal_event_t, delta),
    FIELD(STRING, rawhal_event_t, text),       FIELD(U32, rawhal_event_t, kind),
    FIELD(U64, rawhal_event_t, address),
};
static const field_t queue_create_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, agent),   FIELD(U32, rawhal_event_t, packets),
    FIELD(U64, rawhal_event_t, address), FIELD(STRING, rawhal_event_t, text),
};
static const field_t queue_destroy_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, queue_id),
};
static const field_t allocate_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, id),
    FIELD(U64, rawhal_event_t, address), FIELD(U64, rawhal_event_t, bytes),
    FIELD(U64, rawhal_event_t, agent),   FIELD(STRING, rawhal_event_t, text),
};
static const field_t free_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, id),
    FIELD(U64, rawhal_event_t, address),
    FIELD(U64, rawhal_event_t, bytes),
};
static const field_t submit_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, ticket),  FIELD(U64, rawhal_event_t, packet),
    FIELD(U32, rawhal_event_t, packets), FIELD(U64, rawhal_event_t, kernel_object),
    FIELD(STRING, rawhal_event_t, text),
};
static const field_t complete_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, ticket),
};
static const field_t throttle_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, nanoseconds),
};
static const field_t fault_event_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, ticket),  FIELD(U64, rawhal_event_t, packet),
    FIELD(U32, rawhal_event_t, kind),    FIELD(U64, rawhal_event_t, address),
    FIELD(STRING, rawhal_event_t, text),
};
static const field_t dump_fields[] = {
    FIELD(U64, rawhal_event_t, time),
    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(STRING, rawhal_event_t, text),
};
static const field_t label_fields[] = {
    FIELD(U64, rawhal_event_t, time),    FIELD(U64, rawhal_event_t, queue_id),
    FIELD(U64, rawhal_event_t, id),      FIELD(U64, rawhal_event_t, address),
    FIELD(STRING, rawhal_event_t, text),
};

typedef struct form {
  const field_t *fields;
  size_t count;
} form_t;
#define FORM(FIELDS_OF)                                                                            \
  {                                                                                                \
    FIELDS_OF, sizeof(FIELDS_OF) / sizeof(*(FIELDS_OF))                                            \
  }
#define EVENT(TYPE, FIELDS_OF) [CORE_RECORD_EVENTS + (int)RAWHAL_EVENT_##TYPE] = FORM(FIELDS_OF)
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
    [CORE_RECORD_WATCH] = FORM(watch_fields),
    EVENT(MODULE_LOAD, module_load_fields),
    EVENT(MODULE_UNLOAD, module_unload_fields),
    EVENT(KERNEL, kernel_fields),
    EVENT(QUEUE_CREATE, queue_create_fields),
    EVENT(QUEUE_DESTROY, queue_destroy_fields),
    EVENT(ALLOCATE, allocate_fields),
    EVENT(FREE, free_fields),
    EVENT(SUBMIT, submit_fields),
    EVENT(COMPLETE, complete_fields),
    EVENT(THROTTLE, throttle_fields),
    EVENT(FAULT, fault_event_fields),
    EVENT(DUMP, dump_fields),
    EVENT(LABEL, label_fields),
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

size_t record_bytes(core_record_type_t type, const void *record)
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

void record_put(core_record_type_t type, const void *record, unsigned char *to)
{
  const uint32_t head[2] = {(uint32_t)type, (uint32_t)record_bytes(type, record)};
  memcpy(to, head, sizeof(head));
  to += sizeof(head);
  for (size_t i = 0; i < forms[type].count; ++i)
    to = put_field(to, &forms[type].fields[i], record);
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

bool record_take(rawhal_bytes_t bytes, core_record_t *record)
{
  uint32_t head[2];
  if (bytes.size < sizeof(head))
    return false;
  memcpy(head, bytes.data, sizeof(head));
  if (head[0] >= CORE_RECORD_TYPES || !forms[head[0]].count)
    return false;
  source_t source = {(const unsigned char *)bytes.data + sizeof(head), bytes.size - sizeof(head)};
  memset(record, 0, sizeof(*record));
  record->type = (core_record_type_t)head[0];
  for (size_t i = 0; i < forms[head[0]].count; ++i)
    take_field(&source, &forms[head[0]].fields[i], (unsigned char *)&record->as);
  if (head[0] > CORE_RECORD_EVENTS) {
    record->as.event.size = sizeof(record->as.event);
    record->as.event.type = (rawhal_event_type_t)(head[0] - CORE_RECORD_EVENTS);
  }
  return true;
}
