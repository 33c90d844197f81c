/* rawhal replay: buffers as they were before the dispatch, and pointers that lead into them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay.h"
#include "tools/tool.h"

/* ---- Buffers ---- */

static int compare_addresses(const void *left, const void *right)
{
  const replay_buffer_t *a = left, *b = right;
  return a->before->address < b->before->address ? -1 : a->before->address > b->before->address;
}

replay_buffer_t *replay_find(const replay_t *replay, uint64_t address)
{
  size_t low = 0, high = replay->buffer_count;
  while (low < high) { /* the first that begins after the address */
    const size_t middle = low + (high - low) / 2;
    if (replay->buffers[middle].before->address <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (!low)
    return NULL;
  replay_buffer_t *found = &replay->buffers[low - 1];
  return address - found->before->address <= found->before->content.size ? found : NULL;
}

static uint64_t moved(const replay_buffer_t *buffer, uint64_t address)
{
  return rawhal_buffer_address(buffer->memory) + buffer->skip + address - buffer->before->address;
}

static bool sort_buffers(replay_t *replay, const record_buffers_t *before)
{
  replay->buffers = calloc(before->count + 1, sizeof(*replay->buffers));
  if (!replay->buffers)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  for (size_t i = 0; i < before->count; ++i)
    replay->buffers[replay->buffer_count++] =
        (replay_buffer_t){.before = &before->buffers[i], .index = i};
  qsort(replay->buffers, replay->buffer_count, sizeof(*replay->buffers), compare_addresses);
  for (size_t i = 1; i < replay->buffer_count; ++i) {
    const record_buffer_t *left = replay->buffers[i - 1].before, *right = replay->buffers[i].before;
    if (right->address - left->address < left->content.size)
      return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                         "the buffers at 0x%" PRIx64 " and 0x%" PRIx64 " overlap", left->address,
                         right->address);
  }
  return true;
}

/* One that is being filled, and the words in it that look like pointers to recorded buffers. */
typedef struct filling {
  replay_t *replay;
  replay_buffer_t *buffer;
  uint64_t words, first;
} filling_t;

/* Offsets are multiples of 8: pieces are of RECORD_PIECE, but for the last or those of others. */
static void look_for_pointers(filling_t *filling, uint64_t offset, const unsigned char *bytes,
                              size_t size)
{
  const replay_t *replay = filling->replay;
  const record_buffer_t *last = replay->buffers[replay->buffer_count - 1].before;
  const uint64_t least = replay->buffers[0].before->address;
  const uint64_t span = last->address + last->content.size - least;
  for (size_t at = (size_t)(-offset & 7); at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, sizeof(word));
    if (!word || word - least > span || !replay_find(replay, word))
      continue;
    if (!filling->words++)
      filling->first = offset + at;
  }
}

static rawhal_status_t fill_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                  rawhal_error_t *error)
{
  filling_t *filling = context;
  look_for_pointers(filling, offset, bytes, size);
  return rawhal_buffer_write(filling->buffer->memory, filling->buffer->skip + offset, bytes, size,
                             error);
}

static bool fill_buffer(replay_t *replay, replay_buffer_t *buffer)
{
  enum { ALIGNED = 4096 }; /* what an allocation is; more than that no kernel could rely on */
  const record_buffer_t *before = buffer->before;
  filling_t filling = {.replay = replay, .buffer = buffer};
  if (before->left_out)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "the contents of the buffer at 0x%" PRIx64 " (%" PRIu64 " bytes) were left "
                       "out of the recording: it was too large",
                       before->address, before->content.size);
  buffer->skip = before->address % ALIGNED;
  if (rawhal_buffer_allocate(replay->device, RAWHAL_MEMORY_DEVICE,
                             (size_t)(buffer->skip + before->content.size), &buffer->memory,
                             &replay->error) ||
      record_reader_content(replay->reader, &before->content, fill_piece, &filling, &replay->error))
    return false;
  if (filling.words)
    replay_note(replay,
                "buffer %zu at 0x%" PRIx64 " has %" PRIu64 " words that lead into recorded "
                "buffers, the first at offset %" PRIu64 ": they lead where they led",
                buffer->index, before->address, filling.words, filling.first);
  return true;
}

