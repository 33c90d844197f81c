#include "queue/scene.h"

#include "queue/packet.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/error.h"

#include <stdio.h>

enum { SCENE_DISPATCHES = 48 };

typedef struct scene {
  rawhal_queue_t *queue;
  debug_dispatch_t dispatches[SCENE_DISPATCHES];
  const rawhal_device_kernel_t *kernels[SCENE_DISPATCHES];
  size_t count, running;
} scene_t;

/* The image that a packet names, if it is in the queue's ring. */
static rawhal_bytes_t image_of(const rawhal_queue_t *queue, const rawhal_device_kernel_t *kernel,
                               const void *kernargs)
{
  const size_t room = 2 * (size_t)queue->ring.blocks * KERNARG_BLOCK_BYTES;
  const size_t size = (size_t)kernel->block_count * KERNARG_BLOCK_BYTES;
  const uintptr_t first = (uintptr_t)queue->kernargs, at = (uintptr_t)kernargs;
  if (at < first || at - first > room || size > room - (at - first))
    return (rawhal_bytes_t){0};
  return (rawhal_bytes_t){kernargs, size};
}

bool scene_packet(const rawhal_queue_t *queue, uint64_t index, void *packet)
{
  const void *slot = packet_slot(queue, index);
  const uint32_t header = __atomic_load_n((const uint32_t *)slot, __ATOMIC_ACQUIRE);
  if ((header & 0xff) == HSA_PACKET_TYPE_INVALID &&
      index >= queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue))
    return false;
  memcpy(packet, slot, PACKET_BYTES);
  return true;
}

/* Adds the dispatch of a packet; not when that is none, or its kernel may be unloaded. */
static void add_packet(scene_t *scene, const queue_slot_t *slot, uint64_t ticket, uint32_t index,
                       bool runs)
{
  rawhal_queue_t *queue = scene->queue;
  const uint64_t at = atomic_load(&slot->packet) + index;
  const rawhal_device_kernel_t *kernel = queue_kernel(queue, slot, at);
  if (!kernel || scene->count == SCENE_DISPATCHES ||
      (!runs && !queue->device->witness->code_has(kernel)))
    return;
  hsa_kernel_dispatch_packet_t packet;
  if (!scene_packet(queue, at, &packet) || packet.kernel_object != kernel->info.kernel_object)
    return;
  scene->kernels[scene->count] = kernel;
  scene->dispatches[scene->count++] = (debug_dispatch_t){
      .queue_id = queue->hsa_queue->id,
      .ticket = ticket,
      .packet = at,
      .index = index,
      .kernel = kernel->info.kernel->name,
      .layout = kernel->info.layout,
      .kernargs = image_of(queue, kernel, packet.kernarg_address),
      .kernarg_address = (uint64_t)(uintptr_t)packet.kernarg_address,
      .grid = {packet.grid_size_x, packet.grid_size_y, packet.grid_size_z},
      .workgroup = {packet.workgroup_size_x, packet.workgroup_size_y, packet.workgroup_size_z},
      .group_bytes = packet.group_segment_size,
      .private_bytes = packet.private_segment_size,
      .kernel_object = packet.kernel_object,
      .running = runs,
  };
}

static void add_ticket(scene_t *scene, uint64_t ticket, bool runs)
{
  const queue_slot_t *slot = queue_slot(scene->queue, ticket);
  if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
    return;
  const uint32_t packets = atomic_load(&slot->packets);
  for (uint32_t i = 0; i < packets && scene->count < SCENE_DISPATCHES; ++i)
    add_packet(scene, slot, ticket, i, runs);
}

/* Those in flight, the oldest first. */
static void add_running(scene_t *scene)
{
  rawhal_queue_t *queue = scene->queue;
  const uint64_t last = ring_last_ticket(&queue->ring);
  for (uint64_t ticket = ring_finished(&queue->ring) + 1;
       ticket <= last && scene->count < SCENE_DISPATCHES; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    if (atomic_load(&slot->ticket) == ticket && queue_slot_value(slot) > atomic_load(&slot->target))
      add_ticket(scene, ticket, true);
  }
  scene->running = scene->count;
}

/* Then those that have ended, the latest first: as long as nothing can have been written over them.
 * Blocks are given out in the order of tickets. */
