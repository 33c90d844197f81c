/* How the memory for a dispatch's records is divided, by whoever launches it. Internal. */
#ifndef RAWHAL_PROBE_BUFFER_ROOM_H
#define RAWHAL_PROBE_BUFFER_ROOM_H

#include <rawhal/probe.h>

typedef struct probe_room {
  uint64_t events_at, bytes; /* of events, from the first; of all */
  uint32_t wave_capacity, event_capacity;
} probe_room_t;

/* Waves first, as events have their numbers: all of the grid's, in half of `buffer` at most, if
 * there are events. The plan's buffer for one wave is not larger than that. */
probe_room_t probe_room(const rawhal_probe_plan_t *plan, uint64_t buffer, const uint32_t grid[3],
                        const uint16_t workgroup[3]);

/* What the probes are told of memory that begins there and is divided so. */
static inline rawhal_probe_argument_t probe_room_argument(const probe_room_t *room, uint64_t memory)
{
  return (rawhal_probe_argument_t){.buffer = memory,
                                   .events = room->event_capacity ? memory + room->events_at : 0,
                                   .wave_capacity = room->wave_capacity,
                                   .event_capacity = room->event_capacity};
}

#endif
