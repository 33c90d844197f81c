#include "debug/core/view.h"

size_t core_range_behind(const core_range_t *ranges, size_t count, uint64_t address)
{
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges[middle].address <= address &&
        address - ranges[middle].address >= ranges[middle].size)
      low = middle + 1;
    else if (ranges[middle].address > address)
      high = middle;
    else
      return middle;
  }
  return low;
}

uint64_t core_view_has(const core_view_t *view, uint64_t address, uint64_t size, size_t *looked)
{
  const size_t first = core_range_behind(view->ranges, view->count, address);
  uint64_t done = 0;
  size_t i = first;
  for (; i < view->count && done < size; ++i) {
    const core_range_t *range = &view->ranges[i];
    const uint64_t at = address + done, skip = at - range->address;
    if (at < address || range->address > at)
      break;
    const uint64_t here = range->size - skip;
    done += here < size - done ? here : size - done;
  }
  if (looked)
    *looked = i - first;
  return done;
}

bool core_view_read(const core_view_t *view, uint64_t address, void *bytes, size_t size)
{
  unsigned char *to = bytes;
  memset(to, 0, size);
  if (core_view_has(view, address, size, NULL) < size)
    return false;
  size_t i = core_range_behind(view->ranges, view->count, address);
  for (size_t done = 0; done < size; ++i) {
    const core_range_t *range = &view->ranges[i];
    const uint64_t skip = address + done - range->address, here = range->size - skip;
    const size_t part = here < size - done ? (size_t)here : size - done;
    memcpy(to + done, range->bytes + skip, part);
    done += part;
  }
  return true;
}
