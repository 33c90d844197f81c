/* rawhal probe verify: waves of two runs with their events. Which number a wave has depends on who
 * came first; who it is does not, nor what it does. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An event, without what differs between runs. */
typedef struct event {
  rawhal_probe_event_t head;
  uint64_t lanes[RAWHAL_PROBE_LANES];
} event_t;

typedef struct wave {
  const verify_taken_t *of;
  uint32_t is[4];   /* work-group, first item */
  uint32_t *events; /* their numbers, in their order */
  uint32_t count;
} wave_t;

typedef struct waves {
  wave_t *waves;
  uint32_t *events;
} waves_t;

/* ---- Events ---- */

size_t verify_point_at(const rawhal_probe_plan_info_t *info, uint32_t offset)
{
  size_t low = 0, high = info->point_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (info->points[middle].offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Whether a point at the event's place has such events. */
static bool has_point(const rawhal_probe_plan_info_t *info, uint32_t offset,
                      rawhal_probe_action_t action, rawhal_probe_source_t source)
{
  for (size_t i = verify_point_at(info, offset);
       i < info->point_count && info->points[i].offset == offset; ++i)
    if (info->points[i].action == action && info->points[i].source == source)
      return true;
  return false;
}

/* Barriers have the time. A swizzled buffer is scratch, which each queue has elsewhere, and each
 * wave by where it runs. */
static void leave_out(const rawhal_probe_plan_info_t *info, rawhal_probe_event_t *event)
{
  event->wave = 0;
  if (has_point(info, event->offset, RAWHAL_PROBE_ARRIVE, RAWHAL_PROBE_NONE)) {
    event->scalar[0] = event->scalar[1] = 0;
  } else if (event->scalar[1] >> 31 &&
             has_point(info, event->offset, RAWHAL_PROBE_ACCESS, RAWHAL_PROBE_BUFFER)) {
    event->scalar[0] = event->scalar[3] = 0;
    event->scalar[1] &= 0xffff0000;
  }
}

static event_t event_of(const wave_t *wave, uint32_t number)
{
  event_t event = {0};
  const uint32_t size = wave->of->info->event_bytes;
  memcpy(&event, wave->of->events + (size_t)wave->events[number] * size, size);
  leave_out(wave->of->info, &event.head);
  return event;
}

/* Below, equal to, or above 0; the first that differs, or the end of both: `*at`. */
static int compare_events(const wave_t *one, const wave_t *other, uint32_t *at)
{
  const uint32_t count = one->count < other->count ? one->count : other->count;
  for (*at = 0; *at < count; ++*at) {
    const event_t first = event_of(one, *at), second = event_of(other, *at);
    const int order = memcmp(&first, &second, sizeof(first));
    if (order)
      return order;
  }
  return one->count < other->count ? -1 : one->count > other->count;
}

/* ---- Waves ---- */

static int compare_waves(const void *a, const void *b)
{
  const wave_t *one = a, *other = b;
  uint32_t at;
  const int order = memcmp(one->is, other->is, sizeof(one->is));
  return order ? order : compare_events(one, other, &at);
}

static void waves_free(waves_t *waves)
{
  free(waves->waves);
  free(waves->events);
}

/* The number of the wave that an event is of, as the event says. */
static uint32_t wave_of(const verify_taken_t *taken, uint32_t number)
{
  rawhal_probe_event_t event;
  memcpy(&event, taken->events + (size_t)number * taken->info->event_bytes, sizeof(event));
  return event.wave;
}

/* Each wave's events, in the order of their numbers. */
static void share_out(const verify_taken_t *taken, waves_t *waves)
{
  uint32_t at = 0;
  for (uint32_t i = 0; i < taken->event_count; ++i) {
    const uint32_t number = wave_of(taken, i);
    if (number < taken->wave_count)
      ++waves->waves[number].count;
  }
  for (uint32_t i = 0; i < taken->wave_count; ++i) {
    waves->waves[i].events = waves->events + at;
    at += waves->waves[i].count;
    waves->waves[i].count = 0;
  }
  for (uint32_t i = 0; i < taken->event_count; ++i) {
    const uint32_t number = wave_of(taken, i);
    if (number >= taken->wave_count)
      continue;
    wave_t *wave = &waves->waves[number];
    wave->events[wave->count++] = i;
  }
}

static bool waves_make(const verify_taken_t *taken, waves_t *waves)
{
  *waves = (waves_t){calloc((size_t)taken->wave_count + 1, sizeof(*waves->waves)),
                     calloc((size_t)taken->event_count + 1, sizeof(*waves->events))};
  if (!waves->waves || !waves->events)
    return false;
  for (uint32_t i = 0; i < taken->wave_count; ++i) {
    const rawhal_probe_wave_t record = verify_wave_at(taken, i);
    waves->waves[i].of = taken;
    memcpy(waves->waves[i].is, record.workgroup, sizeof(record.workgroup));
    waves->waves[i].is[3] = record.first_item;
  }
  share_out(taken, waves);
  qsort(waves->waves, taken->wave_count, sizeof(*waves->waves), compare_waves);
  return true;
}

/* ---- What is said ---- */

static void say_values(char said[VERIFY_SAID], uint32_t number, const uint32_t is[4],
                       const char *what, uint64_t one, uint64_t other)
{
  verify_say(said,
             "%s of event %" PRIu32 " of the wave of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32
             " that begins with item 0x%" PRIx32 ": 0x%" PRIx64 ", and 0x%" PRIx64,
             what, number, is[0], is[1], is[2], is[3], one, other);
}

static void say_event(char said[VERIFY_SAID], const wave_t *one, const wave_t *other, uint32_t at)
{
  char what[40] = "the place";
  if (at == one->count || at == other->count) {
    verify_say(said,
               "events of the wave of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32
               " that begins with item 0x%" PRIx32 ": %" PRIu32 ", and %" PRIu32,
               one->is[0], one->is[1], one->is[2], one->is[3], one->count, other->count);
    return;
  }
  const event_t first = event_of(one, at), second = event_of(other, at);
  uint64_t ones = first.head.offset, others = second.head.offset;
  if (ones == others) {
    ones = first.head.exec;
    others = second.head.exec;
    (void)snprintf(what, sizeof(what), "EXEC at +0x%" PRIx32, first.head.offset);
  }
  for (unsigned i = 0; i < 4 && ones == others; ++i) {
    ones = first.head.scalar[i];
    others = second.head.scalar[i];
    (void)snprintf(what, sizeof(what), "scalar %u at +0x%" PRIx32, i, first.head.offset);
  }
  for (unsigned i = 0; i < RAWHAL_PROBE_LANES && ones == others; ++i) {
    ones = first.lanes[i];
    others = second.lanes[i];
    (void)snprintf(what, sizeof(what), "lane %u at +0x%" PRIx32, i, first.head.offset);
  }
  say_values(said, at, one->is, what, ones, others);
}

static void say_waves(char said[VERIFY_SAID], const wave_t *one, const wave_t *other)
{
  verify_say(said,
             "a wave: of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32 " from item 0x%" PRIx32
             " on, and of %" PRIu32 ",%" PRIu32 ",%" PRIu32 " from item 0x%" PRIx32 " on",
             one->is[0], one->is[1], one->is[2], one->is[3], other->is[0], other->is[1],
             other->is[2], other->is[3]);
}

/* ---- Both ---- */

/* Whether a neighbour is the same to all appearances. */
static bool is_like_others(const wave_t *waves, uint32_t number, uint32_t count)
{
  const wave_t *wave = &waves[number];
  return (number && !memcmp(wave->is, wave[-1].is, sizeof(wave->is))) ||
         (number + 1 < count && !memcmp(wave->is, wave[1].is, sizeof(wave->is)));
}

static bool same_waves(const waves_t *one, const waves_t *other, uint32_t count, bool all,
                       char said[VERIFY_SAID])
{
  for (uint32_t i = 0; i < count; ++i) {
    const wave_t *first = &one->waves[i], *second = &other->waves[i];
    uint32_t at;
    if (memcmp(first->is, second->is, sizeof(first->is)) != 0) {
      say_waves(said, first, second);
      return false;
    }
    if ((!all && is_like_others(one->waves, i, count)) || !compare_events(first, second, &at) ||
        (!all && (at == first->count || at == second->count)))
      continue;
    say_event(said, first, second, at);
    return false;
  }
  return true;
}

bool verify_events(const verify_taken_t *one, const verify_taken_t *other, char said[VERIFY_SAID])
{
  const bool all =
      one->event_count == one->header.events && other->event_count == other->header.events;
  waves_t first = {0}, second = {0};
  bool same = true;
  if (one->wave_count != one->header.waves || other->wave_count != other->header.waves)
    return true; /* there are too many */
  if (!waves_make(one, &first) || !waves_make(other, &second)) {
    verify_say(said, "there is no memory to compare events");
    same = false;
  }
  same = same && same_waves(&first, &second, one->wave_count, all, said);
  waves_free(&first);
  waves_free(&second);
  return same;
}
