/* Hooks of copies and fills. The device whose engine copies is charged: the source's, or else the
 * destination's. Of memory that only pointers tell of, the runtime knows the owner. */
#include "front/copying.h"
#include "front/devices.h"

#include <stdlib.h>

enum { PAGE = 4096 }; /* as the runtime takes it */

static front_device_t *timed(hsa_agent_t agent)
{
  front_device_t *device = device_of_agent(agent);
  return device && device->timed ? device : NULL;
}

static front_device_t *timed_of(hsa_agent_t to, hsa_agent_t from)
{
  return timed(device_known(from) ? from : to);
}

/* ---- By an engine, while the program goes on ---- */

hsa_status_t copy_by(const copy_route_t *route, void *to, const void *from, size_t bytes,
                     uint32_t waits, const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  if (route->on_engine)
    return front.hsa.copy_on_engine(to, route->to, from, route->from, bytes, waits, wait_for,
                                    completion, route->engine, route->force);
  return front.hsa.async_copy(to, route->to, from, route->from, bytes, waits, wait_for, completion);
}

hsa_status_t copying_look_at(hsa_signal_t signal)
{
  volatile hsa_signal_value_t *value;
  const hsa_status_t result = front.hsa.signal_value_pointer(signal, &value);
  return result == HSA_STATUS_ERROR_INVALID_SIGNAL ? result : HSA_STATUS_SUCCESS;
}

typedef struct linear {
  void *to;
  const void *from;
} linear_t;

static hsa_status_t submit_linear(const copying_t *copying, uint32_t waits,
                                  const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  const linear_t *l = copying->arguments;
  return copy_by(&copying->route, l->to, l->from, copying->bytes, waits, wait_for, completion);
}

/* Before anything is done for it, and not left to the runtime: in the meantime another thread may
 * have made the number a signal's. */
static hsa_status_t look_at_signals(const copying_t *copying)
{
  hsa_status_t result = HSA_STATUS_SUCCESS;
  for (uint32_t i = 0; i < copying->waits && result == HSA_STATUS_SUCCESS; ++i)
    if (copying->wait_for[i].handle)
      result = copying_look_at(copying->wait_for[i]);
  if (result == HSA_STATUS_SUCCESS && copying->completion.handle)
    result = copying_look_at(copying->completion);
  return result;
}

static hsa_status_t start(front_device_t *device, const copying_t *copying)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  /* What else the runtime refuses it refuses in its own words. */
  if (device && copying->bytes && (copying->completion.handle || copying->may_be_silent) &&
      (copying->wait_for || !copying->waits)) {
    const hsa_status_t result = look_at_signals(copying);
    return result == HSA_STATUS_SUCCESS ? copying_start(device, copying) : result;
  }
  copying_disown(copying->completion);
  return copying->submit(copying, copying->waits, copying->wait_for, copying->completion);
}

static hsa_status_t async_copy(void *to, hsa_agent_t to_agent, const void *from,
                               hsa_agent_t from_agent, size_t size, uint32_t waits,
                               const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  const linear_t linear = {to, from};
  const copy_route_t route = {.to = to_agent, .from = from_agent};
  const copying_t copying = {route,      size,  waits,         wait_for,
                             completion, false, submit_linear, &linear};
  return start(timed_of(to_agent, from_agent), &copying);
}

static hsa_status_t copy_on_engine(void *to, hsa_agent_t to_agent, const void *from,
                                   hsa_agent_t from_agent, size_t size, uint32_t waits,
                                   const hsa_signal_t *wait_for, hsa_signal_t completion,
                                   int engine, bool force)
{
  const linear_t linear = {to, from};
  const copy_route_t route = {to_agent, from_agent, engine, true, force};
  const copying_t copying = {route,      size,  waits,         wait_for,
                             completion, false, submit_linear, &linear};
  return start(timed_of(to_agent, from_agent), &copying);
}

