#include "queue/limit/intervals.h"

#include <string.h>

/* The first kept interval that ends at or after `time`. New ones nearly always come last. */
static uint32_t first_ending_at(const interval_set_t *set, uint64_t time)
{
  uint32_t i = set->count;
  while (i > 0 && set->kept[i - 1].end >= time)
    --i;
  return i;
}

static void close_smallest_gap(interval_set_t *set)
{
  uint32_t at = 0;
  for (uint32_t i = 1; i + 1 < set->count; ++i)
    if (set->kept[i + 1].start - set->kept[i].end < set->kept[at + 1].start - set->kept[at].end)
      at = i;
  set->kept[at].end = set->kept[at + 1].end;
  memmove(&set->kept[at + 1], &set->kept[at + 2], (set->count - at - 2) * sizeof(*set->kept));
  --set->count;
}

uint32_t interval_set_add(interval_set_t *set, interval_t added,
                          interval_t pieces[INTERVALS_PIECES])
{
  uint32_t first = first_ending_at(set, added.start), last = first, count = 0;
  uint64_t at = added.start;
  interval_t joined = added;
  for (; last < set->count && set->kept[last].start <= added.end; ++last) {
    const interval_t *kept = &set->kept[last];
    if (at < kept->start)
      pieces[count++] = (interval_t){at, kept->start};
    if (at < kept->end)
      at = kept->end;
    if (kept->start < joined.start)
      joined.start = kept->start;
    if (kept->end > joined.end)
      joined.end = kept->end;
  }
  if (at < added.end)
    pieces[count++] = (interval_t){at, added.end};
  if (first == last && set->count == INTERVALS_KEPT) {
    close_smallest_gap(set);
    first = last = first_ending_at(set, added.start);
    for (; last < set->count && set->kept[last].start <= added.end; ++last) {
      /* The gap that was closed may be where the new one lies. */
      if (set->kept[last].start < joined.start)
        joined.start = set->kept[last].start;
      if (set->kept[last].end > joined.end)
        joined.end = set->kept[last].end;
    }
  }
  memmove(&set->kept[first + 1], &set->kept[last], (set->count - last) * sizeof(*set->kept));
  set->kept[first] = joined;
  set->count -= last - first;
  ++set->count;
  return count;
}
