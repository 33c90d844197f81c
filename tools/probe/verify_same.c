/* rawhal probe verify: what two runs of a dispatch left, held against each other. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <string.h>

uint64_t verify_counter(const verify_taken_t *taken, uint32_t counter)
{
  uint64_t count;
  memcpy(&count, taken->counters + counter * sizeof(count), sizeof(count));
  return count;
}

static bool same_counters(const verify_taken_t *one, const verify_taken_t *other,
                          char said[VERIFY_SAID])
{
  static const char *const what[] = {[RAWHAL_PROBE_COUNT] = "waves that come to",
                                     [RAWHAL_PROBE_PASSED] = "waves that do not branch at",
                                     [RAWHAL_PROBE_ACTIVE] = "active lanes at"};
  for (size_t i = 0; i < one->info->point_count; ++i) {
    const rawhal_probe_point_t *point = &one->info->points[i];
    if (point->action >= sizeof(what) / sizeof(*what) || !what[point->action])
      continue;
    const uint64_t ones = verify_counter(one, point->counter),
                   others = verify_counter(other, point->counter);
    if (ones == others)
      continue;
    verify_say(said, "%s +0x%" PRIx32 ": %" PRIu64 ", and %" PRIu64, what[point->action],
               point->offset, ones, others);
    return false;
  }
  return true;
}

static bool same_total(const char *what, uint32_t one, uint32_t other, char said[VERIFY_SAID])
{
  if (one != other)
    verify_say(said, "%s: %" PRIu32 ", and %" PRIu32, what, one, other);
  return one == other;
}

bool verify_same(const verify_taken_t *one, const verify_taken_t *other, char said[VERIFY_SAID])
{
  const bool has_waves = one->info->kinds & RAWHAL_PROBE_WAVES;
  return same_counters(one, other, said) &&
         (!has_waves || same_total("waves", one->header.waves, other->header.waves, said)) &&
         same_total("events", one->header.events, other->header.events, said) &&
         (!has_waves || verify_events(one, other, said));
}
