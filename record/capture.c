#include "record/capture.h"

#include "base/allocate.h"
#include "base/error.h"
#include "base/list.h"
#include "record/pointers.h"

#include <string.h>

static record_memory_t find_memory(const record_capture_t *capture, uint64_t address, bool runtime,
                                   record_found_t *found)
{
  *found = (record_found_t){.base = 0};
  if (address - capture->place.base < capture->place.size)
    return RECORD_MEMORY_OWN;
  return capture->world->find(capture->context, address, runtime, found);
}

/* ---- The list ---- */

static bool make_room(record_capture_t *capture)
{
  record_ranges_t *list = &capture->list;
  const size_t wanted = list->count + 1;
  size_t room = capture->room;
  return array_reserve(NULL, &list->ranges, &room, wanted, sizeof(*list->ranges)) &&
         array_reserve(NULL, &capture->facts, &capture->room, wanted, sizeof(*capture->facts));
}

static bool add(record_capture_t *capture, const record_found_t *found, record_fact_t fact,
                bool segment)
{
  record_ranges_t *list = &capture->list;
  for (size_t i = 0; i < list->count; ++i)
    if (list->ranges[i].address == found->base) {
      capture->facts[i].constant &= fact.constant;
      return true;
    }
  if (list->count == RECORD_CAPTURE_MOST_RANGES || !make_room(capture)) {
    record_capture_note(capture, RECORD_NOTE_MANY, found->base, found->base);
    return false;
  }
  capture->facts[list->count] = fact;
  list->ranges[list->count++] = (record_range_t){found->base, found->size, segment, false};
  return true;
}

static bool has(const record_capture_t *capture, uint64_t base)
{
  for (size_t i = 0; i < capture->list.count; ++i)
    if (capture->list.ranges[i].address == base)
      return true;
  return false;
}

/* What a pointer leads to, of which it is said where it stands. False: it leads to nothing that is
 * in the list, and that has been noted, but for what leads nowhere. */
static bool follow(record_capture_t *capture, uint64_t at, uint64_t word, record_memory_t kind,
                   const record_found_t *found, record_fact_t fact)
{
  switch (kind) {
  case RECORD_MEMORY_OWN:
    return true;
  case RECORD_MEMORY_SHARED:
    record_capture_note(capture, RECORD_NOTE_SHARED, at, found->base);
    return add(capture, found, fact, false);
  case RECORD_MEMORY_PROGRAM:
  case RECORD_MEMORY_VARIABLES:
    fact.number = found->number;
    return add(capture, found, fact, false);
  case RECORD_MEMORY_RUNTIME:
    record_capture_note_one(capture, (record_note_t){RECORD_NOTE_RUNTIME, 1, at, word});
    return false;
  case RECORD_MEMORY_CODE:
    record_capture_note(capture, RECORD_NOTE_OBJECTS, at, word);
    return false;
  default:
    return false;
  }
}

/* ---- Kernargs ---- */

typedef struct kernargs_look {
  record_capture_t *capture;
  const unsigned char *image;
  unsigned char *bytes; /* record_byte_t of each */
  size_t size;
} kernargs_look_t;

static void take_pointer(const kernargs_look_t *look, const rawhal_kernarg_argument_t *argument)
{
  record_found_t found;
  uint64_t word;
  memcpy(&word, look->image + argument->offset, sizeof(word));
  if (!word)
    return;
  const record_memory_t kind = find_memory(look->capture, word, true, &found);
  if (kind == RECORD_MEMORY_NONE)
    record_capture_note_one(look->capture,
                            (record_note_t){RECORD_NOTE_NOWHERE, 1, argument->offset, word});
  (void)follow(
      look->capture, argument->offset, word, kind, &found,
      (record_fact_t){.depth = RECORD_DEPTH_DIRECT,
                      .constant = argument->address_space == RAWHAL_ADDRESS_SPACE_CONSTANT});
}

