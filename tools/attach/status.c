/* rawhal attach: what a process shows of itself. */
#include "tools/attach/attach.h"

#include <stdlib.h>
#include <string.h>

#include "debug/label.h"

/* ---- What is listed ---- */

static attach_agent_t *agent_of(attach_status_t *status, uint64_t handle)
{
  attach_agent_t *agents = status->agents.items;
  for (size_t i = 0; i < status->agents.count; ++i)
    if (agents[i].handle == handle)
      return &agents[i];
  const attach_agent_t agent = {.handle = handle};
  attach_agent_t *added = list_add(&status->agents, &agent, sizeof(agent));
  status->starved |= !added;
  return added;
}

static void see_module(attach_status_t *status, const rawhal_event_t *event)
{
  attach_module_t module = {.id = event->id, .agent = event->agent, .bytes = event->bytes};
  attach_agent_t *agent = agent_of(status, event->agent);
  module.file_size = event->text.size < ATTACH_TEXT ? event->text.size : ATTACH_TEXT;
  if (module.file_size)
    memcpy(module.file, event->text.data, module.file_size);
  status->starved |= !list_add(&status->modules, &module, sizeof(module));
  if (agent)
    ++agent->modules;
}

static void see_queue(attach_status_t *status, const rawhal_event_t *event)
{
  attach_queue_t queue = {.agent = event->agent,
                          .address = event->address,
                          .now = {.id = event->queue_id, .size = event->packets}};
  attach_agent_t *agent = agent_of(status, event->agent);
  label_copy(queue.label, event->text);
  status->starved |= !list_add(&status->queues, &queue, sizeof(queue));
  if (agent)
    ++agent->queues;
}

static void see_allocation(attach_status_t *status, const rawhal_event_t *event)
{
  attach_agent_t *agent = agent_of(status, event->agent);
  ++status->allocations;
  status->bytes += event->bytes;
  if (!agent)
    return;
  ++agent->allocations;
  agent->bytes += event->bytes;
}

static bool see(void *context, const rawhal_event_t *event)
{
  attach_status_t *status = context;
  switch (event->type) {
  case RAWHAL_EVENT_MODULE_LOAD:
    see_module(status, event);
    break;
  case RAWHAL_EVENT_KERNEL:
    status->kernel_count += !kernels_instead_of(event);
    kernels_learn(&status->kernels, event);
    break;
  case RAWHAL_EVENT_QUEUE_CREATE:
    see_queue(status, event);
    break;
  case RAWHAL_EVENT_ALLOCATE:
    see_allocation(status, event);
    break;
  default: /* a lie */
    break;
  }
  return !status->starved;
}

/* ---- Queues as they stand ---- */

static attach_packet_t packet_of(uint64_t index, const hsa_kernel_dispatch_packet_t *packet)
{
  return (attach_packet_t){
      .index = index,
      .kernel_object = packet->kernel_object,
      .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .group = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
  };
}

static bool see_packet(void *context, uint64_t index, const hsa_kernel_dispatch_packet_t *packet)
{
  attach_queue_t *queue = context;
  if (!queue->flying)
    queue->oldest = index;
  queue->in_flight[queue->flying++] = packet_of(index, packet);
  return queue->flying < ATTACH_PACKETS;
}

/* Of packets whose type is gone, those that name a kernel are dispatches. */
static void see_ended(const attach_status_t *status, attach_queue_t *queue)
{
  enum { MOST = sizeof(queue->last) / sizeof(*queue->last), LOOKS = 256 };
  const uint64_t end = queue->oldest < queue->now.read ? queue->oldest : queue->now.read;
  for (uint64_t i = 1; i <= end && i <= LOOKS && queue->ended < MOST; ++i) {
    hsa_kernel_dispatch_packet_t packet;
    const uint64_t index = end - i;
    if (queue->now.write - index > queue->now.size ||
        !observer_packet(status->observer, &queue->now, index, &packet))
      return;
    if (kernels_find(&status->kernels, packet.kernel_object).size)
      queue->last[queue->ended++] = packet_of(index, &packet);
  }
}

static void look_at(const attach_status_t *status, attach_queue_t *queue)
{
  const uint64_t id = queue->now.id;
  observer_queue_t now;
  queue->oldest = UINT64_MAX;
  queue->readable = observer_queue(status->observer, queue->address, &now, see_packet, queue);
  if (!queue->readable)
    return;
  queue->now = now;
  queue->now.id = id; /* as events have it */
  queue->oldest = queue->flying ? queue->oldest : now.write;
  see_ended(status, queue);
}

static int by_id(const void *a, const void *b)
{
  const uint64_t one = ((const attach_queue_t *)a)->now.id,
                 other = ((const attach_queue_t *)b)->now.id;
  return (one > other) - (one < other);
}

bool attach_status_read(attach_status_t *status, observer_t *observer)
{
  *status = (attach_status_t){.observer = observer};
  observer_list(observer, see, status, &status->unlisted);
  attach_queue_t *queues = status->queues.items;
  if (queues)
    qsort(queues, status->queues.count, sizeof(*queues), by_id);
  for (size_t i = 0; i < status->queues.count; ++i)
    look_at(status, &queues[i]);
  return !status->starved;
}

void attach_status_free(attach_status_t *status)
{
  list_free(&status->modules);
  list_free(&status->queues);
  list_free(&status->agents);
  kernels_free(&status->kernels);
}
