/* Replays: pointers among the arguments, which lead to where the buffers are now. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/pointers.h"
#include "tools/shared/replay/replay.h"
#include "tools/shared/tool.h"

typedef struct relocation {
  replay_t *replay;
  unsigned char *bytes;                      /* record_byte_t of each */
  size_t index;                              /* of the argument at hand, */
  const rawhal_kernarg_argument_t *argument; /* or NULL: not known */
  record_note_t values;                      /* words of values that were taken for pointers */
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
  const record_notes_t notes = replay->source->notes;
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

/* Of a core file: one that is next to memory stays as far from it; any other leads nowhere, and
 * must not come to lead to what is here now. */
static bool relocate_stray(const relocation_t *relocation, uint64_t word)
{
  replay_t *replay = relocation->replay;
  const rawhal_kernarg_argument_t *argument = relocation->argument;
  const replay_buffer_t *near = replay_near(replay, word);
  if (near) {
    const uint64_t now = near->now + (word - near->before->address);
    memcpy(replay->image + argument->offset, &now, sizeof(now));
    replay_note(replay,
                "argument %zu is 0x%" PRIx64 ", outside of the %" PRIu64 " bytes at 0x%" PRIx64
                ": it is as far from where these are now",
                relocation->index, word, near->before->content.size, near->before->address);
    return true;
  }
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (word - replay->buffers[i].now < replay->buffers[i].before->content.size)
      return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                         "argument %zu is 0x%" PRIx64
                         ", which led nowhere and happens to be a buffer's address now: try again",
                         relocation->index, word);
  replay_note(replay,
              "argument %zu is 0x%" PRIx64 ", where the file knows of no memory: it is left so",
              relocation->index, word);
  return true;
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
  if (replay->source->expected)
    return relocate_stray(relocation, word);
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
  if (!relocate_word(relocation, offset, word))
    return false;
  if (!relocation->values.count++) {
    relocation->values.at = offset;
    relocation->values.value = word;
  }
  return true;
}

/* A recorder has noted it. */
static void note_values(const relocation_t *relocation)
{
  char text[REPLAY_NOTE];
  if (!relocation->replay->source->expected || !relocation->values.count)
    return;
  record_note_text(&relocation->values, text, sizeof(text));
  replay_note(relocation->replay, "%s", text);
}

bool replay_relocate(replay_t *replay)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(replay->kernel)->layout;
  const bool known = rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_ARGUMENTS;
  relocation_t relocation = {.replay = replay,
                             .bytes = calloc(1, replay->image_size + 1),
                             .values = {.kind = RECORD_NOTE_VALUES}};
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
  note_values(&relocation);
  free(relocation.bytes);
  return done;
}
