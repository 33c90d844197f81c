/* rawhal replay: what the launch has left. */
#include <inttypes.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

enum { WORD = 8 };

typedef struct comparison {
  replay_t *replay;
  const replay_buffer_t *buffer;
} comparison_t;

/* Are the bytes around one that differs a pointer, then and now? How many of them are before it. */
static bool is_pointer(const replay_t *replay, const unsigned char *expected,
                       const unsigned char *got, size_t at, size_t size, size_t *before)
{
  uint64_t then, now, moved;
  for (*before = 0; *before < WORD && *before <= at; ++*before) {
    const size_t first = at - *before;
    if (size - first < WORD)
      continue;
    memcpy(&then, expected + first, WORD);
    memcpy(&now, got + first, WORD);
    if (replay_moved(replay, then, &moved) && moved == now)
      return true;
  }
  return false;
}

static void see_difference(const comparison_t *comparison, uint64_t offset, unsigned char expected,
                           unsigned char got)
{
  replay_t *replay = comparison->replay;
  if (replay->different++)
    return;
  replay->first = comparison->buffer;
  replay->offset = offset;
  replay->expected = expected;
  replay->got = got;
}

static rawhal_status_t compare_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                     rawhal_error_t *error)
{
  static unsigned char got[RECORD_PIECE];
  const comparison_t *comparison = context;
  replay_t *replay = comparison->replay;
  const unsigned char *expected = bytes;
  size_t before;
  rawhal_status_t status = rawhal_buffer_read(comparison->buffer->memory,
                                              comparison->buffer->skip + offset, got, size, error);
  if (status != RAWHAL_OK)
    return status;
  replay->compared += size;
  for (size_t i = 0; i < size; ++i) {
    if (expected[i] == got[i])
      continue;
    if (is_pointer(replay, expected, got, i, size, &before))
      i += WORD - 1 - before;
    else
      see_difference(comparison, offset + i, expected[i], got[i]);
  }
  return RAWHAL_OK;
}

static bool compare_buffer(replay_t *replay, record_reader_t *reader, const record_buffer_t *after)
{
  replay_buffer_t *buffer = replay_find(replay, after->address);
  if (!buffer || buffer->before->address != after->address || buffer->compared ||
      buffer->before->content.size != after->content.size)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "the buffer at 0x%" PRIx64 " (%" PRIu64
                       " bytes) was recorded only after the dispatch, or twice",
                       after->address, after->content.size);
  if (after->left_out)
    return tool_refuse(&replay->error, RAWHAL_UNSUPPORTED,
                       "the contents of the buffer at 0x%" PRIx64 " after the dispatch were left "
                       "out of the recording",
                       after->address);
  buffer->compared = true;
  comparison_t comparison = {replay, buffer};
  return !record_reader_content(reader, &after->content, compare_piece, &comparison,
                                &replay->error);
}

bool replay_compare(replay_t *replay, record_reader_t *reader)
{
  const uint64_t number = replay->source->number;
  const record_buffers_t after = record_reader_buffers(reader, number, RECORD_AFTER);
  if (!after.all)
    return tool_refuse(&replay->error, RAWHAL_NOT_FOUND,
                       "dispatch %" PRIu64
                       " ran, but there is nothing to compare with: the recording does not have "
                       "the contents of all buffers after it",
                       number);
  for (size_t i = 0; i < after.count; ++i)
    if (!compare_buffer(replay, reader, &after.buffers[i]))
      return false;
  return true;
}
