#include "queue/limit/intervals.h"

#include "base/checked.h"

#include <string.h>

/* The first kept interval that ends at or after `time`. New ones nearly always come last. */
static uint32_t first_ending_at(const interval_set_t *set, uint64_t time)
{
  uint32_t i = set->count;
  while (i > 0 && set->kept[i - 1].end >= time)
    --i;
  return i;
}

/* Makes those from `first` on, and before `last`, into one. */
static void replace(interval_set_t *set, uint32_t first, uint32_t last, interval_t by,
                    uint64_t unpaid)
{
  uint32_t rest = set->count - last;
  if (rest && last != first + 1) { /* mostly it is the last that grows */
    memmove(&set->kept[first + 1], &set->kept[last], rest * sizeof(*set->kept));
    memmove(&set->unpaid[first + 1], &set->unpaid[last], rest * sizeof(*set->unpaid));
  }
  set->kept[first] = by;
  set->unpaid[first] = unpaid;
  set->count = first + 1 + rest;
}

/* Those that end by then: all at once, or each that is added moved all the others. */
static void forget_until(interval_set_t *set, uint64_t time)
{
  uint32_t count = 0;
  while (count < set->count && set->kept[count].end <= time)
    ++count;
  set->count -= count;
  memmove(&set->kept[0], &set->kept[count], set->count * sizeof(*set->kept));
  memmove(&set->unpaid[0], &set->unpaid[count], set->count * sizeof(*set->unpaid));
}

static void close_smallest_gap(interval_set_t *set)
{
  const interval_t *kept = set->kept;
  uint32_t at = 0;
  for (uint32_t i = 1; i + 1 < set->count; ++i)
    if (kept[i + 1].start - kept[i].end < kept[at + 1].start - kept[at].end)
      at = i;
  uint64_t gap = kept[at + 1].start - kept[at].end;
  replace(set, at, at + 2, (interval_t){kept[at].start, kept[at + 1].end},
          set->unpaid[at] + set->unpaid[at + 1] + gap);
}

/* Adds to the pieces; one that touches the last becomes part of it. */
static void give(interval_t *pieces, uint32_t *count, uint64_t start, uint64_t end)
{
  if (start >= end)
    return;
  if (*count && pieces[*count - 1].end == start)
    pieces[*count - 1].end = end;
  else
    pieces[(*count)++] = (interval_t){start, end};
}

uint32_t interval_set_add(interval_set_t *set, interval_t added, uint64_t oldest,
                          interval_t pieces[INTERVALS_PIECES])
{
  uint32_t first = first_ending_at(set, added.start), last = first, count = 0;
  uint64_t at = added.start, unpaid = 0;
  interval_t joined = added;
  for (; last < set->count && set->kept[last].start <= added.end; ++last) {
    const interval_t *kept = &set->kept[last];
    give(pieces, &count, at, kept->start);
    at = at > kept->start ? at : kept->start;
    uint64_t end = least_u64(kept->end, added.end);
    uint64_t due = least_u64(set->unpaid[last], end > at ? end - at : 0);
    give(pieces, &count, at, at + due);
    unpaid += set->unpaid[last] - due;
    at = at > end ? at : end;
    joined.start = least_u64(joined.start, kept->start);
    joined.end = joined.end > kept->end ? joined.end : kept->end;
  }
  give(pieces, &count, at, added.end);
  replace(set, first, last, joined, unpaid);
  if (set->count <= INTERVALS_KEPT)
    return count;
  if (set->kept[0].end <= oldest)
    forget_until(set, oldest);
  else
    close_smallest_gap(set);
  return count;
}

uint64_t interval_set_since(const interval_set_t *set, uint64_t start)
{
  uint64_t sum = 0;
  for (uint32_t i = set->count; i > 0 && set->kept[i - 1].end > start; --i) {
    const interval_t *kept = &set->kept[i - 1];
    uint64_t length = kept->end - (kept->start > start ? kept->start : start);
    sum += length - least_u64(set->unpaid[i - 1], length);
  }
  return sum;
}
