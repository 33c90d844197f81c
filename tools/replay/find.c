/* rawhal replay: recorded addresses, and where they are now. */
#include <inttypes.h>
#include <stdlib.h>

#include "tools/replay/replay.h"
#include "tools/shared/tool.h"

static int compare_addresses(const void *left, const void *right)
{
  const replay_buffer_t *a = left, *b = right;
  return a->before->address < b->before->address ? -1 : a->before->address > b->before->address;
}

bool replay_sort(replay_t *replay, const record_buffers_t *before)
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

bool replay_moved(const replay_t *replay, uint64_t address, uint64_t *now)
{
  const replay_buffer_t *buffer = replay_find(replay, address);
  if (address - replay->place.base < replay->place.size) /* also just past one of its segments */
    *now = address - replay->place.delta + replay->delta;
  else if (buffer)
    *now = rawhal_buffer_address(buffer->memory) + buffer->skip + address - buffer->before->address;
  else
    return false;
  return true;
}

void replay_bounds(const replay_t *replay, uint64_t *least, uint64_t *end)
{
  const record_place_t *place = &replay->place;
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
