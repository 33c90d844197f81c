/* Replays: buffers as they were before the dispatch. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record/scan.h"
#include "tools/shared/replay/replay.h"
#include "tools/shared/tool.h"

/* ---- Memory ---- */

enum { ALIGNED = 4096 }; /* what an allocation is; more than that no kernel could rely on */

/* A part of the code object: the memory that it has where it is loaded. */
static bool take_segment(replay_t *replay, replay_buffer_t *buffer)
{
  const record_buffer_t *before = buffer->before;
  const record_place_t *place = &replay->source->place;
  const uint64_t skip = before->address - place->base;
  if (skip >= place->size || before->content.size > place->size - skip)
    return tool_refuse(&replay->error, RAWHAL_MALFORMED,
                       "the variables at 0x%" PRIx64 " (%" PRIu64 " bytes) are not in the code "
                       "object, which was at 0x%" PRIx64,
                       before->address, before->content.size, place->base);
  buffer->now = before->address - place->delta + replay->delta;
  buffer->owned = true;
  return !rawhal_buffer_import(replay->device, (void *)(uintptr_t)buffer->now,
                               (size_t)before->content.size, &buffer->memory, &replay->error);
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
    if (replay->buffers[next].state != replay->buffers[first].state)
      break;
    ++next;
  }
  return next - first;
}

static bool take_memory(replay_t *replay, rawhal_device_t *device, size_t first, size_t count)
{
  replay_buffer_t *buffers = &replay->buffers[first];
  const record_buffer_t *last = buffers[count - 1].before;
  const uint64_t address = buffers[0].before->address, skip = address % ALIGNED;
  const uint64_t size = skip + (last->address + last->content.size - address);
  buffers[0].owned = true;
  if (rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, (size_t)size, &buffers[0].memory,
                             &replay->error))
    return false;
  for (size_t i = 0; i < count; ++i) {
    buffers[i].memory = buffers[0].memory;
    buffers[i].skip = skip + (buffers[i].before->address - address);
    buffers[i].now = rawhal_buffer_address(buffers[i].memory) + buffers[i].skip;
  }
  return true;
}

/* Addresses that the process has and no device: nothing else comes to be there meanwhile. */
static bool take_nothing(replay_t *replay, replay_buffer_t *buffer)
{
  const record_buffer_t *before = buffer->before;
  const uint64_t skip = before->address % ALIGNED;
  buffer->reserved_size = (size_t)(skip + before->content.size);
  void *reserved = mmap(NULL, buffer->reserved_size, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY,
                       "no addresses for the %" PRIu64 " bytes at 0x%" PRIx64 " that were freed",
                       before->content.size, before->address);
  buffer->reserved = reserved;
  buffer->state = REPLAY_NOTHING;
  buffer->now = (uint64_t)(uintptr_t)reserved + skip;
  return true;
}

/* Memory of another device's, where there is one; else nothing, which can be used as little. */
static bool take_foreign(replay_t *replay, size_t first, size_t count)
{
  rawhal_device_t *other = rawhal_instance_device(replay->instance, 1);
  if (other)
    return take_memory(replay, other, first, count);
  replay_note(replay,
              "there is no second device for the buffer at 0x%" PRIx64
              ", which the first could not use: there is nothing at its address",
              replay->buffers[first].before->address);
  bool done = true;
  for (size_t i = first; done && i < first + count; ++i)
    done = take_nothing(replay, &replay->buffers[i]);
  return done;
}

static bool take_some(replay_t *replay, size_t first, size_t *count)
{
  replay_buffer_t *buffer = &replay->buffers[first];
  *count = 1;
  if (buffer->before->segment)
    return take_segment(replay, buffer);
  if (buffer->state == REPLAY_NOTHING)
    return take_nothing(replay, buffer);
  *count = count_touching(replay, first);
  return buffer->state == REPLAY_FOREIGN ? take_foreign(replay, first, *count)
                                         : take_memory(replay, replay->device, first, *count);
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
  for (size_t i = 0, count; i < replay->buffer_count; i += count)
    if (!take_some(replay, i, &count))
      return false;
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
  if (offset != filling->offset + filling->size) { /* what lies between is not in the file */
    filling->scan.next = offset;
    filling->scan.tail_size = 0;
  }
  filling->piece = piece;
  filling->offset = offset;
  filling->size = size;
  record_scan_piece(&filling->scan, offset, bytes, size);
  if (filling->failed)
    return filling->replay->error.status;
  return rawhal_buffer_write(filling->buffer->memory, filling->buffer->skip + offset, piece, size,
                             error);
}

/* What is not known of it is zeros, which memory in software is from the start. */
static bool clear_buffer(replay_t *replay, const replay_buffer_t *buffer)
{
  static const unsigned char zeros[4];
  const size_t size = rawhal_buffer_size(buffer->memory), whole = size & ~(size_t)3;
  if (!replay->source->expected || rawhal_device_info(replay->device)->is_software)
    return true;
  return !rawhal_buffer_fill(buffer->memory, 0, 0, whole, &replay->error) &&
         !rawhal_buffer_write(buffer->memory, whole, zeros, size - whole, &replay->error);
}

static bool fill_buffer(replay_t *replay, replay_buffer_t *buffer)
{
  const record_buffer_t *before = buffer->before;
  filling_t filling = {
      .replay = replay, .buffer = buffer, .scan = {.address = before->address, .is = move_word}};
  filling.scan.context = &filling;
  replay_bounds(replay, &filling.scan.least, &filling.scan.end);
  if (replay->source->content(replay->source->file, &before->content, fill_piece, &filling,
                              &replay->error))
    return false;
  if (filling.words && !before->segment && !replay->filled)
    replay_note(replay,
                "buffer %zu at 0x%" PRIx64 " has %" PRIu64
                " words that point into recorded memory, the first at offset %" PRIu64
                ": they are treated as pointers",
                buffer->index, before->address, filling.words, filling.first);
  return true;
}

bool replay_refill(replay_t *replay)
{
  for (size_t i = 0; i < replay->buffer_count; ++i) {
    replay_buffer_t *buffer = &replay->buffers[i];
    if (buffer->state == REPLAY_NOTHING)
      continue;
    if ((buffer->owned && !buffer->before->segment && !clear_buffer(replay, buffer)) ||
        !fill_buffer(replay, buffer))
      return false;
  }
  replay->filled = true;
  return true;
}

bool replay_fill(replay_t *replay)
{
  if (!replay->source->before.all)
    return tool_refuse(
        &replay->error, RAWHAL_NOT_FOUND,
        "the recording does not have the contents of all buffers before dispatch %" PRIu64
        ": they were not requested, or the recording ends there",
        replay->source->number);
  return replay_sort(replay) && take_all(replay) && replay_refill(replay);
}
