/* What of this process can be read. */
#include "hsaco/mapped.h"
#include "library/process/parts.h"

typedef struct walk {
  space_t *space;
  arena_t *arena;
} walk_t;

static bool add_range(void *context, const mapped_range_t *range)
{
  walk_t *walk = context;
  space_t *space = walk->space;
  if (!arena_reserve(walk->arena, &space->ranges, &space->capacity, space->count,
                     sizeof(*space->ranges), 256))
    return false;
  space->ranges[space->count++] = (space_range_t){
      .start = range->start,
      .end = range->end,
      .reach = range->readable ? range->end : range->start,
      .device = range->device,
      .inode = range->inode,
  };
  return true;
}

rawhal_status_t space_read(space_t *space, arena_t *arena, rawhal_error_t *error)
{
  walk_t walk = {space, arena};
  rawhal_status_t status = mapped_walk(add_range, &walk, error);
  if (status == RAWHAL_OK && arena->status != RAWHAL_OK)
    status = arena_fail(arena, error);
  for (size_t i = space->count; status == RAWHAL_OK && i-- > 1;) {
    space_range_t *before = &space->ranges[i - 1], *range = &space->ranges[i];
    if (before->reach == range->start && before->end == range->start)
      before->reach = range->reach;
  }
  return status;
}

const space_range_t *space_at(const space_t *space, uint64_t address)
{
  size_t low = 0, high = space->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (space->ranges[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low < space->count && space->ranges[low].start <= address ? &space->ranges[low] : NULL;
}

uint64_t space_readable(const space_t *space, uint64_t address)
{
  const space_range_t *range = space_at(space, address);
  return range && range->reach > address ? range->reach - address : 0;
}
