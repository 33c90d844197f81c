#include "queue/scene.h"

#include "queue/label.h"
#include "queue/list.h"
#include "queue/packet.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "debug/dispatch.h"

enum { SCENE_DISPATCHES = 48 };

typedef struct scene {
  rawhal_queue_t *queue;
  debug_dispatch_t dispatches[SCENE_DISPATCHES];
  const rawhal_device_kernel_t *kernels[SCENE_DISPATCHES];
  char labels[SCENE_DISPATCHES][RAWHAL_LABEL_BYTES];
  size_t count, running;
  uint64_t taken; /* the device has had the packets before this one, whatever else is told */
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

bool scene_packet(const rawhal_queue_t *queue, uint64_t index, bool taken, void *packet)
{
  const void *slot = packet_slot(queue, index);
  const uint32_t header = __atomic_load_n((const uint32_t *)slot, __ATOMIC_ACQUIRE);
  if (!taken && (header & 0xff) == HSA_PACKET_TYPE_INVALID &&
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
  if (!scene_packet(queue, at, at < scene->taken, &packet) ||
      packet.kernel_object != kernel->info.kernel_object)
    return;
  scene->kernels[scene->count] = kernel;
  char *label = scene->labels[scene->count];
  label_find(queue, at, label);
  debug_dispatch_t *dispatch = &scene->dispatches[scene->count++];
  *dispatch = dispatch_of_packet(queue->hsa_queue->id, at, &packet);
  dispatch->ticket = ticket;
  dispatch->index = index;
  dispatch->kernel = kernel->info.kernel->name;
  dispatch->label = rawhal_string(label);
  dispatch->queue_label = label_text(queue->label); /* whoever has a scene holds drain_lock */
  dispatch->layout = kernel->info.layout;
  dispatch->kernargs = image_of(queue, kernel, packet.kernarg_address);
  dispatch->running = runs;
}

/* Those of its packets whose indices are in [from, to). */
static void add_ticket(scene_t *scene, uint64_t ticket, uint64_t from, uint64_t to, bool runs)
{
  const queue_slot_t *slot = queue_slot(scene->queue, ticket);
  if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
    return;
  const uint64_t first = atomic_load(&slot->packet);
  const uint32_t packets = atomic_load(&slot->packets);
  uint32_t i = from > first ? from - first < packets ? (uint32_t)(from - first) : packets : 0;
  for (; i < packets && first + i < to && scene->count < SCENE_DISPATCHES; ++i)
    add_packet(scene, slot, ticket, i, runs);
}

static bool is_running(const queue_slot_t *slot, uint64_t ticket)
{
  return atomic_load(&slot->ticket) == ticket &&
         queue_slot_value(slot) > atomic_load(&slot->target);
}

static void add_running(scene_t *scene, uint64_t from, uint64_t to)
{
  rawhal_queue_t *queue = scene->queue;
  const uint64_t last = ring_last_ticket(&queue->ring);
  for (uint64_t ticket = ring_finished(&queue->ring) + 1;
       ticket <= last && scene->count < SCENE_DISPATCHES; ++ticket)
    if (is_running(queue_slot(queue, ticket), ticket))
      add_ticket(scene, ticket, from, to, true);
  scene->running = scene->count;
}

/* The packet that the device reads, as far as it tells: within the oldest submission that has not
 * finished. */
static uint64_t packet_guess(rawhal_queue_t *queue)
{
  const uint64_t last = ring_last_ticket(&queue->ring);
  const uint64_t read = queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue);
  for (uint64_t ticket = ring_finished(&queue->ring) + 1; ticket <= last; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    if (is_running(slot, ticket))
      return clock_clamp(read, atomic_load(&slot->packet),
                         atomic_load(&slot->packet) + atomic_load(&slot->packets) - 1);
  }
  return 0;
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
      add_ticket(scene, ticket, 0, UINT64_MAX, false);
  }
}

