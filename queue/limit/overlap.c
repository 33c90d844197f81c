#include "queue/limit/overlap.h"

#include <stdlib.h>
#include <string.h>

#define MERGED_SPAN_NS 40000000u

/* ---- Publishing ---- */

static void write_interval(region_interval_t *at, uint64_t sequence, interval_t time, uint64_t busy)
{
  atomic_store(&at->sequence, 0);
  atomic_store(&at->start, time.start);
  atomic_store(&at->end, time.end);
  atomic_store(&at->busy, busy);
  atomic_store(&at->sequence, sequence);
}

/* False while it is being written, or when it makes no sense. */
static bool read_interval(const region_interval_t *at, uint64_t *sequence, interval_t *time,
                          uint64_t *busy)
{
  *sequence = atomic_load(&at->sequence);
  *time = (interval_t){atomic_load(&at->start), atomic_load(&at->end)};
  *busy = atomic_load(&at->busy);
  return *sequence && *sequence == atomic_load(&at->sequence) && time->start < time->end;
}

/* Keeps the sum of what is about to be overwritten. */
static void merge(region_member_t *me, const region_interval_t *old)
{
  uint64_t sequence, busy, last_sequence, last_busy;
  interval_t time, last;
  uint64_t count = atomic_load_explicit(&me->merged_count, memory_order_relaxed);
  if (!read_interval(old, &sequence, &time, &busy))
    return;
  region_interval_t *at = &me->merged[(count - 1) % REGION_MERGED];
  if (count && read_interval(at, &last_sequence, &last, &last_busy) && time.start >= last.start &&
      time.end - last.start <= MERGED_SPAN_NS) {
    last.end = time.end > last.end ? time.end : last.end;
    write_interval(at, sequence, last, last_busy + busy);
    return;
  }
  write_interval(&me->merged[count % REGION_MERGED], sequence, time, busy);
  atomic_store(&me->merged_count, count + 1);
}

static uint64_t publish(region_device_t *device, region_member_t *me, interval_t piece)
{
  uint64_t sequence = atomic_fetch_add(&device->interval_sequence, 1) + 1;
  uint64_t count = atomic_load_explicit(&me->interval_count, memory_order_relaxed);
  region_interval_t *at = &me->intervals[count % REGION_INTERVALS];
  if (count >= REGION_INTERVALS)
    merge(me, at);
  write_interval(at, sequence, piece, piece.end - piece.start);
  atomic_store(&me->interval_count, count + 1);
  return sequence;
}

/* ---- Collecting ---- */

static void add_overlap(overlaps_t *found, uint32_t slot, interval_t time, double density)
{
  overlap_t *last = found->count ? &found->items[found->count - 1] : NULL;
  if (found->count < OVERLAPS) {
    found->items[found->count++] = (overlap_t){slot, time, density, 0};
  } else if (last->slot == slot) { /* no room: those of a member that remain become one */
    double busy = (double)(last->time.end - last->time.start) * last->density +
                  (double)(time.end - time.start) * density;
    last->time.start = time.start < last->time.start ? time.start : last->time.start;
    last->time.end = time.end > last->time.end ? time.end : last->time.end;
    last->density = busy / (double)(last->time.end - last->time.start);
  }
}

/* One ring of a member, the latest first. False when all that is older is before `piece`. */
static bool collect(const region_interval_t *ring, uint32_t size, uint64_t count, uint32_t slot,
                    uint64_t sequence, overlaps_t *found)
{
  const interval_t *piece = &found->piece;
  for (uint64_t back = 1; back <= size && back <= count; ++back) {
    uint64_t number, busy;
    interval_t time;
    if (!read_interval(&ring[(count - back) % size], &number, &time, &busy) || number > sequence)
      continue;
    if (time.end <= piece->start) /* and all before it, or nearly so */
      return false;
    if (time.start >= piece->end)
      continue;
    double density = (double)busy / (double)(time.end - time.start);
    interval_t common = {time.start > piece->start ? time.start : piece->start,
                         time.end < piece->end ? time.end : piece->end};
    add_overlap(found, slot, common, density < 1 ? density : 1);
  }
  return true;
}

