/* Where waves ran, and how many at a time. */
#include <stdlib.h>

#include "tools/probe/figures.h"
#include "tools/shared/tool.h"

uint16_t unit_of(const rawhal_probe_wave_t *wave)
{
  return (uint16_t)((wave->xcc_id & 15) << 8 | (wave->hw_id >> 13 & 7) << 5 |
                    (wave->hw_id >> 12 & 1) << 4 | (wave->hw_id >> 8 & 15));
}

/* A wave begins or ends. */
typedef struct change {
  uint64_t time;
  uint16_t unit;
  int16_t by;
} change_t;

/* Ends before beginnings of the same time. */
static int compare(const void *a, const void *b)
{
  const change_t *first = a, *second = b;
  if (first->time != second->time)
    return first->time < second->time ? -1 : 1;
  return first->by - second->by;
}

static bool has_ended(const rawhal_probe_wave_t *wave)
{
  return wave->end && wave->end >= wave->start;
}

static uint64_t add(uint64_t a, uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void count(const figures_t *figures, wave_figures_t *waves, unit_t *units, change_t *changes,
                  size_t *change_count)
{
  waves->begin = UINT64_MAX;
  for (uint32_t i = 0; i < figures->records->waves; ++i) {
    const rawhal_probe_wave_t *wave = &figures->waves[i];
    unit_t *unit = &units[unit_of(wave)];
    ++unit->waves;
    ++unit->simds[wave->hw_id >> 4 & 3];
    if (!has_ended(wave)) {
      ++waves->unfinished;
      continue;
    }
    unit->busy = add(unit->busy, wave->end - wave->start);
    waves->busy = add(waves->busy, wave->end - wave->start);
    waves->begin = wave->start < waves->begin ? wave->start : waves->begin;
    waves->end = wave->end > waves->end ? wave->end : waves->end;
    changes[(*change_count)++] = (change_t){wave->start, unit_of(wave), 1};
    changes[(*change_count)++] = (change_t){wave->end, unit_of(wave), -1};
  }
  waves->begin = waves->end ? waves->begin : 0;
}

static bool find_most(wave_figures_t *waves, unit_t *units, change_t *changes, size_t change_count)
{
  int64_t *now = calloc(UNITS, sizeof(*now)), all = 0;
  if (!now)
    return false;
  qsort(changes, change_count, sizeof(*changes), compare);
  for (size_t i = 0; i < change_count; ++i) {
    unit_t *unit = &units[changes[i].unit];
    now[changes[i].unit] += changes[i].by;
    all += changes[i].by;
    unit->most = now[changes[i].unit] > unit->most ? (uint32_t)now[changes[i].unit] : unit->most;
    waves->most = all > waves->most ? (uint32_t)all : waves->most;
  }
  free(now);
  return true;
}

bool wave_figures(const figures_t *figures, wave_figures_t *waves, rawhal_error_t *error)
{
  size_t change_count = 0;
  unit_t *units = calloc(UNITS, sizeof(*units));
  change_t *changes = calloc(2 * (size_t)figures->records->waves + 1, sizeof(*changes));
  *waves = (wave_figures_t){.units = units};
  bool done = units && changes;
  if (done)
    count(figures, waves, units, changes, &change_count);
  done = done && find_most(waves, units, changes, change_count);
  for (size_t i = 0; done && i < UNITS; ++i)
    if (units[i].waves) {
      units[waves->unit_count] = units[i];
      units[waves->unit_count++].place = (uint16_t)i;
    }
  free(changes);
  if (done)
    return true;
  wave_figures_free(waves);
  return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for waves of a dispatch");
}

void wave_figures_free(wave_figures_t *waves)
{
  free(waves->units);
  *waves = (wave_figures_t){0};
}
