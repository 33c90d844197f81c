#include "front/devices.h"
#include "front/recording.h"

#include "front/host_view.h"
#include "record/pointers.h"

#include "base/error.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

/* ---- What is at an address ---- */

typedef enum memory_kind {
  MEMORY_NONE = 0,
  MEMORY_PROGRAM,
  MEMORY_SHARED,    /* which may be mapped elsewhere, too */
  MEMORY_RUNTIME,   /* its own */
  MEMORY_VARIABLES, /* of another code object */
  MEMORY_CODE,      /* the rest of one */
  MEMORY_OWN,       /* of the kernel's code object, wherever in it */
} memory_kind_t;

static bool is_own(const recorder_capture_t *recording, uint64_t address)
{
  return address - recording->place.base < recording->place.size;
}

static memory_kind_t find_object(uint64_t address, range_t *range)
{
  object_loaded_t loaded;
  if (!objects_loaded(address, &loaded))
    return MEMORY_NONE;
  for (size_t i = 0; i < loaded.variables.count; ++i) {
    const variables_range_t *variables = &loaded.variables.ranges[i];
    *range = (range_t){.base = variables->address + loaded.delta, .size = variables->size};
    if (address - range->base < range->size)
      return MEMORY_VARIABLES;
  }
  return MEMORY_CODE;
}

/* What came by other ways than those that are hooked. */
static memory_kind_t ask_runtime(uint64_t address, range_t *range)
{
  enum { RESERVED = 5, MAPPED = 6, FIRST = 1 << 16 }; /* of later runtimes: by handles */
  hsa_amd_pointer_info_t info;
  if (address < FIRST || address >> 57 ||
      !devices_pointer((const void *)(uintptr_t)address, &info) ||
      info.type == HSA_EXT_POINTER_TYPE_UNKNOWN || (int)info.type == RESERVED)
    return MEMORY_NONE;
  *range = (range_t){.base = (uint64_t)(uintptr_t)info.agentBaseAddress, .size = info.sizeInBytes};
  if (address - range->base >= range->size)
    return MEMORY_NONE;
  if (info.type == HSA_EXT_POINTER_TYPE_IPC || info.type == HSA_EXT_POINTER_TYPE_GRAPHICS ||
      (int)info.type == MAPPED)
    return MEMORY_SHARED;
  return info.type == HSA_EXT_POINTER_TYPE_HSA ? MEMORY_RUNTIME : MEMORY_PROGRAM;
}

/* A pointer may lead just past the end of what it is about. */
static memory_kind_t find_memory(const recorder_capture_t *recording, uint64_t address,
                                 bool runtime, range_t *range)
{
  *range = (range_t){.base = 0};
  if (is_own(recording, address))
    return MEMORY_OWN;
  if (ranges_live(address, range))
    return MEMORY_PROGRAM;
  memory_kind_t kind = find_object(address, range);
  if (kind == MEMORY_NONE && runtime)
    kind = ask_runtime(address, range);
  if (kind == MEMORY_NONE && ranges_ending(address, range))
    kind = MEMORY_PROGRAM;
  return kind;
}

/* ---- The list ---- */

static bool make_room(recorder_capture_t *recording)
{
  record_ranges_t *list = &recording->list;
  const size_t wanted = list->count + 1;
  size_t room = recording->room;
  return array_reserve(NULL, &list->ranges, &room, wanted, sizeof(*list->ranges)) &&
         array_reserve(NULL, &recording->facts, &recording->room, wanted,
                       sizeof(*recording->facts));
}

static bool add(recorder_capture_t *recording, const range_t *range, recording_fact_t fact,
                bool segment)
{
  record_ranges_t *list = &recording->list;
  for (size_t i = 0; i < list->count; ++i)
    if (list->ranges[i].address == range->base) {
      recording->facts[i].constant &= fact.constant;
      return true;
    }
  if (list->count == RECORDING_MOST_RANGES || !make_room(recording)) {
    recording_note(recording, RECORD_NOTE_MANY, range->base, range->base);
    return false;
  }
  recording->facts[list->count] = fact;
  list->ranges[list->count++] = (record_range_t){range->base, range->size, segment, false};
  return true;
}

static bool has(const recorder_capture_t *recording, uint64_t base)
{
  for (size_t i = 0; i < recording->list.count; ++i)
    if (recording->list.ranges[i].address == base)
      return true;
  return false;
}

/* What a pointer leads to, of which it is said where it stands. False: it leads to nothing that is
 * in the list, and that has been noted, but for what leads nowhere. */
