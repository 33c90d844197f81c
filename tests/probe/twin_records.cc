#include "tests/probe/twin_records.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstring>
#include <tuple>

namespace {

using Points = std::map<uint32_t, const rawhal_probe_point_t *>;
using Counts = std::map<std::pair<uint32_t, uint8_t>, uint64_t>;

Counts counts_of(const rawhal_probe_plan_info_t *info, const TwinRun &run)
{
  Counts counts;
  for (size_t i = 0; i < info->point_count; ++i) {
    const rawhal_probe_point_t &point = info->points[i];
    if (point.action == RAWHAL_PROBE_COUNT || point.action == RAWHAL_PROBE_PASSED ||
        point.action == RAWHAL_PROBE_ACTIVE)
      counts[{point.offset, point.action}] = run.counters[point.counter];
  }
  return counts;
}

// Of events, by their place.
Points points_of(const rawhal_probe_plan_info_t *info)
{
  Points points;
  for (size_t i = 0; i < info->point_count; ++i)
    if (info->points[i].action == RAWHAL_PROBE_ACCESS ||
        info->points[i].action == RAWHAL_PROBE_ARRIVE)
      points[info->points[i].offset] = &info->points[i];
  return points;
}

struct Event {
  rawhal_probe_event_t head;
  uint64_t lanes[RAWHAL_PROBE_LANES];
};

// A wave with its events, whatever its number is.
struct Wave {
  std::array<uint32_t, 4> is; // its record, but for times and for where it ran
  uint32_t number;
  std::vector<const char *> events;
};

std::vector<Wave> waves_with_events(const TwinRun &run, const Points &points, const Points &common)
{
  std::vector<Wave> waves;
  for (const rawhal_probe_wave_t &wave : run.waves)
    waves.push_back({{wave.workgroup[0], wave.workgroup[1], wave.workgroup[2], wave.first_item},
                     static_cast<uint32_t>(waves.size()),
                     {}});
  for (size_t at = 0; run.event_bytes && at < run.events.size(); at += run.event_bytes) {
    rawhal_probe_event_t head;
    memcpy(&head, &run.events[at], sizeof head);
    if (points.count(head.offset) && !common.count(head.offset))
      continue; // of a kind that only one of them has
    if (head.wave < waves.size())
      waves[head.wave].events.push_back(&run.events[at]);
  }
  std::stable_sort(waves.begin(), waves.end(),
                   [](const Wave &a, const Wave &b) { return a.is < b.is; });
  return waves;
}

Event event_at(const char *from, uint32_t bytes, const Points &points)
{
  Event event = {};
  memcpy(&event, from, bytes);
  event.head.wave = 0; // see Wave
  const auto point = points.find(event.head.offset);
  if (point != points.end() && point->second->action == RAWHAL_PROBE_ARRIVE)
    event.head.scalar[0] = event.head.scalar[1] = 0; // the time
  return event;
}

std::string describe(const Event &event)
{
  char text[400];
  int lane = 0;
  while (lane < 63 && !(event.head.exec >> lane & 1))
    ++lane;
  snprintf(text, sizeof text, "+0x%x exec %" PRIx64 " scalar %x %x %x %x, lane %d: %" PRIx64,
           event.head.offset, event.head.exec, event.head.scalar[0], event.head.scalar[1],
           event.head.scalar[2], event.head.scalar[3], lane, event.lanes[lane]);
  return text;
}

std::string differ(const Wave &a, const Wave &b, const TwinRun &a_run, const TwinRun &b_run,
                   const Points &points, bool all)
{
  char text[1000];
  if (a.is != b.is) {
    snprintf(text, sizeof text, "wave %x %x %x, item %x, and %x %x %x, item %x", a.is[0], a.is[1],
             a.is[2], a.is[3], b.is[0], b.is[1], b.is[2], b.is[3]);
    return text;
  }
  const size_t count = std::min(a.events.size(), b.events.size());
  for (size_t i = 0; i < count; ++i) {
    const Event one = event_at(a.events[i], a_run.event_bytes, points),
                other = event_at(b.events[i], b_run.event_bytes, points);
    if (!memcmp(&one, &other, sizeof one))
      continue;
    snprintf(text, sizeof text, "wave %u, event %zu: %s, and %s", a.number, i,
             describe(one).c_str(), describe(other).c_str());
    return text;
  }
  if (all && a.events.size() != b.events.size()) {
    snprintf(text, sizeof text, "wave %u: %zu events, and %zu", a.number, a.events.size(),
             b.events.size());
    return text;
  }
  return "";
}

} // namespace