static void take_argument(const kernargs_look_t *look, const rawhal_kernarg_argument_t *argument)
{
  uint64_t word;
  const record_argument_t what =
      record_argument_of(argument->value_kind, argument->size, argument->hidden);
  if (argument->offset > look->size || argument->size > look->size - argument->offset)
    return;
  if (what != RECORD_ARGUMENT_VALUE)
    memset(look->bytes + argument->offset,
           what == RECORD_ARGUMENT_POINTER ? RECORD_BYTE_POINTER : RECORD_BYTE_HIDDEN,
           argument->size);
  if (what == RECORD_ARGUMENT_POINTER)
    take_pointer(look, argument);
  if (what != RECORD_ARGUMENT_SERVICE && what != RECORD_ARGUMENT_IMAGE)
    return;
  memcpy(&word, look->image + argument->offset, sizeof(word));
  if (word && what == RECORD_ARGUMENT_IMAGE)
    record_capture_note_one(look->capture,
                            (record_note_t){RECORD_NOTE_IMAGE, 1, argument->offset, word});
  else if (word)
    record_capture_note_one(
        look->capture,
        (record_note_t){RECORD_NOTE_SERVICE, argument->value_kind, argument->offset, word});
}

static bool take_word(void *context, size_t offset, uint64_t word)
{
  record_found_t found;
  const kernargs_look_t *look = context;
  const record_memory_t kind =
      find_memory(look->capture, word, offset % sizeof(uint32_t) == 0, &found);
  if (kind == RECORD_MEMORY_NONE)
    return false;
  if (kind != RECORD_MEMORY_RUNTIME && kind != RECORD_MEMORY_CODE)
    record_capture_note(look->capture, RECORD_NOTE_VALUES, offset, word);
  (void)follow(look->capture, offset, word, kind, &found,
               (record_fact_t){.depth = RECORD_DEPTH_DIRECT});
  return true;
}

void record_capture_kernargs(record_capture_t *capture, rawhal_bytes_t kernargs)
{
  const rawhal_kernarg_argument_t *argument;
  const rawhal_kernarg_layout_t *layout = capture->layout;
  kernargs_look_t look = {capture, kernargs.data, allocate_zeroed(NULL, 1, kernargs.size + 1),
                          kernargs.size};
  const bool known =
      layout && rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_ARGUMENTS;
  if (!known)
    record_capture_note(capture, RECORD_NOTE_LAYOUT, 0, 0);
  for (size_t i = 0; known && look.bytes && (argument = rawhal_kernarg_layout_argument(layout, i));
       ++i)
    take_argument(&look, argument);
  if (look.bytes)
    record_find_pointers(look.image, look.bytes, look.size, take_word, &look);
  else
    record_capture_note(capture, RECORD_NOTE_KERNARGS, 0, 0);
  allocate_free(NULL, look.bytes);
}

/* ---- Variables ---- */

void record_capture_variables(record_capture_t *capture, const record_place_t *place,
                              const variables_t *variables, bool whole)
{
  capture->place = *place;
  if (!whole || variables->more)
    record_capture_note(capture, RECORD_NOTE_VARIABLES, 0, 0);
  for (size_t i = 0; i < variables->count; ++i)
    (void)add(capture,
              &(record_found_t){.base = variables->ranges[i].address + place->delta,
                                .size = variables->ranges[i].size},
              (record_fact_t){.depth = RECORD_DEPTH_ROOT}, true);
}

/* ---- Reading ---- */

/* A word of a buffer that leads into memory. */
static bool see_word(void *context, uint64_t offset, uint64_t word)
{
  record_found_t found;
  record_capture_t *capture = context;
  const uint64_t at = capture->scan.address + offset;
  const record_depth_t depth = capture->facts[capture->scanned].depth;
  const record_memory_t kind = find_memory(capture, word, false, &found);
  if (kind == RECORD_MEMORY_NONE)
    return false;
  const bool memory = kind == RECORD_MEMORY_PROGRAM || kind == RECORD_MEMORY_VARIABLES;
  if (depth == RECORD_DEPTH_WORD && memory && !has(capture, found.base)) {
    record_capture_note(capture, RECORD_NOTE_DEEP, at, word);
    return false;
  }
  const bool followed =
      follow(capture, at, word, kind, &found,
             (record_fact_t){.depth = depth == RECORD_DEPTH_WORD ? depth : depth + 1});
  if (followed && depth != RECORD_DEPTH_ROOT)
    record_capture_note(capture, RECORD_NOTE_POINTERS, at, word);
  return followed;
}