/* Those in flight, from a packet on, then those before it. */
static void list_running(scene_t *scene, uint64_t first)
{
  scene->count = 0;
  add_running(scene, first, UINT64_MAX);
  add_running(scene, 0, first);
}

/* Whether the packet that the device tells is the first of the scene: it may be one of another
 * ring, that of a front, where it has another index. */
static bool is_told(const scene_t *scene, const rawhal_fault_t *fault)
{
  const debug_dispatch_t *first = &scene->dispatches[0];
  return scene->running && first->packet == fault->packet &&
         (!fault->kernel_object || first->kernel_object == fault->kernel_object);
}

void scene_explain(rawhal_queue_t *queue, rawhal_fault_t *fault, const char *waits, bool own,
                   bool code, dump_t *dump)
{
  const queue_witness_t *witness = queue->device->witness;
  bool told = fault->known & RAWHAL_FAULT_KNOWS_DISPATCH;
  scene_t scene = {.queue = queue, .taken = told ? fault->packet + 1 : 0};
  if (!queue->hsa_queue)
    return;
  list_running(&scene, told ? fault->packet : packet_guess(queue));
  if (told && !is_told(&scene, fault)) {
    fault->known &= ~(uint32_t)RAWHAL_FAULT_KNOWS_DISPATCH;
    told = fault->kernel_object == 0; /* no kernel's packet: none is to be named */
    list_running(&scene, packet_guess(queue));
  }
  if (own && !told && scene.running == 1)
    fault->known |= RAWHAL_FAULT_KNOWS_DISPATCH;
  if (scene.running && (fault->known & RAWHAL_FAULT_KNOWS_DISPATCH || (own && !told)))
    dispatch_failed(&scene.dispatches[0], scene.kernels[0]->info.kernel->descriptor, fault);
  if (!witness)
    return;
  if (code)
    add_ended(&scene);
  debug_stand_t stand;
  const bool stands = fault->kind == RAWHAL_FAULT_TIME_LIMIT && witness->stand &&
                      witness->stand(queue->hsa_queue, fault, &stand);
  const debug_scene_t around = {
      .now = clock_now(),
      .dispatches = scene.dispatches,
      .dispatch_count = scene.count,
      .device = queue->device->agent.handle,
      .waits = waits,
      .stand = stands ? &stand : NULL,
      .context = (void *)(uintptr_t)queue->device,
      .allocation = witness->allocation,
      .read = witness->read,
  };
  witness->memory_hold();
  cause_find(&around, fault);
  if (dump)
    witness->gather(queue->device, queue->hsa_queue, fault, &around, code, dump);
  witness->memory_let();
}

/* ---- The others ---- */

typedef struct others {
  const rawhal_queue_t *but;
  dump_t *dump;
} others_t;

/* A lock is not waited for: then what runs is told by the packets alone. */
static bool gather_other(rawhal_queue_t *queue, void *data)
{
  const others_t *others = data;
  const queue_witness_t *witness = queue->device->witness;
  if (queue == others->but || queue->closing || !queue->hsa_queue || !witness ||
      !witness->gather_other)
    return false;
  scene_t scene = {.queue = queue};
  const bool held = pthread_mutex_trylock(&queue->drain_lock) == 0;
  const int health = atomic_load(&queue->health);
  if (held && health == QUEUE_ALIVE)
    list_running(&scene, packet_guess(queue));
  witness->gather_other(queue->device, queue->hsa_queue,
                        health == QUEUE_DEAD ? &queue->fault : NULL, scene.dispatches,
                        scene.running, others->dump);
  if (held)
    pthread_mutex_unlock(&queue->drain_lock);
  return false;
}

void scene_gather_others(const rawhal_queue_t *but, dump_t *dump, bool listed)
{
  others_t others = {but, dump};
  (void)(listed ? queue_list_visit : queue_list_find)(gather_other, &others);
}
