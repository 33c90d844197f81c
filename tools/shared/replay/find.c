/* Replays: recorded addresses, and where they are now. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/shared/replay/replay.h"
#include "tools/shared/tool.h"

static int compare_addresses(const void *left, const void *right)
{
  const replay_buffer_t *a = left, *b = right;
  return a->before->address < b->before->address ? -1 : a->before->address > b->before->address;
}

bool replay_sort(replay_t *replay)
{
  const record_buffers_t *before = &replay->source->before;
  const unsigned char *states = replay->source->states;
  replay->buffers = calloc(before->count + 1, sizeof(*replay->buffers));
  if (!replay->buffers)
    return tool_refuse(&replay->error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  for (size_t i = 0; i < before->count; ++i)
    replay->buffers[replay->buffer_count++] =
        (replay_buffer_t){.before = &before->buffers[i],
                          .state = states ? (replay_state_t)states[i] : REPLAY_MEMORY,
                          .index = i};
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

static uint64_t end_of(const replay_buffer_t *buffer)
{
  return buffer->before->address + buffer->before->content.size;
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
  /* The end of memory that lives, where memory that does not began, is that. */
  if (low > 1 && found->state == REPLAY_NOTHING && found->before->address == address &&
      end_of(found - 1) == address && found[-1].state != REPLAY_NOTHING)
    --found;
  return address - found->before->address <= found->before->content.size ? found : NULL;
}

replay_buffer_t *replay_near(const replay_t *replay, uint64_t address)
{
  enum { NEAR = 1 << 16 }; /* bytes */
  replay_buffer_t *nearest = NULL;
  uint64_t least = NEAR;
  for (size_t i = 0; i < replay->buffer_count; ++i) {
    replay_buffer_t *buffer = &replay->buffers[i];
    const uint64_t base = buffer->before->address, end = end_of(buffer);
    const uint64_t distance = address < base ? base - address : address > end ? address - end : 0;
    if (distance < least) {
      least = distance;
      nearest = buffer;
    }
  }
  return nearest;
}

bool replay_moved(const replay_t *replay, uint64_t address, uint64_t *now)
{
  const replay_buffer_t *buffer = replay_find(replay, address);
  const record_place_t *place = &replay->source->place;
  if (address - place->base < place->size) /* also just past one of its segments */
    *now = address - place->delta + replay->delta;
  else if (buffer)
    *now = buffer->now + (address - buffer->before->address);
  else
    return false;
  return true;
}

void replay_bounds(const replay_t *replay, uint64_t *least, uint64_t *end)
{
  const record_place_t *place = &replay->source->place;
  *least = place->size ? place->base : 0;
  *end = place->size ? place->base + place->size : 0;
  if (!replay->buffer_count)
    return;
  const record_buffer_t *first = replay->buffers[0].before,
                        *last = replay->buffers[replay->buffer_count - 1].before;
  if (!place->size || first->address < *least)
    *least = first->address;
  if (last->address + last->content.size + 1 > *end)
    *end = last->address + last->content.size + 1;
}
