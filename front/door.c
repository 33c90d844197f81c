#include "front/door.h"

#include "front/devices.h"
#include "front/faults.h"
#include "front/hangs.h"
#include "front/host_view.h"
#include "front/proxies.h"
#include "front/report.h"

#include "base/error.h"
#include "base/own_memory.h"
#include "debug/door/door.h"
#include "debug/door/ticket.h"
#include "debug/report.h"

#include <inttypes.h>

/* ---- What is told ---- */

tell_entry_t front_door_queue(const front_device_t *device, const hsa_queue_t *queue)
{
  return tell_came((rawhal_event_t){.type = RAWHAL_EVENT_QUEUE_CREATE,
                                    .queue_id = queue->id,
                                    .agent = device ? device->agent.handle : 0,
                                    .packets = queue->size,
                                    .address = (uint64_t)(uintptr_t)queue});
}

void front_door_queue_gone(tell_entry_t entry, uint64_t queue_id)
{
  tell_went(entry, (rawhal_event_t){.type = RAWHAL_EVENT_QUEUE_DESTROY, .queue_id = queue_id});
}

void front_door_submitted(const proxy_t *proxy, uint64_t ticket, uint32_t count, bool alone)
{
  const hsa_queue_t *real = proxy->real;
  const uint64_t index = atomic_load_explicit(&proxy->forwarded, memory_order_relaxed) - count;
  const uint64_t end =
      atomic_load_explicit(&proxy->ends[index & proxy->mask], memory_order_relaxed);
  const uint64_t first = end - (alone ? 1 : 2);
  const proxy_packet_t *packet =
      (const proxy_packet_t *)real->base_address + (first & (real->size - 1));
  const bool is_dispatch = packet_type(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
  tell_ticket(RAWHAL_EVENT_SUBMIT, real->id, ticket, first, (uint32_t)(proxy->real_write - first),
              is_dispatch ? packet->dispatch.kernel_object : 0);
}

void front_door_admitted(proxy_t *proxy)
{
  tell_event((rawhal_event_t){.type = RAWHAL_EVENT_THROTTLE,
                              .queue_id = proxy->real->id,
                              .nanoseconds = clock_now() - proxy->held_at});
  proxy->held_at = 0;
}

void front_door_ended(const proxy_t *proxy, uint64_t ticket)
{
  tell_ticket(RAWHAL_EVENT_COMPLETE, proxy->real->id, ticket, 0, 0, 0);
}

void front_door_fault(const rawhal_fault_t *fault)
{
  char text[1024];
  if (!tell_wants(RAWHAL_EVENT_FAULT))
    return;
  (void)report_into(fault, REPORT_LINE, text, sizeof(text));
  tell_event((rawhal_event_t){.type = RAWHAL_EVENT_FAULT,
                              .queue_id = fault->queue_id,
                              .packet = fault->packet,
                              .kind = fault->kind,
                              .address = fault->address,
                              .text = rawhal_string(text),
                              .fault = fault});
}

void front_door_dump(uint64_t queue_id, const char *said)
{
  tell_event((rawhal_event_t){
      .type = RAWHAL_EVENT_DUMP, .queue_id = queue_id, .text = rawhal_string(said)});
}

/* ---- What is answered ---- */

/* Where the host has these bytes, which are one allocation's: for the kernel to copy. 0: nowhere.
 * A device's own memory is the host's, too, where the device is software. */
static uint64_t place_of(uint64_t address, size_t size)
{
  range_t range;
  uint64_t host;
  if (!host_view_find(address, &range) || size > range.size ||
      address - range.base > range.size - size)
    return 0;
  const host_view_t view = host_view(address, size, &host);
  if (host || view == HOST_VIEW_NONE)
    return host;
  return faults_on_softgpu() ? address : 0;
}

static bool read_memory(uint64_t address, void *to, size_t size)
{
  const uint64_t place = place_of(address, size);
  return place && own_memory_copy(to, place, size);
}

static bool write_memory(uint64_t address, const void *from, size_t size)
{
  ranges_hold();
  const uint64_t place = place_of(address, size);
  const bool written = place && own_memory_write(place, from, size);
  ranges_let();
  return written;
}

static void wrote(uint64_t address, size_t size)
{
  front_report("an observer has written %zu bytes at 0x%" PRIx64, size, address);
}

/* With the door's lock. */
static struct {
  dump_t dump;
  bool idle; /* a queue that has nothing to do serves, too */
  bool done;
} core;

static void take_core(proxy_t *proxy, notice_t *notice)
{
  (void)notice;
  uint64_t oldest;
  if (core.done || atomic_load(&proxy->died_at))
    return;
  const bool flies = hangs_oldest(proxy, &oldest);
  if (flies || core.idle)
    core.done = faults_dump_queue(proxy, flies ? &oldest : NULL, &core.dump);
}

static rawhal_status_t write_core(int descriptor, rawhal_error_t *error)
{
  char said[DUMP_SAID] = "";
  core.idle = core.done = false;
  if (!faults_dump_begin(&core.dump, descriptor))
    return rawhal_fail(error, RAWHAL_RUNTIME, "a core file cannot be begun");
  proxies_each(take_core);
  core.idle = true;
  proxies_each(take_core);
  if (dump_end(&core.dump, said, sizeof(said)))
    return RAWHAL_OK;
  if (!core.done)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no queue whose state could be written");
  return rawhal_fail(error, RAWHAL_RUNTIME, "%s", said);
}

static const door_host_t host = {.why = hangs_why,
                                 .read = read_memory,
                                 .write = write_memory,
                                 .wrote = wrote,
                                 .core = write_core};

/* ---- Coming and going ---- */

rawhal_status_t front_door_open(rawhal_error_t *error)
{
  return door_check(&front.shown, error);
}

void front_door_begin(void)
{
  rawhal_error_t error;
  if (door_open(DOOR_OF_FRONT, &host, &error) != RAWHAL_OK)
    front_report("%s", error.message);
}

void front_door_end(void)
{
  door_close();
}
