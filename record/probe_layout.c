#include "record/probe_layout.h"

#include "base/checked.h"
#include "base/error.h"

enum { ALIGNMENT = 64 };

bool probe_is_sound(const record_probe_t *probe)
{
  const uint32_t bytes = probe->event_bytes;
  return (!bytes || bytes == RECORD_EVENT_BYTES || bytes == RECORD_EVENT_LANES_BYTES) &&
         probe->counters <= RECORD_MOST_COUNTERS && probe->point_count <= RECORD_MOST_POINTS &&
         (unsigned)probe->maker <= RECORD_MADE_BY_DEVICE;
}

static bool counts(const rawhal_probe_point_t *point)
{
  return point->action == RAWHAL_PROBE_COUNT || point->action == RAWHAL_PROBE_PASSED ||
         point->action == RAWHAL_PROBE_ACTIVE;
}

rawhal_status_t probe_check_points(const record_probe_t *probe, const rawhal_probe_point_t *points,
                                   rawhal_status_t status, rawhal_error_t *error)
{
  for (uint32_t i = 0; i < probe->point_count; ++i)
    if ((i && points[i].offset < points[i - 1].offset) || points[i].offset >= probe->code_bytes ||
        (counts(&points[i]) && points[i].counter >= probe->counters))
      return rawhal_fail(error, status,
                         "point %u is at %u of %u bytes of code, and counts %u of %u", i,
                         points[i].offset, probe->code_bytes, points[i].counter, probe->counters);
  return RAWHAL_OK;
}

/* Counts are of 32 bits, and nothing of what they count has more bytes than an event with lanes, so
 * that no product overflows. */
bool probe_layout(const format_probed_t *probed, uint32_t counters, uint32_t event_bytes,
                  probe_layout_t *layout)
{
  uint64_t end;
  *layout = (probe_layout_t){.names = (uint64_t)probed->allocations * sizeof(format_allocation_t)};
  if (event_bytes > RECORD_EVENT_LANES_BYTES ||
      !checked_align_u64(layout->names + probed->names_size, ALIGNMENT, &layout->header))
    return false;
  layout->counters = layout->header + sizeof(rawhal_probe_header_t);
  end = layout->counters + (uint64_t)counters * sizeof(uint64_t);
  if (!checked_align_u64(end, ALIGNMENT, &layout->waves))
    return false;
  layout->events = layout->waves + (uint64_t)probed->waves * sizeof(rawhal_probe_wave_t);
  layout->size = layout->events + (uint64_t)probed->events * event_bytes;
  return true;
}
