#include "tools/probe/figures.h"

#include <stdlib.h>
#include <string.h>

#include "tools/shared/tool.h"

/* A wave at a barrier. */
typedef struct arrival {
  uint32_t site, workgroup[3];
  uint32_t number; /* of its event */
  uint32_t wave;   /* in its group */
} arrival_t;

enum { MOST_TURNS = 64 << 20 }; /* bytes */

static const rawhal_probe_point_t *point_of(const figures_t *figures, const site_t *site)
{
  return &figures->kernel->points[site->point];
}

/* ---- Waves in groups ---- */

uint64_t figures_group_waves(const figures_t *figures)
{
  const uint64_t items = (uint64_t)figures->group_items[0] * figures->group_items[1] *
                         (figures->group_items[2] ? figures->group_items[2] : 1);
  return items ? (items + RAWHAL_PROBE_LANES - 1) / RAWHAL_PROBE_LANES : 1;
}

uint64_t figures_wave_in_group(const figures_t *figures, const rawhal_probe_wave_t *wave)
{
  const uint64_t x = wave->first_item & 1023, y = wave->first_item >> 10 & 1023,
                 z = wave->first_item >> 20 & 1023;
  const uint64_t wide = figures->group_items[0], high = figures->group_items[1];
  return (x + wide * (y + high * z)) / RAWHAL_PROBE_LANES;
}

/* ---- One event ---- */

static void note_place(figures_t *figures, site_t *site, uint64_t address, unsigned bytes,
                       uint32_t number)
{
  const size_t place =
      places_note(&figures->places, address, bytes, point_of(figures, site)->flags, number);
  site->elsewhere += !place;
  for (int i = 0; place && i < FIGURES_SITE_PLACES; ++i)
    if (!site->places[i].place || site->places[i].place == place) {
      site->places[i].place = place;
      ++site->places[i].accesses;
      return;
    }
  site->other_places += place != 0;
}

static void note_lds(site_t *site, const access_t *access)
{
  access_banks_t banks;
  access_count_banks(access, &banks);
  for (unsigned i = 0; i < access->lds_count; ++i) {
    const uint32_t at = access->lds[i];
    const bool fresh = !site->lds && !i;
    site->lds_first = fresh || at < site->lds_first ? at : site->lds_first;
    site->lds_last = fresh || at > site->lds_last ? at : site->lds_last;
  }
  ++site->lds;
  site->groups += banks.groups;
  site->passes += banks.passes;
  site->worst = banks.worst > site->worst ? banks.worst : site->worst;
}

static void note_access(figures_t *figures, site_t *site, uint32_t number,
                        const rawhal_probe_event_t *event, const uint64_t *lanes)
{
  access_t access;
  access_lines_t lines;
  access_resolve(point_of(figures, site), event, lanes, &access);
  site->untold += !access.is_told;
  site->scratch += access.scratch;
  site->outside += access.outside;
  site->bytes += (uint64_t)access.bytes * (access.global_count + access.lds_count);
  if (access.lds_count)
    note_lds(site, &access);
  if (!access.global_count)
    return;
  access_count_lines(&access, &lines);
  ++site->global;
  site->global_lanes += access.global_count;
  for (int k = 0; k < 2; ++k) {
    site->touched[k] += lines.touched[k];
    site->ideal[k] += lines.ideal[k];
  }
  for (unsigned i = 0; i < access.global_count; ++i)
    note_place(figures, site, access.global[i], access.bytes, number);
}

static void note_value(figures_t *figures, site_t *site, const rawhal_probe_event_t *event,
                       const uint64_t *lanes)
{
  if (!site->value_count) { /* room for all that it may have, one after the other */
    if (FIGURES_MOST_VALUES - figures->value_count < FIGURES_VALUES)
      return;
    site->first_value = figures->value_count;
    figures->value_count += FIGURES_VALUES;
  }
  if (!figures->values || site->value_count == FIGURES_VALUES)
    return;
  site_value_t *value = &figures->values[site->first_value + site->value_count++];
  value->wave = event->wave;
  value->exec = event->exec;
  if (point_of(figures, site)->source == RAWHAL_PROBE_SGPR || !lanes)
    value->lanes[0] = event->scalar[0];
  else
    memcpy(value->lanes, lanes, sizeof(value->lanes));
}