static void collect_all(const region_data_t *data, uint32_t device, uint32_t me, uint64_t sequence,
                        interval_t piece, overlaps_t *found)
{
  uint32_t count = region_member_count(data);
  found->count = 0;
  found->piece = piece;
  for (uint32_t slot = 0; slot < count; ++slot) {
    const region_member_t *member = &data->members[slot];
    if (slot == me || !region_is_live_on(member, device))
      continue;
    if (collect(member->intervals, REGION_INTERVALS, atomic_load(&member->interval_count), slot,
                sequence, found))
      (void)collect(member->merged, REGION_MERGED, atomic_load(&member->merged_count), slot,
                    sequence, found);
  }
}

/* ---- Dividing ---- */

enum { MOST_AT_ONCE = 24 }; /* more than that run at an instant: the others pay, none is paid */

static int by_start(const void *a, const void *b)
{
  const overlap_t *left = a, *right = b;
  return (left->time.start > right->time.start) - (left->time.start < right->time.start);
}

static int by_value(const void *a, const void *b)
{
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

/* The mean of 1 / (k + plus), where k of the others but `without` run at an instant, each of them
 * for its density of the time. */
static double mean_part(overlap_t *const running[], uint32_t count, uint32_t without, unsigned plus)
{
  double chance[MOST_AT_ONCE + 1] = {1}, mean = 0;
  uint32_t most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (i == without)
      continue;
    double density = running[i]->density;
    for (uint32_t k = ++most; k > 0; --k)
      chance[k] = chance[k] * (1 - density) + chance[k - 1] * density;
    chance[0] *= 1 - density;
  }
  for (uint32_t k = 0; k <= most; ++k)
    mean += chance[k] / (double)(k + plus);
  return mean;
}

/* A time in which the same ones ran concurrently with us. */
static double divide_span(overlap_t *const running[], uint32_t count, double length)
{
  for (uint32_t i = 0; i < count; ++i)
    running[i]->refund +=
        (uint64_t)(length * running[i]->density *
                   (mean_part(running, count, i, 1) - mean_part(running, count, i, 2)));
  return length * mean_part(running, count, count, 1);
}

static uint64_t divide(overlaps_t *found)
{
  uint64_t cuts[2 * OVERLAPS + 2] = {found->piece.start, found->piece.end};
  uint32_t cut_count = 2, next = 0, count = 0;
  overlap_t *running[MOST_AT_ONCE];
  double mine = 0;
  qsort(found->items, found->count, sizeof(*found->items), by_start);
  for (uint32_t i = 0; i < found->count; ++i) {
    cuts[cut_count++] = found->items[i].time.start;
    cuts[cut_count++] = found->items[i].time.end;
  }
  qsort(cuts, cut_count, sizeof(*cuts), by_value);
  for (uint32_t cut = 0; cut + 1 < cut_count; ++cut) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; ++i)
      if (running[i]->time.end > cuts[cut])
        running[kept++] = running[i];
    count = kept;
    for (; next < found->count && found->items[next].time.start <= cuts[cut]; ++next)
      if (count < MOST_AT_ONCE && found->items[next].time.end > cuts[cut])
        running[count++] = &found->items[next];
    if (cuts[cut + 1] > cuts[cut])
      mine += divide_span(running, count, (double)(cuts[cut + 1] - cuts[cut]));
  }
  return (uint64_t)(mine + 0.5);
}

uint64_t overlaps_part(region_data_t *data, uint32_t device, uint32_t me, interval_t piece,
                       overlaps_t *found)
{
  const uint64_t sequence = publish(&data->devices[device], &data->members[me], piece);
  collect_all(data, device, me, sequence, piece, found);
  return found->count ? divide(found) : piece.end - piece.start;
}