typedef struct rect {
  const hsa_pitched_ptr_t *to, *from;
  const hsa_dim3_t *to_offset, *from_offset, *range;
  hsa_agent_t agent;
  hsa_amd_copy_direction_t direction;
} rect_t;

static hsa_status_t submit_rect(const copying_t *copying, uint32_t waits,
                                const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  const rect_t *r = copying->arguments;
  return front.hsa.copy_rect(r->to, r->to_offset, r->from, r->from_offset, r->range, r->agent,
                             r->direction, waits, wait_for, completion);
}

static hsa_status_t copy_rect(const hsa_pitched_ptr_t *to, const hsa_dim3_t *to_offset,
                              const hsa_pitched_ptr_t *from, const hsa_dim3_t *from_offset,
                              const hsa_dim3_t *range, hsa_agent_t agent,
                              hsa_amd_copy_direction_t direction, uint32_t waits,
                              const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  const rect_t rect = {to, from, to_offset, from_offset, range, agent, direction};
  uint64_t bytes = range ? (uint64_t)range->x * range->y * range->z : 0;
  /* The runtime has two engines for them: what is not from the host goes by the other. */
  const bool down = direction == hsaHostToDevice;
  const copy_route_t route = {.to = down ? agent : front.host_agent,
                              .from = down ? front.host_agent : agent};
  const copying_t copying = {route, bytes, waits, wait_for, completion, false, submit_rect, &rect};
  return start(timed(agent), &copying);
}

typedef struct prefetch {
  void *memory;
  size_t size;
  hsa_agent_t to;
} prefetch_t;

/* Pages that the driver moves, by the device's engines. Whose they were is not told when they go to
 * the host. */
static front_device_t *timed_by_prefetch(hsa_agent_t to)
{
  front_device_t *device = timed(to);
  for (uint32_t i = 0; !device && !device_known(to) && i < front.device_count; ++i)
    device = timed(front.devices[i].agent);
  return device;
}

/* All of the pages that it touches. */
static uint64_t pages_of(const void *memory, size_t size)
{
  const uint64_t inside = PAGE - 1, begin = (uint64_t)(uintptr_t)memory;
  return ((begin + size + inside) & ~inside) - (begin & ~inside);
}

static hsa_status_t submit_prefetch(const copying_t *copying, uint32_t waits,
                                    const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  const prefetch_t *p = copying->arguments;
  return front.hsa.svm_prefetch(p->memory, p->size, p->to, waits, wait_for, completion);
}

static hsa_status_t svm_prefetch(void *memory, size_t size, hsa_agent_t to, uint32_t waits,
                                 const hsa_signal_t *wait_for, hsa_signal_t completion)
{
  front_device_t *device = timed_by_prefetch(to);
  const prefetch_t prefetch = {memory, size, to};
  const copy_route_t route = {.to = device ? device->agent : to, .from = front.host_agent};
  const copying_t copying = {route, pages_of(memory, size), waits,    wait_for, completion,
                             true,  submit_prefetch,        &prefetch};
  return start(device, &copying);
}

/* ---- While the program waits ---- */

/* `accessible`: of memory of the host's, the first device that has access to it. */
static front_device_t *device_at(const void *memory, bool accessible)
{
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  uint32_t count = 0;
  hsa_agent_t *agents = NULL;
  if (front.hsa.pointer_info(memory, &info, malloc, &count, &agents) != HSA_STATUS_SUCCESS ||
      info.type == HSA_EXT_POINTER_TYPE_UNKNOWN) {
    free(agents);
    return NULL;
  }
  hsa_agent_t owner = info.agentOwner;
  for (uint32_t i = 0; accessible && !device_known(owner) && i < count; ++i)
    owner = agents[i];
  free(agents);
  return timed(owner);
}

/* `device` NULL: none that is limited. */
static hsa_status_t begin(front_device_t *device, uint64_t bytes, copies_turn_t *turn)
{
  *turn = (copies_turn_t){.bytes = bytes};
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  return device ? copying_begin(device, turn) : HSA_STATUS_SUCCESS;
}

