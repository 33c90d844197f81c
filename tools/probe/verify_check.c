/* rawhal probe verify: what the copy records of a dispatch, held against what is known of that. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <string.h>

static bool check_header(const verify_taken_t *copy, char said[VERIFY_SAID])
{
  static const uint64_t zero[6];
  const rawhal_probe_header_t *header = &copy->header;
  if (header->wave_capacity == copy->argument.wave_capacity &&
      header->event_capacity == copy->argument.event_capacity &&
      !memcmp(header->zero, zero, sizeof(zero)))
    return true;
  verify_say(said, "the copy has changed what its records begin with");
  return false;
}

static bool check_guard(const verify_taken_t *copy, char said[VERIFY_SAID])
{
  const uint32_t untouched = VERIFY_UNTOUCHED;
  for (size_t i = 0; i < VERIFY_GUARD; i += sizeof(untouched))
    if (memcmp(copy->guard + i, &untouched, sizeof(untouched)) != 0) {
      verify_say(said, "the copy writes beyond the memory of its records");
      return false;
    }
  return true;
}

static bool check_waves(const verify_taken_t *copy, verify_dispatch_t *dispatch)
{
  const bool wanted = copy->info->kinds & RAWHAL_PROBE_WAVES;
  const uint64_t waves = wanted ? verify_waves_of(&dispatch->replay->source->dispatch) : 0;
  if (copy->header.waves == waves)
    return verify_waves(copy, dispatch);
  verify_say(dispatch->said, "the copy has recorded %" PRIu32 " waves; the grid has %" PRIu64,
             copy->header.waves, waves);
  return false;
}

static bool is_place(const rawhal_probe_plan_info_t *info, uint32_t offset)
{
  const size_t point = verify_point_at(info, offset);
  return point < info->point_count && info->points[point].offset == offset;
}

static bool check_events(const verify_taken_t *copy, char said[VERIFY_SAID])
{
  for (uint32_t i = 0; i < copy->event_count; ++i) {
    rawhal_probe_event_t event;
    memcpy(&event, copy->events + (size_t)i * copy->info->event_bytes, sizeof(event));
    if (event.wave < copy->header.waves && is_place(copy->info, event.offset))
      continue;
    verify_say(said,
               "the copy's event %" PRIu32 " is of wave %" PRIu32 " at +0x%" PRIx32
               ", where there is none",
               i, event.wave, event.offset);
    return false;
  }
  if (copy->header.events && !copy->info->event_bytes) {
    verify_say(said, "the copy counts %" PRIu32 " events, of which it has none",
               copy->header.events);
    return false;
  }
  return true;
}

static uint64_t count_instructions(const verify_taken_t *copy)
{
  uint64_t sum = 0;
  for (size_t i = 0; i < copy->info->point_count; ++i) {
    const rawhal_probe_point_t *point = &copy->info->points[i];
    if (point->action == RAWHAL_PROBE_COUNT)
      sum += verify_counter(copy, point->counter) * point->instructions;
  }
  return sum;
}

static bool check_blocks(const verify_taken_t *copy, verify_dispatch_t *dispatch)
{
  if (!(copy->info->kinds & RAWHAL_PROBE_BLOCKS) || !dispatch->counts)
    return true;
  const uint64_t counted = count_instructions(copy);
  if (counted == dispatch->instructions)
    return true;
  verify_say(dispatch->said,
             "by the copy's counters waves have run %" PRIu64
             " instructions; the device counts %" PRIu64,
             counted, dispatch->instructions);
  return false;
}

/* Against softgpu's own, of the original, and of this run. */
static bool check_same(const verify_taken_t *copy, const verify_taken_t *watched,
                       verify_dispatch_t *dispatch)
{
  char said[VERIFY_SAID];
  if (!dispatch->seen.bytes)
    return true;
  if (!verify_same(copy, &dispatch->seen, said)) {
    verify_say(dispatch->said,
               "the copy's records are not those that softgpu made of the original: %.500s", said);
    return false;
  }
  return !watched->bytes || verify_places(copy, watched, dispatch);
}

static void add_up(const verify_taken_t *copy, const verify_dispatch_t *dispatch)
{
  verify_kernel_t *kernel = dispatch->kernel;
  kernel->has_waves = copy->info->kinds & RAWHAL_PROBE_WAVES;
  kernel->has_instructions = copy->info->kinds & RAWHAL_PROBE_BLOCKS && dispatch->counts;
  kernel->has_records = dispatch->seen.bytes;
  kernel->waves += copy->header.waves;
  kernel->instructions += dispatch->instructions;
  kernel->lost += copy->header.events - copy->event_count;
  kernel->records.waves += copy->wave_count;
  kernel->records.counters += copy->info->counters;
  kernel->records.events += copy->event_count;
}

bool verify_check(const verify_taken_t *copy, const verify_taken_t *watched,
                  verify_dispatch_t *dispatch)
{
  const bool same = check_header(copy, dispatch->said) && check_guard(copy, dispatch->said) &&
                    check_waves(copy, dispatch) && check_events(copy, dispatch->said) &&
                    check_blocks(copy, dispatch) && check_same(copy, watched, dispatch);
  if (same)
    add_up(copy, dispatch);
  return same;
}