static void add_ended(scene_t *scene)
{
  rawhal_queue_t *queue = scene->queue;
  const uint64_t last = ring_last_ticket(&queue->ring);
  uint64_t blocks = 0, packets = 0;
  for (uint64_t ticket = last; ticket && queue_slot_kept(queue, ticket); --ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    if (atomic_load(&slot->ticket) != ticket)
      return;
    blocks += atomic_load_explicit(&slot->blocks, memory_order_relaxed);
    packets += atomic_load(&slot->packets);
    if (blocks > queue->ring.blocks || packets > queue->ring.packets)
      return;
    if (queue_slot_value(slot) <= atomic_load(&slot->target))
      add_ticket(scene, ticket, false);
  }
}

/* The dispatch of a packet comes first. False: it is none of them. */
static bool put_first(scene_t *scene, uint64_t packet)
{
  for (size_t i = 0; i < scene->running; ++i)
    if (scene->dispatches[i].packet == packet) {
      const debug_dispatch_t dispatch = scene->dispatches[i];
      const rawhal_device_kernel_t *kernel = scene->kernels[i];
      memmove(&scene->dispatches[1], scene->dispatches, i * sizeof(dispatch));
      memmove(&scene->kernels[1], scene->kernels, i * sizeof(kernel));
      scene->dispatches[0] = dispatch;
      scene->kernels[0] = kernel;
      return true;
    }
  return false;
}

/* The packet that the device reads, as far as it tells: the oldest that has not finished, or a
 * later one of its submission. */
static uint64_t packet_guess(const scene_t *scene)
{
  const debug_dispatch_t *oldest = &scene->dispatches[0];
  uint64_t packet = oldest->packet,
           read = scene->queue->device->hsa->hsa_queue_load_read_index_scacquire(
               scene->queue->hsa_queue);
  for (size_t i = 1; i < scene->running && scene->dispatches[i].ticket == oldest->ticket &&
                     scene->dispatches[i].packet <= read;
       ++i)
    packet = scene->dispatches[i].packet;
  return packet;
}

static void name_dispatch(const scene_t *scene, rawhal_fault_t *fault)
{
  const debug_dispatch_t *failed = &scene->dispatches[0];
  const rawhal_descriptor_t *descriptor = scene->kernels[0]->info.kernel->descriptor;
  snprintf(fault->kernel, sizeof(fault->kernel), "%.*s", RAWHAL_STRING_ARGS(failed->kernel));
  fault->kernel_object = failed->kernel_object;
  if (descriptor)
    fault->entry = failed->kernel_object + (descriptor->entry - descriptor->address);
  if (!(fault->known & RAWHAL_FAULT_KNOWS_DISPATCH))
    return;
  fault->ticket = failed->ticket;
  fault->packet = failed->packet;
  fault->dispatch = failed->index;
  if (!(fault->known & RAWHAL_FAULT_KNOWS_PC) || !descriptor)
    return;
  fault->known |= RAWHAL_FAULT_KNOWS_OBJECT;
  fault->object_address = descriptor->entry + (uint64_t)fault->pc_offset;
}

/* Which of them it was. */
static void find_failed(scene_t *scene, rawhal_fault_t *fault, bool own)
{
  if (fault->known & RAWHAL_FAULT_KNOWS_DISPATCH) {
    if (!put_first(scene, fault->packet))
      fault->known &= ~(uint32_t)RAWHAL_FAULT_KNOWS_DISPATCH; /* no kernel's packet */
    return;
  }
  if (own && scene->running > 1)
    (void)put_first(scene, packet_guess(scene));
  else if (own && scene->running == 1)
    fault->known |= RAWHAL_FAULT_KNOWS_DISPATCH;
}

void scene_explain(rawhal_queue_t *queue, rawhal_fault_t *fault, bool own, bool code)
{
  const queue_witness_t *witness = queue->device->witness;
  scene_t scene = {.queue = queue};
  if (!queue->hsa_queue)
    return;
  add_running(&scene);
  const bool told = fault->known & RAWHAL_FAULT_KNOWS_DISPATCH;
  find_failed(&scene, fault, own);
  if (scene.running && (fault->known & RAWHAL_FAULT_KNOWS_DISPATCH || (own && !told)))
    name_dispatch(&scene, fault);
  if (!witness)
    return;
  if (code)
    add_ended(&scene);
  const debug_scene_t around = {
      .now = clock_now(),
      .dispatches = scene.dispatches,
      .dispatch_count = scene.count,
      .device = queue->device->agent.handle,
      .context = (void *)(uintptr_t)queue->device,
      .allocation = witness->allocation,
      .read = witness->read,
  };
  witness->memory_hold();
  cause_find(&around, fault);
  if (witness->known)
    witness->known(queue->device, queue->hsa_queue, fault, &around, code);
  witness->memory_let();
}