static hsa_status_t end(front_device_t *device, const copies_turn_t *turn, hsa_status_t result)
{
  if (device)
    copying_end(device, turn);
  return result;
}

/* When it is its turn, of a device that may be NULL. */
#define IN_TURN(device, bytes, call)                                                               \
  copies_turn_t turn;                                                                              \
  front_device_t *const whose = device;                                                            \
  const hsa_status_t may = begin(whose, bytes, &turn);                                             \
  return may == HSA_STATUS_SUCCESS ? end(whose, &turn, front.hsa.call) : may

static hsa_status_t memory_copy(void *to, const void *from, size_t size)
{
  front_device_t *device = size && !front_orphaned() ? device_at(from, false) : NULL;
  if (!device && size && !front_orphaned())
    device = device_at(to, false);
  IN_TURN(device, size, memory_copy(to, from, size));
}

static hsa_status_t memory_fill(void *to, uint32_t value, size_t count)
{
  front_device_t *device = count && !front_orphaned() ? device_at(to, true) : NULL;
  IN_TURN(device, (uint64_t)count * sizeof(value), memory_fill(to, value, count));
}

/* Of images, by kernels of the runtime's on a queue of its own. What it refuses costs a turn. */
static uint64_t elements(const hsa_dim3_t *range)
{
  return range ? (uint64_t)range->x * range->y * range->z : 0;
}

static uint64_t elements_of(const hsa_ext_image_region_t *region)
{
  return region ? elements(&region->range) : 0;
}

static hsa_status_t image_copy(hsa_agent_t agent, hsa_ext_image_t from,
                               const hsa_dim3_t *from_offset, hsa_ext_image_t to,
                               const hsa_dim3_t *to_offset, const hsa_dim3_t *range)
{
  IN_TURN(timed(agent), elements(range),
          image_copy(agent, from, from_offset, to, to_offset, range));
}

static hsa_status_t image_import(hsa_agent_t agent, const void *from, size_t row, size_t slice,
                                 hsa_ext_image_t to, const hsa_ext_image_region_t *region)
{
  IN_TURN(timed(agent), elements_of(region), image_import(agent, from, row, slice, to, region));
}

static hsa_status_t image_export(hsa_agent_t agent, hsa_ext_image_t from, void *to, size_t row,
                                 size_t slice, const hsa_ext_image_region_t *region)
{
  IN_TURN(timed(agent), elements_of(region), image_export(agent, from, to, row, slice, region));
}

static hsa_status_t image_clear(hsa_agent_t agent, hsa_ext_image_t image, const void *data,
                                const hsa_ext_image_region_t *region)
{
  IN_TURN(timed(agent), elements_of(region), image_clear(agent, image, data, region));
}

/* ---- Times ---- */

/* A program that switches them off has them all the same; without them nothing could be charged. */
static hsa_status_t async_copy_enable(bool enable)
{
  return enable ? front.hsa.async_copy_enable(true) : HSA_STATUS_SUCCESS;
}

static hsa_status_t get_copy_time(hsa_signal_t completion,
                                  hsa_amd_profiling_async_copy_time_t *times)
{
  if (times && !front_orphaned() && copying_times(completion, times))
    return HSA_STATUS_SUCCESS;
  return front.hsa.get_copy_time(completion, times);
}

/* Another of its handle is another. */
static hsa_status_t signal_destroy(hsa_signal_t signal)
{
  if (!front_orphaned())
    copying_disown(signal);
  return front.hsa.signal_destroy(signal);
}

void copies_hooks(front_calls_t *hooks)
{
#define X(name) hooks->name = name;
  X(async_copy)
  X(copy_on_engine)
  X(copy_rect)
  X(memory_copy)
  X(memory_fill)
  X(svm_prefetch)
  X(async_copy_enable)
  X(get_copy_time)
  X(signal_destroy)
#undef X
#define X(name) hooks->name = front.hsa.name ? name : NULL;
  X(image_copy)
  X(image_import)
  X(image_export)
  X(image_clear)
#undef X
}