static rawhal_status_t read_after(void *context, const record_range_t *range, uint64_t offset,
                                  void *to, size_t size, rawhal_error_t *error)
{
  record_capture_t *capture = context;
  (void)error;
  if (capture->world->read(capture->context, range->address + offset, to, size))
    return RAWHAL_OK;
  record_capture_note(capture, RECORD_NOTE_UNREADABLE, range->address, range->address + offset);
  memset(to, 0, size);
  return RAWHAL_OK;
}

static rawhal_status_t read_before(void *context, const record_range_t *range, uint64_t offset,
                                   void *to, size_t size, rawhal_error_t *error)
{
  record_capture_t *capture = context;
  if (!offset) {
    capture->scanned = (size_t)(range - capture->list.ranges);
    capture->scan = (record_scan_t){.address = range->address,
                                    .least = capture->least,
                                    .end = capture->end ? capture->end + 1 : 0,
                                    .is = see_word,
                                    .context = capture};
  }
  rawhal_status_t status = read_after(context, range, offset, to, size, error);
  record_scan_piece(&capture->scan, offset, to, size);
  return status;
}

/* ---- Before, and after ---- */

rawhal_status_t record_capture_before(record_capture_t *capture, record_writer_t *writer,
                                      record_report_fn *report, void *context,
                                      rawhal_error_t *error)
{
  const record_place_t *place = &capture->place;
  const record_ranges_t *list = &capture->list;
  rawhal_status_t status = RAWHAL_OK;
  if (place->size)
    status = record_writer_place(writer, capture->dispatch, place, error);
  if (status == RAWHAL_OK)
    status = record_writer_buffers(writer, capture->dispatch, RECORD_BEFORE, list, read_before,
                                   capture, error);
  if (status != RAWHAL_OK)
    return status;
  for (size_t i = 0; i < list->count; ++i)
    if (list->ranges[i].left_out)
      record_capture_note(capture, RECORD_NOTE_LARGE, list->ranges[i].address,
                          list->ranges[i].size);
  return record_capture_write_notes(capture, writer, report, context, error);
}

static bool is_there(const record_capture_t *capture, size_t i)
{
  const record_fact_t *fact = &capture->facts[i];
  return (!fact->number && fact->depth == RECORD_DEPTH_ROOT) ||
         capture->world->is_there(capture->context, capture->list.ranges[i].address, fact->number);
}

/* Leaves of the ranges those that a dispatch may have changed, and that are still there. */
static void keep_results(record_capture_t *capture)
{
  size_t kept = 0;
  record_ranges_t *list = &capture->list;
  for (size_t i = 0; i < list->count; ++i) {
    if (capture->facts[i].constant)
      continue;
    if (!is_there(capture, i))
      record_capture_note(capture, RECORD_NOTE_FREED, list->ranges[i].address,
                          list->ranges[i].address);
    else
      list->ranges[kept++] = list->ranges[i];
  }
  list->count = kept;
}

rawhal_status_t record_capture_after(record_capture_t *capture, record_writer_t *writer,
                                     bool concurrent, record_report_fn *report, void *context,
                                     rawhal_error_t *error)
{
  keep_results(capture);
  if (concurrent)
    record_capture_note(capture, RECORD_NOTE_CONCURRENT, 0, 0);
  rawhal_status_t status = record_writer_buffers(writer, capture->dispatch, RECORD_AFTER,
                                                 &capture->list, read_after, capture, error);
  return status == RAWHAL_OK ? record_capture_write_notes(capture, writer, report, context, error)
                             : status;
}

void record_capture_free(record_capture_t *capture)
{
  allocate_free(NULL, capture->list.ranges);
  allocate_free(NULL, capture->facts);
}
