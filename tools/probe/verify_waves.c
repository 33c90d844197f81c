/* rawhal probe verify: records of waves, held against the grid. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Work-groups at the end of the grid may be smaller: of each of the eight sorts, how many there
 * are, times the waves that one has. */
uint64_t verify_waves_of(const record_dispatch_t *dispatch)
{
  uint64_t waves = 0;
  for (unsigned sort = 0; sort < 8; ++sort) {
    uint64_t groups = 1, items = 1;
    for (unsigned i = 0; i < 3; ++i) {
      const uint64_t size = dispatch->workgroup[i], all = dispatch->work_items[i];
      const bool is_last = sort >> i & 1;
      const uint64_t rest = all % size;
      groups *= !is_last ? all / size : rest ? 1 : 0;
      items *= is_last ? rest : size;
    }
    waves += groups * ((items + RAWHAL_PROBE_LANES - 1) / RAWHAL_PROBE_LANES);
  }
  return waves;
}

/* ---- Records ---- */

rawhal_probe_wave_t verify_wave_at(const verify_taken_t *taken, uint32_t number)
{
  rawhal_probe_wave_t wave;
  memcpy(&wave, taken->waves + (size_t)number * sizeof(wave), sizeof(wave));
  return wave;
}

static bool check_times(const verify_taken_t *copy, verify_dispatch_t *dispatch)
{
  for (uint32_t i = 0; i < copy->wave_count; ++i) {
    const rawhal_probe_wave_t wave = verify_wave_at(copy, i);
    if (wave.start && wave.end >= wave.start)
      continue;
    verify_say(dispatch->said, "the copy's record of wave %" PRIu32 " has no %s", i,
               !wave.start ? "start"
               : wave.end  ? "end after its start"
                           : "end");
    return false;
  }
  return true;
}

/* Waves whose work-group has that number on an axis: as many as of a grid that has no others. */
static uint64_t waves_in(const record_dispatch_t *dispatch, unsigned axis, uint32_t group)
{
  record_dispatch_t slice = *dispatch;
  const uint32_t size = dispatch->workgroup[axis], left = dispatch->work_items[axis] - group * size;
  slice.work_items[axis] = left < size ? left : size;
  return verify_waves_of(&slice);
}

/* Of a kernel that is not given it, numbers are 0. */
static bool is_given(const rawhal_kernel_t *kernel, unsigned axis)
{
  enum { GROUP_ID_X = 7 }; /* ENABLE_SGPR_WORKGROUP_ID_X of COMPUTE_PGM_RSRC2, and Y and Z */
  return kernel->descriptor->pgm_rsrc2 >> (GROUP_ID_X + axis) & 1;
}

static bool check_axis(const verify_taken_t *copy, unsigned axis, verify_dispatch_t *dispatch)
{
  const uint32_t count = copy->wave_count;
  const record_dispatch_t *grid = &dispatch->replay->source->dispatch;
  const bool given = is_given(dispatch->kernel->facts, axis);
  const uint32_t groups = (grid->work_items[axis] - 1) / grid->workgroup[axis] + 1;
  uint32_t *counts = calloc(groups, sizeof(*counts)), wrong = 0;
  bool same = counts != NULL;
  for (uint32_t i = 0; same && i < count; ++i) {
    const uint32_t group = verify_wave_at(copy, i).workgroup[axis];
    same = group < groups;
    wrong = group;
    if (same)
      ++counts[group];
  }
  for (uint32_t i = 0; same && i < groups; ++i) {
    same = counts[i] == (given ? waves_in(grid, axis, i) : i ? 0 : count);
    wrong = i;
  }
  free(counts);
  if (!same)
    verify_say(dispatch->said,
               "the copy's records do not have the waves of work-groups %" PRIu32 " on axis %c",
               wrong, "xyz"[axis]);
  return same;
}

bool verify_waves(const verify_taken_t *copy, verify_dispatch_t *dispatch)
{
  const bool all = copy->wave_count == copy->header.waves && copy->wave_count;
  bool same = check_times(copy, dispatch);
  for (unsigned axis = 0; same && axis < 3 && all; ++axis)
    same = check_axis(copy, axis, dispatch);
  return same;
}

/* ---- The same run, by softgpu ---- */

static int compare_places(const rawhal_probe_wave_t *one, const rawhal_probe_wave_t *other)
{
  enum { FROM = offsetof(rawhal_probe_wave_t, hw_id), TO = offsetof(rawhal_probe_wave_t, end) };
  return memcmp((const char *)one + FROM, (const char *)other + FROM, TO - FROM);
}

static int compare_starts(const void *a, const void *b)
{
  const rawhal_probe_wave_t *one = a, *other = b;
  const int places = compare_places(one, other);
  return places ? places : one->start < other->start ? -1 : one->start > other->start;
}

static int compare_ends(const void *a, const void *b)
{
  const rawhal_probe_wave_t *one = a, *other = b;
  const int places = compare_places(one, other);
  return places ? places : one->end < other->end ? -1 : one->end > other->end;
}

/* Each at its place, and of those at one place the first within the first, and so on. */
static bool same_places(rawhal_probe_wave_t *copies, rawhal_probe_wave_t *watched, uint32_t count,
                        verify_dispatch_t *dispatch)
{
  static int (*const orders[])(const void *, const void *) = {compare_starts, compare_ends};
  for (int order = 0; order < 2; ++order) {
    qsort(copies, count, sizeof(*copies), orders[order]);
    qsort(watched, count, sizeof(*watched), orders[order]);
    for (uint32_t i = 0; i < count; ++i) {
      const rawhal_probe_wave_t *one = &copies[i], *other = &watched[i];
      const bool same = !compare_places(one, other);
      if (same && (order ? one->end <= other->end : one->start >= other->start))
        continue;
      verify_say(dispatch->said,
                 "the copy has recorded a wave of work-group %" PRIu32 ",%" PRIu32 ",%" PRIu32
                 ", first item 0x%" PRIx32 ", HW_ID 0x%" PRIx32 ", XCC_ID %" PRIu32
                 ", %s, which softgpu has not seen so",
                 one->workgroup[0], one->workgroup[1], one->workgroup[2], one->first_item,
                 one->hw_id, one->xcc_id,
                 same ? order ? "and its end" : "and its start" : "at that place");
      return false;
    }
  }
  return true;
}

static rawhal_probe_wave_t *waves_of(const verify_taken_t *taken)
{
  const size_t size = taken->wave_count * sizeof(rawhal_probe_wave_t);
  rawhal_probe_wave_t *waves = malloc(size + 1);
  return waves ? memcpy(waves, taken->waves, size) : NULL;
}

bool verify_places(const verify_taken_t *copy, const verify_taken_t *watched,
                   verify_dispatch_t *dispatch)
{
  if (copy->wave_count != copy->header.waves || watched->wave_count != copy->wave_count)
    return true; /* there are too many; and how many there are is the grid's */
  rawhal_probe_wave_t *copies = waves_of(copy), *others = waves_of(watched);
  bool same = copies && others;
  if (same)
    same = same_places(copies, others, copy->wave_count, dispatch);
  else
    verify_say(dispatch->said, "there is no memory to compare waves");
  free(copies);
  free(others);
  return same;
}
