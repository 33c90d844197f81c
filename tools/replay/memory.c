/* rawhal replay: buffers as they were before the dispatch, and pointers that lead into them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/pointers.h"
#include "record/scan.h"
#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

/* ---- Memory ---- */

enum { ALIGNED = 4096 }; /* what an allocation is; more than that no kernel could rely on */

/* A part of the code object: the memory that it has where it is loaded. */
static bool take_segment(replay_t *replay, replay_buffer_t *buffer)
{
  const record_buffer_t *before = buffer->before;
  const record_place_t *place = &replay->place;
  const uint64_t skip = before->address - place->base;
  if (skip >= place->size || before->content.size > place->size - skip)
    return tool_refuse(&replay->error, RAWHAL_MALFORMED,
                       "the variables at 0x%" PRIx64 " (%" PRIu64 " bytes) are not in the code "
                       "object, which was at 0x%" PRIx64,
                       before->address, before->content.size, place->base);
  const uint64_t now = before->address - place->delta + replay->delta;
  buffer->owned = true;
  return !rawhal_buffer_import(replay->device, (void *)(uintptr_t)now, (size_t)before->content.size,
                               &buffer->memory, &replay->error);
}

/* Buffers that lay one after the other do so again: a pointer to the end of one is one to the
 * beginning of the next, and a kernel may go from one to the other. How many. */
static size_t count_touching(const replay_t *replay, size_t first)
{
  size_t next = first + 1;
  while (next < replay->buffer_count) {
    const record_buffer_t *left = replay->buffers[next - 1].before,
                          *right = replay->buffers[next].before;
    if (left->address + left->content.size != right->address || right->segment)
      break;
    ++next;
  }
  return next - first;
}

static bool take_memory(replay_t *replay, size_t first, size_t count)
{
  replay_buffer_t *buffers = &replay->buffers[first];
  const record_buffer_t *last = buffers[count - 1].before;
  const uint64_t address = buffers[0].before->address, skip = address % ALIGNED;
  const uint64_t size = skip + (last->address + last->content.size - address);
  buffers[0].owned = true;
  if (rawhal_buffer_allocate(replay->device, RAWHAL_MEMORY_DEVICE, (size_t)size, &buffers[0].memory,
                             &replay->error))
    return false;
  for (size_t i = 0; i < count; ++i) {
    buffers[i].memory = buffers[0].memory;
    buffers[i].skip = skip + (buffers[i].before->address - address);
  }
  return true;
}

static bool take_all(replay_t *replay)
{
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (replay->buffers[i].before->left_out)
      return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                         "the contents of the buffer at 0x%" PRIx64 " (%" PRIu64
                         " bytes) were left out of the recording: it was too large",
                         replay->buffers[i].before->address,
                         replay->buffers[i].before->content.size);
  for (size_t i = 0, count; i < replay->buffer_count; i += count) {
    const bool segment = replay->buffers[i].before->segment;
    count = segment ? 1 : count_touching(replay, i);
    if (segment ? !take_segment(replay, &replay->buffers[i]) : !take_memory(replay, i, count))
      return false;
  }
  return true;
}

/* ---- Contents ---- */

/* One that is being filled, and the words in it that lead into what was recorded. */
typedef struct filling {
  replay_t *replay;
  replay_buffer_t *buffer;
  record_scan_t scan;
  uint64_t words, first;
  uint64_t offset; /* of the piece at hand */
  size_t size;
  unsigned char *piece;
  bool failed;
} filling_t;

/* Words begin in the piece at hand, or in the one before, which is on the device. */
static bool move_word(void *context, uint64_t offset, uint64_t word)
{
  filling_t *filling = context;
  uint64_t now;
  if (!replay_moved(filling->replay, word, &now))
    return false;
  if (!filling->words++)
    filling->first = offset;
  for (size_t i = 0; i < sizeof(now); ++i) {
    const unsigned char *byte = (const unsigned char *)&now + i;
    if (offset + i >= filling->offset)
      filling->piece[offset + i - filling->offset] = *byte;
    else if (rawhal_buffer_write(filling->buffer->memory, filling->buffer->skip + offset + i, byte,
                                 1, &filling->replay->error))
      filling->failed = true;
  }
  return true;
}

static rawhal_status_t fill_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                  rawhal_error_t *error)
{
  static unsigned char piece[RECORD_PIECE];
  filling_t *filling = context;
  memcpy(piece, bytes, size);
  filling->piece = piece;
  filling->offset = offset;
  record_scan_piece(&filling->scan, offset, bytes, size);
  if (filling->failed)
    return filling->replay->error.status;
  return rawhal_buffer_write(filling->buffer->memory, filling->buffer->skip + offset, piece, size,
                             error);
}

static bool fill_buffer(replay_t *replay, replay_buffer_t *buffer)
{
  const record_buffer_t *before = buffer->before;
  filling_t filling = {
      .replay = replay, .buffer = buffer, .scan = {.address = before->address, .is = move_word}};
  filling.scan.context = &filling;
  replay_bounds(replay, &filling.scan.least, &filling.scan.end);
  if (record_reader_content(replay->reader, &before->content, fill_piece, &filling, &replay->error))
    return false;
  if (filling.words && !before->segment)
    replay_note(replay,
                "buffer %zu at 0x%" PRIx64 " has %" PRIu64
                " words that point into recorded memory, the first at offset %" PRIu64
                ": they are treated as pointers",
                buffer->index, before->address, filling.words, filling.first);
  return true;
}

