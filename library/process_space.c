/* What of this process can be read. */
#include "hsaco/mapped.h"
#include "library/process_parts.h"

struct walk {
  struct space *space;
  struct arena *arena;
};

static bool add_range(void *context, const struct mapped_range *range)
{
  struct walk *walk = context;
  struct space *space = walk->space;
  if (!arena_reserve(walk->arena, &space->ranges, &space->capacity, space->count,
                     sizeof(*space->ranges), 256))
    return false;
  space->ranges[space->count++] = (struct space_range){
      .start = range->start,
      .end = range->end,
      .reach = range->readable ? range->end : range->start,
      .device = range->device,
      .inode = range->inode,
  };
  return true;
}

rawhal_status_t space_read(struct space *space, struct arena *arena, rawhal_error_t *error)
{
  struct walk walk = {space, arena};
  rawhal_status_t status = mapped_walk(add_range, &walk, error);
  if (status == RAWHAL_OK && arena->status != RAWHAL_OK)
    status = arena_fail(arena, error);
  for (size_t i = space->count; status == RAWHAL_OK && i-- > 1;) {
    struct space_range *before = &space->ranges[i - 1], *range = &space->ranges[i];
    if (before->reach == range->start && before->end == range->start)
      before->reach = range->reach;
  }
  return status;
}

const struct space_range *space_at(const struct space *space, uint64_t address)
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

uint64_t space_readable(const struct space *space, uint64_t address)
{
  const struct space_range *range = space_at(space, address);
  return range && range->reach > address ? range->reach - address : 0;
}