static bool note_arrival(figures_t *figures, const site_t *site, uint32_t number,
                         const rawhal_probe_event_t *event)
{
  if (!site->last || event->wave >= figures->records->waves)
    return true;
  const rawhal_probe_wave_t *wave = &figures->waves[event->wave];
  const arrival_t arrival = {(uint32_t)(site - figures->kernel->sites),
                             {wave->workgroup[0], wave->workgroup[1], wave->workgroup[2]},
                             number,
                             (uint32_t)figures_wave_in_group(figures, wave)};
  return list_add(&figures->arrivals, &arrival, sizeof(arrival)) != NULL;
}

/* ---- Which point an event is of ---- */

/* The first site at a place, and how many there are. */
static size_t sites_at(const figures_t *figures, uint32_t offset, size_t *first)
{
  const kernel_t *kernel = figures->kernel;
  size_t from = 0, to = kernel->site_count, end;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (kernel->points[kernel->sites[middle].point].offset < offset)
      from = middle + 1;
    else
      to = middle;
  }
  for (end = from; end < kernel->site_count && end - from < UINT8_MAX &&
                   kernel->points[kernel->sites[end].point].offset == offset;)
    ++end;
  *first = from;
  return end - from;
}

/* Where several events are made at one place, each wave makes them in the order of the points. */
static site_t *site_of(figures_t *figures, const rawhal_probe_event_t *event)
{
  size_t first;
  const size_t count = sites_at(figures, event->offset, &first);
  if (count <= 1)
    return count ? &figures->kernel->sites[first] : NULL;
  const uint64_t row = (uint64_t)first * figures->records->waves;
  if (!figures->turns || event->wave >= figures->records->waves)
    return NULL;
  uint8_t *turn = &figures->turns[row + event->wave];
  site_t *site = &figures->kernel->sites[first + *turn];
  *turn = (uint8_t)((*turn + 1u) % count);
  return site;
}

/* Which wave came last is not told without memory for it, or where waves or events are lost. */
static void follow_barriers(const figures_t *figures)
{
  kernel_t *kernel = figures->kernel;
  if (figures->header.events != figures->records->events ||
      figures->header.waves != figures->records->waves)
    return;
  for (size_t i = 0, followed = 0; i < kernel->site_count && followed < 1024; ++i)
    if (kernel->points[kernel->sites[i].point].action == RAWHAL_PROBE_ARRIVE) {
      kernel->sites[i].last = calloc(FIGURES_GROUP_WAVES, sizeof(uint64_t));
      ++followed;
    }
}

/* A kernel that is not given its work-group's id has zeros there. */
static bool groups_are_told(const figures_t *figures)
{
  bool told[3] = {false, false, false};
  for (uint32_t i = 0; i < figures->records->waves; ++i)
    for (int k = 0; k < 3; ++k)
      told[k] |= figures->waves[i].workgroup[k] != 0;
  for (int k = 0; k < 3; ++k)
    if (!told[k] && figures->grid_items[k] > figures->group_items[k])
      return false;
  return true;
}

static int compare_arrivals(const void *a, const void *b)
{
  const arrival_t *first = a, *second = b;
  const int order = memcmp(first, second, offsetof(arrival_t, number));
  return order ? order : (first->number > second->number) - (first->number < second->number);
}

/* Records are made one after the other: the wave whose record is the last of its group's at a
 * barrier came last. */
static void count_last(figures_t *figures)
{
  arrival_t *all = figures->arrivals.items;
  const uint64_t waves = figures_group_waves(figures);
  if (figures->arrivals.count)
    qsort(all, figures->arrivals.count, sizeof(*all), compare_arrivals);
  for (size_t i = 0, begin = 0; i < figures->arrivals.count; ++i) {
    if (memcmp(&all[i], &all[begin], offsetof(arrival_t, number)) != 0)
      begin = i;
    if ((i - begin + 1) % waves)
      continue;
    const uint32_t wave = all[i].wave < FIGURES_GROUP_WAVES ? all[i].wave : FIGURES_GROUP_WAVES - 1;
    ++figures->kernel->sites[all[i].site].last[wave];
  }
}

static void forget_barriers(const figures_t *figures)
{
  kernel_t *kernel = figures->kernel;
  for (size_t i = 0; i < kernel->site_count; ++i) {
    free(kernel->sites[i].last);
    kernel->sites[i].last = NULL;
  }
}

/* ---- Reading ---- */

