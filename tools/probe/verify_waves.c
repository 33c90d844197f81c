/* rawhal probe verify: records of waves, held against the grid. */
#include "tools/probe/verify.h"

#include <inttypes.h>
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

static rawhal_probe_wave_t wave_at(const unsigned char *first, uint32_t number)
{
  rawhal_probe_wave_t wave;
  memcpy(&wave, first + (size_t)number * sizeof(wave), sizeof(wave));
  return wave;
}

static bool check_times(const unsigned char *first, uint32_t count, verify_dispatch_t *dispatch)
{
  for (uint32_t i = 0; i < count; ++i) {
    const rawhal_probe_wave_t wave = wave_at(first, i);
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

static bool check_axis(const unsigned char *first, uint32_t count, unsigned axis,
                       verify_dispatch_t *dispatch)
{
  const record_dispatch_t *grid = &dispatch->replay->source->dispatch;
  const bool given = is_given(dispatch->kernel->facts, axis);
  const uint32_t groups = (grid->work_items[axis] - 1) / grid->workgroup[axis] + 1;
  uint32_t *counts = calloc(groups, sizeof(*counts)), wrong = 0;
  bool same = counts != NULL;
  for (uint32_t i = 0; same && i < count; ++i) {
    const uint32_t group = wave_at(first, i).workgroup[axis];
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

bool verify_waves(const unsigned char *first, uint32_t count, uint64_t all,
                  verify_dispatch_t *dispatch)
{
  bool same = check_times(first, count, dispatch);
  for (unsigned axis = 0; same && axis < 3 && count == all && count; ++axis)
    same = check_axis(first, count, axis, dispatch);
  return same;
}
