#include "probe/buffer_room.h"

#include "base/checked.h"
#include "probe/stub.h"

/* As rawhal_probe_argument_t.events says: what there is no room for is still within 4 GiB. */
enum { EVENTS_LEFT = 16 };
_Static_assert((int)STUB_TOGETHER <= (int)EVENTS_LEFT,
               "numbers that are taken together are left, too");

/* Of a grid, or the most that can be. */
static uint64_t waves_of(const uint32_t grid[3], const uint16_t workgroup[3])
{
  const uint64_t size = (uint64_t)workgroup[0] * workgroup[1] * workgroup[2];
  uint64_t waves = (size + RAWHAL_PROBE_LANES - 1) / RAWHAL_PROBE_LANES;
  for (size_t i = 0; i < 3; ++i)
    if (!workgroup[i] ||
        !checked_mul_u64(waves, (grid[i] + (uint64_t)workgroup[i] - 1) / workgroup[i], &waves))
      return UINT32_MAX;
  return waves < UINT32_MAX ? waves : UINT32_MAX;
}

probe_room_t probe_room(const rawhal_probe_plan_t *plan, uint64_t buffer, const uint32_t grid[3],
                        const uint16_t workgroup[3])
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
  const uint64_t half = (buffer - rawhal_probe_buffer_bytes(plan, 0)) / (info->event_bytes ? 2 : 1),
                 waves = info->kinds & RAWHAL_PROBE_WAVES ? waves_of(grid, workgroup) : 0,
                 most = half / sizeof(rawhal_probe_wave_t);
  probe_room_t room = {.wave_capacity = (uint32_t)(waves < most ? waves : most)};
  room.events_at = rawhal_probe_buffer_bytes(plan, room.wave_capacity);
  const uint64_t events = info->event_bytes ? (buffer - room.events_at) / info->event_bytes : 0,
                 most_events = info->event_bytes ? UINT32_MAX / info->event_bytes - EVENTS_LEFT : 0;
  room.event_capacity = (uint32_t)(events < most_events ? events : most_events);
  room.bytes = room.events_at + (uint64_t)room.event_capacity * info->event_bytes;
  return room;
}