bool replay_fill(replay_t *replay)
{
  const record_buffers_t before =
      record_reader_buffers(replay->reader, replay->request->number, RECORD_BEFORE);
  if (!before.all)
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "the recording does not have all buffers as they were before dispatch "
                       "%" PRIu64 ": it was not asked for, or it ends there",
                       replay->request->number);
  if (!sort_buffers(replay, &before))
    return false;
  for (size_t i = 0; i < replay->buffer_count; ++i)
    if (!fill_buffer(replay, &replay->buffers[i]))
      return false;
  return true;
}

/* ---- Pointers ---- */

/* What an argument's words may be. */
typedef enum words {
  WORDS_ANY = 0, /* those that lead into buffers are pointers */
  WORDS_NONE,
  WORDS_POINTER, /* to memory; nothing else, but 0 */
  WORDS_PROCESS, /* to what the recorded process had */
} words_t;

static words_t words_of(const rawhal_kernarg_argument_t *argument)
{
  static const uint8_t process[] = {
      RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER,      RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER,
      RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, RAWHAL_VALUE_HIDDEN_HEAP_V1,
      RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE,      RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION,
      RAWHAL_VALUE_HIDDEN_QUEUE_PTR,          RAWHAL_VALUE_QUEUE};
  static const uint8_t pointers[] = {RAWHAL_VALUE_GLOBAL_BUFFER, RAWHAL_VALUE_SAMPLER,
                                     RAWHAL_VALUE_IMAGE, RAWHAL_VALUE_PIPE};
  if (argument->size == 8 && memchr(process, argument->value_kind, sizeof(process)))
    return WORDS_PROCESS;
  if (argument->size == 8 && memchr(pointers, argument->value_kind, sizeof(pointers)))
    return WORDS_POINTER;
  return argument->hidden ? WORDS_NONE : WORDS_ANY;
}

/* The word at `at`; the buffer that it leads into, if any. */
static const replay_buffer_t *relocate_word(replay_t *replay, size_t at, size_t index,
                                            const rawhal_kernarg_argument_t *argument,
                                            uint64_t *word)
{
  memcpy(word, replay->image + at, sizeof(*word));
  replay_buffer_t *buffer = *word ? replay_find(replay, *word) : NULL;
  if (!buffer)
    return NULL;
  const uint64_t now = moved(buffer, *word);
  memcpy(replay->image + at, &now, sizeof(now));
  if (argument && !buffer->named) {
    buffer->named = true;
    buffer->argument = index;
    snprintf(buffer->name, sizeof(buffer->name), "%.*s",
             argument->name.size < sizeof(buffer->name) ? (int)argument->name.size
                                                        : (int)sizeof(buffer->name) - 1,
             argument->name.size ? argument->name.data : "");
  }
  return buffer;
}

static bool relocate_argument(replay_t *replay, size_t index,
                              const rawhal_kernarg_argument_t *argument)
{
  uint64_t word;
  const words_t words = words_of(argument);
  const size_t end = argument->offset + (size_t)argument->size;
  if (words == WORDS_NONE || end > replay->image_size)
    return true;
  if (words == WORDS_ANY) {
    for (size_t at = (argument->offset + (size_t)7) & ~(size_t)7; at + 8 <= end; at += 8)
      (void)relocate_word(replay, at, index, argument, &word);
    return true;
  }
  if (relocate_word(replay, argument->offset, index, argument, &word) || !word)
    return true;
  const int size = argument->name.size < 60 ? (int)argument->name.size : 60;
  if (words == WORDS_POINTER)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "argument %zu '%.*s' is 0x%" PRIx64 ", which leads into no recorded buffer",
                       index, size, argument->name.size ? argument->name.data : "", word);
  const rawhal_string_t kind = argument->value_kind_text;
  replay_note(replay,
              "%.*s at offset %u is 0x%" PRIx64 " of the recorded process: a kernel that uses it "
              "is not served",
              kind.size < 60 ? (int)kind.size : 60, kind.data, argument->offset, word);
  return true;
}

bool replay_relocate(replay_t *replay)
{
  const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(replay->kernel)->layout;
  const rawhal_kernarg_argument_t *argument;
  uint64_t word;
  if (rawhal_kernarg_layout_info(layout)->knowledge != RAWHAL_KERNARG_ARGUMENTS) {
    for (size_t at = 0; at + 8 <= replay->image_size; at += 8)
      (void)relocate_word(replay, at, 0, NULL, &word);
    return true;
  }
  for (size_t i = 0; (argument = rawhal_kernarg_layout_argument(layout, i)); ++i)
    if (!relocate_argument(replay, i, argument))
      return false;
  return true;
}