uint32_t waves_of(const rawhal_dispatch_t &dispatch)
{
  // In each dimension: full work-groups, and the items of the last one.
  uint64_t waves = 0;
  for (uint32_t z = 0; z < 2; ++z)
    for (uint32_t y = 0; y < 2; ++y)
      for (uint32_t x = 0; x < 2; ++x) {
        const uint32_t part[3] = {x, y, z};
        uint64_t groups = 1, items = 1;
        for (int i = 0; i < 3; ++i) {
          groups *= part[i] ? dispatch.work_items[i] % dispatch.workgroup[i] != 0
                            : dispatch.work_items[i] / dispatch.workgroup[i];
          items *= part[i] ? dispatch.work_items[i] % dispatch.workgroup[i] : dispatch.workgroup[i];
        }
        waves += groups * ((items + 63) / 64);
      }
  return static_cast<uint32_t>(waves);
}

uint64_t counted(const rawhal_probe_plan_info_t *info, const TwinRun &run)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < info->point_count; ++i)
    if (info->points[i].action == RAWHAL_PROBE_COUNT)
      sum += run.counters[info->points[i].counter] * info->points[i].instructions;
  return sum;
}

std::set<uint64_t> contested(const rawhal_probe_plan_info_t *info, const TwinRun &run)
{
  const Points points = points_of(info);
  std::set<uint64_t> dwords;
  std::map<uint64_t, uint32_t> writers;
  for (size_t at = 0; run.event_bytes > sizeof(rawhal_probe_event_t) && at < run.events.size();
       at += run.event_bytes) {
    Event event;
    memcpy(&event, &run.events[at], sizeof event);
    const auto found = points.find(event.head.offset);
    if (found == points.end() || !(found->second->flags & RAWHAL_PROBE_WRITES))
      continue;
    const rawhal_probe_point_t &point = *found->second;
    const bool is_atomic = point.flags & RAWHAL_PROBE_READS;
    const uint32_t *scalar = event.head.scalar;
    const uint64_t pair = scalar[0] | uint64_t{scalar[1]} << 32;
    uint64_t base = 0, stride = 1;
    if (point.source == RAWHAL_PROBE_GLOBAL)
      base = pair;
    else if (point.source == RAWHAL_PROBE_BUFFER)
      base = (pair & 0xffffffffffff) + scalar[3];
    else if (point.source != RAWHAL_PROBE_FLAT)
      continue;
    if (point.source == RAWHAL_PROBE_BUFFER && point.flags & RAWHAL_PROBE_INDEXED)
      stride = pair >> 48 & 0x3fff;
    for (int lane = 0; lane < RAWHAL_PROBE_LANES; ++lane) {
      if (!(event.head.exec >> lane & 1))
        continue;
      const uint64_t from =
          base + event.lanes[lane] * stride + static_cast<uint64_t>(int64_t{point.immediate[0]});
      for (uint64_t dword = from / 4; dword * 4 < from + point.bytes; ++dword)
        if (is_atomic || writers.insert({dword, event.head.wave}).first->second != event.head.wave)
          dwords.insert(dword);
    }
  }
  return dwords;
}

std::string differ(const rawhal_probe_plan_info_t *a_info, const TwinRun &a,
                   const rawhal_probe_plan_info_t *b_info, const TwinRun &b)
{
  char text[200];
  const Counts a_counts = counts_of(a_info, a), b_counts = counts_of(b_info, b);
  for (const auto &[place, count] : a_counts) {
    const auto other = b_counts.find(place);
    if (other == b_counts.end() || other->second == count)
      continue;
    snprintf(text, sizeof text, "+0x%x, action %u: %" PRIu64 ", and %" PRIu64, place.first,
             place.second, count, other->second);
    return text;
  }
  if (!(a_info->kinds & b_info->kinds & RAWHAL_PROBE_WAVES))
    return "";
  if (a.waves.size() != b.waves.size())
    return "waves: " + std::to_string(a.waves.size()) + ", and " + std::to_string(b.waves.size());
  const Points a_points = points_of(a_info), b_points = points_of(b_info);
  Points common;
  for (const auto &[place, point] : a_points)
    if (b_points.count(place))
      common[place] = point;
  const std::vector<Wave> a_waves = waves_with_events(a, a_points, common),
                          b_waves = waves_with_events(b, b_points, common);
  const bool all =
      a.header.events <= a.header.event_capacity && b.header.events <= b.header.event_capacity;
  for (size_t i = 0; i < a_waves.size(); ++i) {
    const std::string what = differ(a_waves[i], b_waves[i], a, b, common, all);
    if (!what.empty())
      return what;
  }
  return "";
}
