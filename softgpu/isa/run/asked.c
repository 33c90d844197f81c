/* What is to be probed, from when somebody asks for it until its dispatch begins. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/isa/run/probe.h"

enum {
  ASKED_MOST = 1024,      /* that wait at a time */
  ASKED_BYTES = 64 << 20, /* and what they take */
  POINTS_MOST = 1 << 20,  /* of one */
  BUFFER_ALIGNMENT = 64,  /* of addresses */
  ALL_KINDS = RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_EDGES | RAWHAL_PROBE_EXEC |
              RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_VALUES | RAWHAL_PROBE_BARRIERS,
  NUMBER_WAVES = RAWHAL_PROBE_MEMORY | RAWHAL_PROBE_VALUES | RAWHAL_PROBE_BARRIERS,
};

uint32_t isa_probes_asked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static isa_probe_t *asked; /* the first one first */
static size_t asked_bytes;

static size_t size_of(size_t points)
{
  return sizeof(isa_probe_t) + points * sizeof(rawhal_probe_point_t);
}

/* --- whether it makes sense --- */

/* How many SGPRs are kept, by the source. */
static const uint8_t scalars[] = {
    [RAWHAL_PROBE_NONE] = 0,   [RAWHAL_PROBE_FLAT] = 0, [RAWHAL_PROBE_GLOBAL] = 2,
    [RAWHAL_PROBE_BUFFER] = 3, [RAWHAL_PROBE_LDS] = 0,  [RAWHAL_PROBE_SGPR] = 1,
    [RAWHAL_PROBE_VGPR] = 0,
};

static bool event_is_good(const rawhal_probe_point_t *point, uint32_t event_bytes)
{
  const uint8_t lane_bytes = point->lane_bytes;
  const uint32_t bytes =
      sizeof(rawhal_probe_event_t) + (lane_bytes ? (uint32_t)RAWHAL_PROBE_LANES_BYTES : 0);
  return bytes <= event_bytes && (lane_bytes == 0 || lane_bytes == 4 || lane_bytes == 8) &&
         point->source < sizeof scalars &&
         (point->scalar == ISA_PROBE_NO_SGPR ||
          point->scalar + scalars[point->source] <= ISA_SGPRS);
}

static bool points_are_good(const rawhal_probe_point_t *points, size_t count, uint32_t kinds,
                            uint32_t event_bytes, uint32_t counters)
{
  for (size_t i = 0; i < count; ++i) {
    const rawhal_probe_point_t *point = &points[i];
    const bool counts = point->action <= RAWHAL_PROBE_ACTIVE;
    if (point->offset % 4 || (i && point->offset < point[-1].offset) || point->action == 0 ||
        point->action > RAWHAL_PROBE_ARRIVE ||
        !(counts ? point->counter < counters
                 : kinds & NUMBER_WAVES && event_is_good(point, event_bytes)))
      return false;
  }
  return true;
}

static bool argument_is_good(const rawhal_probe_argument_t *argument, uint32_t event_bytes)
{
  const bool has_events = event_bytes && argument->event_capacity;
  return argument->buffer && argument->buffer % BUFFER_ALIGNMENT == 0 &&
         argument->events % BUFFER_ALIGNMENT == 0 && (argument->events || !has_events);
}

static bool is_event_size(uint32_t bytes)
{
  return bytes == 0 || bytes == sizeof(rawhal_probe_event_t) ||
         bytes == sizeof(rawhal_probe_event_t) + RAWHAL_PROBE_LANES_BYTES;
}

isa_probe_t *isa_probe_make(const rawhal_probe_argument_t *argument, uint32_t kinds,
                            uint32_t event_bytes, uint32_t counters,
                            const rawhal_probe_point_t *points, size_t count)
{
  if (!kinds || kinds & ~(uint32_t)ALL_KINDS || !is_event_size(event_bytes) ||
      !argument_is_good(argument, event_bytes) || count > POINTS_MOST ||
      !points_are_good(points, count, kinds, event_bytes, counters))
    return NULL;
  isa_probe_t *probe = malloc(size_of(count));
  if (!probe)
    return NULL;
  *probe = (isa_probe_t){.argument = *argument,
                         .kinds = kinds | (kinds & NUMBER_WAVES ? RAWHAL_PROBE_WAVES : 0u),
                         .event_bytes = event_bytes,
                         .counters = counters,
                         .count = count};
  if (count)
    memcpy(probe->points, points, count * sizeof *points);
  return probe;
}

/* --- waiting --- */

bool isa_probe_ask(uint64_t address, const rawhal_probe_argument_t *argument, uint32_t kinds,
                   uint32_t event_bytes, uint32_t counters, const rawhal_probe_point_t *points,
                   size_t count)
{
  isa_probe_t *probe =
      address ? isa_probe_make(argument, kinds, event_bytes, counters, points, count) : NULL;
  if (!probe)
    return false;
  const size_t size = size_of(count);
  probe->address = address;
  pthread_mutex_lock(&lock);
  const bool has_room = isa_probes_asked < ASKED_MOST && size <= ASKED_BYTES - asked_bytes;
  if (has_room) {
    isa_probe_t **last = &asked;
    while (*last)
      last = &(*last)->next;
    *last = probe;
    asked_bytes += size;
    __atomic_store_n(&isa_probes_asked, isa_probes_asked + 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&lock);
  if (!has_room)
    free(probe);
  return has_room;
}

/* What waits longest for one of these addresses, and its link. With `lock`. */
static isa_probe_t **find(uint64_t kernarg, uint64_t kernel_object)
{
  isa_probe_t **at = &asked;
  while (*at && (*at)->address != kernarg && (*at)->address != kernel_object)
    at = &(*at)->next;
  return at;
}

/* With `lock`. */
static isa_probe_t *unlink_probe(isa_probe_t **at)
{
  isa_probe_t *probe = *at;
  if (probe) {
    *at = probe->next;
    probe->next = NULL;
    asked_bytes -= size_of(probe->count);
    __atomic_store_n(&isa_probes_asked, isa_probes_asked - 1, __ATOMIC_RELAXED);
  }
  return probe;
}

isa_probe_t *isa_probe_take(const softgpu_dispatch_t *dispatch)
{
  pthread_mutex_lock(&lock);
  isa_probe_t *probe = unlink_probe(find(dispatch->kernarg, dispatch->kernel_object));
  pthread_mutex_unlock(&lock);
  return probe;
}

bool isa_probe_waits(const softgpu_dispatch_t *dispatch)
{
  pthread_mutex_lock(&lock);
  const bool waits = *find(dispatch->kernarg, dispatch->kernel_object);
  pthread_mutex_unlock(&lock);
  return waits;
}

void isa_probe_withdraw(uint64_t address)
{
  pthread_mutex_lock(&lock);
  for (isa_probe_t *probe; (probe = unlink_probe(address ? find(address, address) : &asked));)
    free(probe);
  pthread_mutex_unlock(&lock);
}