static bool follow(recorder_capture_t *recording, uint64_t at, uint64_t word, memory_kind_t kind,
                   const range_t *range, recording_fact_t fact)
{
  switch (kind) {
  case MEMORY_OWN:
    return true;
  case MEMORY_SHARED:
    recording_note(recording, RECORD_NOTE_SHARED, at, range->base);
    return add(recording, range, fact, false);
  case MEMORY_PROGRAM:
  case MEMORY_VARIABLES:
    fact.number = range->number;
    return add(recording, range, fact, false);
  case MEMORY_RUNTIME:
    recording_note_one(recording, (record_note_t){RECORD_NOTE_RUNTIME, 1, at, word});
    return false;
  case MEMORY_CODE:
    recording_note(recording, RECORD_NOTE_OBJECTS, at, word);
    return false;
  default:
    return false;
  }
}

/* ---- Kernargs ---- */

typedef struct kernargs_look {
  recorder_capture_t *recording;
  const unsigned char *image;
  unsigned char *bytes; /* record_byte_t of each */
  size_t size;
} kernargs_look_t;

static void take_pointer(const kernargs_look_t *look, const rawhal_kernarg_argument_t *argument)
{
  range_t range;
  uint64_t word;
  memcpy(&word, look->image + argument->offset, sizeof(word));
  if (!word)
    return;
  const memory_kind_t kind = find_memory(look->recording, word, true, &range);
  if (kind == MEMORY_NONE)
    recording_note_one(look->recording,
                       (record_note_t){RECORD_NOTE_NOWHERE, 1, argument->offset, word});
  (void)follow(
      look->recording, argument->offset, word, kind, &range,
      (recording_fact_t){.depth = DEPTH_DIRECT,
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
    recording_note_one(look->recording,
                       (record_note_t){RECORD_NOTE_IMAGE, 1, argument->offset, word});
  else if (word)
    recording_note_one(look->recording, (record_note_t){RECORD_NOTE_SERVICE, argument->value_kind,
                                                        argument->offset, word});
}

static bool take_word(void *context, size_t offset, uint64_t word)
{
  range_t range;
  const kernargs_look_t *look = context;
  const memory_kind_t kind =
      find_memory(look->recording, word, offset % sizeof(uint32_t) == 0, &range);
  if (kind == MEMORY_NONE)
    return false;
  if (kind != MEMORY_RUNTIME && kind != MEMORY_CODE)
    recording_note(look->recording, RECORD_NOTE_VALUES, offset, word);
  (void)follow(look->recording, offset, word, kind, &range,
               (recording_fact_t){.depth = DEPTH_DIRECT});
  return true;
}

static void find_from_kernargs(recorder_capture_t *recording, rawhal_bytes_t kernargs)
{
  const rawhal_kernarg_layout_t *layout = recording->kernel->layout;
  const rawhal_kernarg_argument_t *argument;
  kernargs_look_t look = {recording, kernargs.data, calloc(1, kernargs.size + 1), kernargs.size};
  const bool known =
      layout && rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_ARGUMENTS;
  if (!known)
    recording_note(recording, RECORD_NOTE_LAYOUT, 0, 0);
  for (size_t i = 0; known && look.bytes && (argument = rawhal_kernarg_layout_argument(layout, i));
       ++i)
    take_argument(&look, argument);
  if (look.bytes)
    record_find_pointers(look.image, look.bytes, look.size, take_word, &look);
  free(look.bytes);
}

/* ---- Variables ---- */

static void find_variables(recorder_capture_t *recording, uint64_t kernel_object)
{
  object_loaded_t loaded;
  const bool known = objects_loaded(kernel_object, &loaded);
  if (known)
    recording->place = (record_place_t){loaded.base, loaded.size, loaded.delta};
  if (!known || loaded.unreadable || loaded.variables.more)
    recording_note(recording, RECORD_NOTE_VARIABLES, 0, 0);
  for (size_t i = 0; known && i < loaded.variables.count; ++i)
    (void)add(recording,
              &(range_t){.base = loaded.variables.ranges[i].address + loaded.delta,
                         .size = loaded.variables.ranges[i].size},
              (recording_fact_t){.depth = DEPTH_ROOT}, true);
}

void recording_find(recorder_capture_t *recording, const hsa_kernel_dispatch_packet_t *packet,
                    const kernargs_t *kernargs)
{
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  uint64_t least, end;
  ranges_bounds(&recording->least, &recording->end);
  objects_bounds(&least, &end);
  if (end && (!recording->end || least < recording->least))
    recording->least = least;
  if (end > recording->end)
    recording->end = end;
  ++recording->end; /* a pointer may lead just past it */
  find_variables(recording, packet->kernel_object);
  if (kernargs->unread)
    recording_note(recording, RECORD_NOTE_KERNARGS, 0, address);
  else
    find_from_kernargs(recording, kernargs->bytes);
  recording_note_packet(recording, packet);
}

/* ---- Reading ---- */

/* A device's memory by the runtime: the host's way to it is slow, if there is one. */
static bool read_memory(uint64_t address, void *to, size_t size)
{
  uint64_t host;
  return host_view(address, size, &host) == HOST_VIEW_DEVICE
             ? front.hsa.memory_copy(to, (const void *)(uintptr_t)address, size) ==
                   HSA_STATUS_SUCCESS
             : host_read(address, to, size);
}

void recording_take_kernargs(kernargs_t *kernargs, const front_kernel_t *kernel,
                             const hsa_kernel_dispatch_packet_t *packet)
{
  kernargs_take(kernargs, kernel, packet);
  if (!kernargs->unread)
    return;
  const size_t size = rawhal_kernarg_layout_info(kernel->layout)->segment_size;
  void *to = size > sizeof(kernargs->room) ? kernargs->heap : kernargs->room;
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  uint64_t host;
  if (!to || host_view(address, size, &host) != HOST_VIEW_DEVICE || !read_memory(address, to, size))
    return;
  kernargs->bytes = (rawhal_bytes_t){to, size};
  kernargs->unread = false;
}

/* A word of a buffer that leads into memory. */
static bool see_word(void *context, uint64_t offset, uint64_t word)
{
  range_t range;
  recorder_capture_t *recording = context;
  const uint64_t at = recording->scan.address + offset;
  const recording_depth_t depth = recording->facts[recording->scanned].depth;
  const memory_kind_t kind = find_memory(recording, word, false, &range);
  if (kind == MEMORY_NONE)
    return false;
  const bool memory = kind == MEMORY_PROGRAM || kind == MEMORY_VARIABLES;
  if (depth == DEPTH_WORD && memory && !has(recording, range.base)) {
    recording_note(recording, RECORD_NOTE_DEEP, at, word);
    return false;
  }
  const bool followed =
      follow(recording, at, word, kind, &range,
             (recording_fact_t){.depth = depth == DEPTH_WORD ? depth : depth + 1});
  if (followed && depth != DEPTH_ROOT)
    recording_note(recording, RECORD_NOTE_POINTERS, at, word);
  return followed;
}

rawhal_status_t recording_read_after(void *context, const record_range_t *range, uint64_t offset,
                                     void *to, size_t size, rawhal_error_t *error)
{
  (void)error;
  if (read_memory(range->address + offset, to, size))
    return RAWHAL_OK;
  recording_note(context, RECORD_NOTE_UNREADABLE, range->address, range->address + offset);
  memset(to, 0, size);
  return RAWHAL_OK;
}

rawhal_status_t recording_read_before(void *context, const record_range_t *range, uint64_t offset,
                                      void *to, size_t size, rawhal_error_t *error)
{
  recorder_capture_t *recording = context;
  if (!offset) {
    recording->scanned = (size_t)(range - recording->list.ranges);
    recording->scan = (record_scan_t){.address = range->address,
                                      .least = recording->least,
                                      .end = recording->end,
                                      .is = see_word,
                                      .context = recording};
  }
  rawhal_status_t status = recording_read_after(context, range, offset, to, size, error);
  record_scan_piece(&recording->scan, offset, to, size);
  return status;
}

/* ---- Results ---- */

static bool is_there(const record_range_t *range, const recording_fact_t *fact)
{
  range_t now;
  object_loaded_t loaded;
  if (fact->number)
    return ranges_live(range->address, &now) && now.number == fact->number;
  return fact->depth == DEPTH_ROOT || objects_loaded(range->address, &loaded) ||
         ask_runtime(range->address, &now) != MEMORY_NONE;
}

void recording_keep_results(recorder_capture_t *recording)
{
  size_t kept = 0;
  record_ranges_t *list = &recording->list;
  for (size_t i = 0; i < list->count; ++i) {
    if (recording->facts[i].constant)
      continue;
    if (!is_there(&list->ranges[i], &recording->facts[i]))
      recording_note(recording, RECORD_NOTE_FREED, list->ranges[i].address,
                     list->ranges[i].address);
    else
      list->ranges[kept++] = list->ranges[i];
  }
  list->count = kept;
}