static rawhal_status_t take_allocation(void *context, uint32_t number,
                                       const record_allocation_t *allocation, rawhal_error_t *error)
{
  figures_t *figures = context;
  (void)number;
  if (places_add(&figures->places, allocation))
    return RAWHAL_OK;
  (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for allocations");
  return RAWHAL_OUT_OF_MEMORY;
}

static rawhal_status_t take_header(void *context, const rawhal_probe_header_t *header,
                                   rawhal_error_t *error)
{
  figures_t *figures = context;
  figures->header = *header;
  follow_barriers(figures);
  if (places_sort(&figures->places))
    return RAWHAL_OK;
  (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for allocations");
  return RAWHAL_OUT_OF_MEMORY;
}

static rawhal_status_t take_counter(void *context, uint32_t number, uint64_t value,
                                    rawhal_error_t *error)
{
  figures_t *figures = context;
  (void)error;
  figures->counters[number] = value;
  return RAWHAL_OK;
}

static rawhal_status_t take_wave(void *context, uint32_t number, const rawhal_probe_wave_t *wave,
                                 rawhal_error_t *error)
{
  figures_t *figures = context;
  (void)error;
  figures->waves[number] = *wave;
  return RAWHAL_OK;
}

static rawhal_status_t take_event(void *context, uint32_t number, const rawhal_probe_event_t *event,
                                  const uint64_t *lanes, rawhal_error_t *error)
{
  figures_t *figures = context;
  site_t *site = site_of(figures, event);
  figures->unknown += !site;
  if (!site)
    return RAWHAL_OK;
  ++site->events;
  site->lanes += (uint64_t)__builtin_popcountll(event->exec);
  switch (point_of(figures, site)->action) {
  case RAWHAL_PROBE_ACCESS:
    note_access(figures, site, number, event, lanes);
    break;
  case RAWHAL_PROBE_VALUE:
    note_value(figures, site, event, lanes);
    break;
  default:
    if (note_arrival(figures, site, number, event))
      break;
    (void)tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for barriers");
    return RAWHAL_OUT_OF_MEMORY;
  }
  return RAWHAL_OK;
}

/* ---- All of them ---- */

/* Are there places where several events are made? */
static bool needs_turns(const kernel_t *kernel)
{
  for (size_t i = 1; i < kernel->site_count; ++i)
    if (kernel->points[kernel->sites[i].point].offset ==
        kernel->points[kernel->sites[i - 1].point].offset)
      return true;
  return false;
}

static void clear_sites(const figures_t *figures)
{
  kernel_t *kernel = figures->kernel;
  for (size_t i = 0; i < kernel->site_count; ++i) {
    site_t *site = &kernel->sites[i];
    if (!site->events && !site->last)
      continue;
    free(site->last);
    *site = (site_t){.point = site->point};
  }
}

static bool make_room(figures_t *figures, rawhal_error_t *error)
{
  const record_records_t *records = figures->records;
  const kernel_t *kernel = figures->kernel;
  const uint64_t turns = needs_turns(kernel) ? (uint64_t)kernel->site_count * records->waves : 0;
  figures->counters = calloc((size_t)records->counters + 1, sizeof(*figures->counters));
  figures->waves = calloc((size_t)records->waves + 1, sizeof(*figures->waves));
  if (kernel->probe.kinds & RAWHAL_PROBE_VALUES)
    figures->values = calloc(FIGURES_MOST_VALUES, sizeof(*figures->values));
  if (turns && turns <= MOST_TURNS)
    figures->turns = calloc(1, (size_t)turns);
  const bool done = figures->counters && figures->waves &&
                    (figures->values || !(kernel->probe.kinds & RAWHAL_PROBE_VALUES));
  return done ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for the records of a dispatch");
}

bool figures_read(figures_t *figures, record_reader_t *reader, uint64_t number,
                  const record_records_t *records, kernel_t *kernel,
                  const record_dispatch_t *dispatch, rawhal_error_t *error)
{
  const record_take_records_t take = {take_allocation, take_header, take_counter,
                                      take_wave,       take_event,  figures};
  *figures = (figures_t){.records = records, .kernel = kernel};
  for (int i = 0; i < 3; ++i) {
    figures->group_items[i] = dispatch->workgroup[i];
    figures->grid_items[i] = dispatch->work_items[i];
  }
  figures->places.events = records->events;
  clear_sites(figures);
  if (!make_room(figures, error) || record_reader_take(reader, number, &take, error))
    return false;
  if (groups_are_told(figures))
    count_last(figures);
  else
    forget_barriers(figures);
  return !figures->places.out_of_memory ||
         tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "no memory for what was accessed");
}

void figures_free(figures_t *figures)
{
  list_free(&figures->arrivals);
  free(figures->counters);
  free(figures->waves);
  free(figures->values);
  free(figures->turns);
  places_free(&figures->places);
  *figures = (figures_t){0};
}