bool replay_fill(replay_t *replay)
{
  const uint64_t number = replay->request->number;
  const record_buffers_t before = record_reader_buffers(replay->reader, number, RECORD_BEFORE);
  if (!before.all)
    return tool_refuse(
        &replay->error, RAWHAL_NOT_FOUND,
        "the recording does not have the contents of all buffers before dispatch %" PRIu64
        ": they were not requested, or the recording ends there",
        number);
  if (!replay_sort(replay, &before) || !take_all(replay))
    return false;
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (!fill_buffer(replay, &replay->buffers[i]))
      return false;
  return true;
}

/* ---- Arguments ---- */

typedef struct relocation {
  replay_t *replay;
  unsigned char *bytes;                      /* record_byte_t of each */
  size_t index;                              /* of the argument at hand, */
  const rawhal_kernarg_argument_t *argument; /* or NULL: not known */
} relocation_t;

static void name_buffer(replay_buffer_t *buffer, size_t index,
                        const rawhal_kernarg_argument_t *argument)
{
  if (!buffer || !argument || buffer->named)
    return;
  buffer->named = true;
  buffer->argument = index;
  snprintf(buffer->name, sizeof(buffer->name), "%.*s",
           argument->name.size < sizeof(buffer->name) ? (int)argument->name.size
                                                      : (int)sizeof(buffer->name) - 1,
           argument->name.size ? argument->name.data : "");
}

/* The word at an offset, if it leads anywhere. */
static bool relocate_word(const relocation_t *relocation, size_t at, uint64_t word)
{
  uint64_t now;
  replay_t *replay = relocation->replay;
  if (!replay_moved(replay, word, &now))
    return false;
  memcpy(replay->image + at, &now, sizeof(now));
  name_buffer(replay_find(replay, word), relocation->index, relocation->argument);
  return true;
}

/* Did its recorder note that of the word at an offset? */
static bool was_noted(const replay_t *replay, record_note_kind_t kind, size_t at)
{
  const record_notes_t notes = record_reader_notes(replay->reader, replay->request->number);
  for (size_t i = 0; i < notes.count; ++i)
    if (notes.notes[i].kind == kind && notes.notes[i].at == at)
      return true;
  return false;
}

/* It led to nothing that could be recorded, and is left as it is. */
static bool led_nowhere(const replay_t *replay, size_t at)
{
  return was_noted(replay, RECORD_NOTE_NOWHERE, at) || was_noted(replay, RECORD_NOTE_RUNTIME, at);
}

static bool relocate_pointer(const relocation_t *relocation)
{
  replay_t *replay = relocation->replay;
  const rawhal_kernarg_argument_t *argument = relocation->argument;
  uint64_t word;
  memcpy(&word, replay->image + argument->offset, sizeof(word));
  if (!word || relocate_word(relocation, argument->offset, word) ||
      led_nowhere(replay, argument->offset))
    return true;
  const int size = argument->name.size < 60 ? (int)argument->name.size : 60;
  return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                     "argument %zu '%.*s' is 0x%" PRIx64 ", which points into no recorded buffer",
                     relocation->index, size, argument->name.size ? argument->name.data : "", word);
}

/* Not every recorder notes these. */
static void note_service(const relocation_t *relocation)
{
  replay_t *replay = relocation->replay;
  char text[REPLAY_NOTE];
  record_note_t note = {RECORD_NOTE_SERVICE, relocation->argument->value_kind,
                        relocation->argument->offset, 0};
  memcpy(&note.value, replay->image + note.at, sizeof(note.value));
  if (!note.value || was_noted(replay, RECORD_NOTE_SERVICE, note.at))
    return;
  record_note_text(&note, text, sizeof(text));
  replay_note(replay, "%s", text);
}

static bool relocate_argument(const relocation_t *relocation)
{
  const rawhal_kernarg_argument_t *argument = relocation->argument;
  const record_argument_t what =
      record_argument_of(argument->value_kind, argument->size, argument->hidden);
  if (argument->offset > relocation->replay->image_size ||
      argument->size > relocation->replay->image_size - argument->offset ||
      what == RECORD_ARGUMENT_VALUE)
    return true;
  const bool pointer = what == RECORD_ARGUMENT_POINTER || what == RECORD_ARGUMENT_IMAGE;
  memset(relocation->bytes + argument->offset, pointer ? RECORD_BYTE_POINTER : RECORD_BYTE_HIDDEN,
         argument->size);
  if (what == RECORD_ARGUMENT_SERVICE)
    note_service(relocation);
  return !pointer || relocate_pointer(relocation);
}

/* Any other word. Its argument is that in which it begins. */
static bool relocate_value(void *context, size_t offset, uint64_t word)
{
  relocation_t *relocation = context;
  const rawhal_kernarg_layout_t *layout =
      rawhal_device_kernel_info(relocation->replay->kernel)->layout;
  const rawhal_kernarg_argument_t *argument;
  relocation->argument = NULL;
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    if (offset - argument->offset < argument->size) {
      relocation->argument = argument;
      relocation->index = i;
    }
  return relocate_word(relocation, offset, word);
}

bool replay_relocate(replay_t *replay)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(replay->kernel)->layout;
  const bool known = rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_ARGUMENTS;
  relocation_t relocation = {.replay = replay, .bytes = calloc(1, replay->image_size + 1)};
  bool done = relocation.bytes != NULL;
  if (!done)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  for (size_t i = 0;
       known && done && (relocation.argument = rawhal_kernarg_layout_argument(layout, i)); ++i) {
    relocation.index = i;
    done = relocate_argument(&relocation);
  }
  if (done)
    record_find_pointers(replay->image, relocation.bytes, replay->image_size, relocate_value,
                         &relocation);
  free(relocation.bytes);
  return done;
}
