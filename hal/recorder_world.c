#include "hal/recorder_world.h"

#include "hal/buffer.h"
#include "hal/copy.h"
#include "hal/executable.h"
#include "hal/runtime.h"

#include "base/own_memory.h"
#include "queue/gate/memory.h"
#include "queue/gate/pointer.h"

#include <stdlib.h>

/* ---- Taking it ---- */

static int by_base(const void *a, const void *b)
{
  const uint64_t one = ((const world_buffer_t *)a)->base, other = ((const world_buffer_t *)b)->base;
  return (one > other) - (one < other);
}

static bool take_buffers(world_t *world, const allocator_t *allocator)
{
  size_t count = 0;
  registry_hold();
  for (const rawhal_buffer_t *buffer = registry_first(); buffer; buffer = buffer->hh.next)
    ++count;
  world->buffers = allocate_zeroed(allocator, count + 1, sizeof(*world->buffers));
  for (const rawhal_buffer_t *buffer = registry_first(); world->buffers && buffer;
       buffer = buffer->hh.next)
    world->buffers[world->buffer_count++] =
        (world_buffer_t){.base = (uint64_t)(uintptr_t)buffer->memory,
                         .size = buffer->size,
                         .number = buffer->number,
                         .buffer = buffer,
                         .shared = buffer->part_with && buffer->kind == RAWHAL_MEMORY_DEVICE};
  registry_let();
  if (world->buffer_count)
    qsort(world->buffers, world->buffer_count, sizeof(*world->buffers), by_base);
  return world->buffers != NULL;
}

world_object_t world_object_of(const rawhal_executable_t *executable,
                               const rawhal_device_kernel_info_t *kernel)
{
  world_object_t object = {.place = {0}};
  const rawhal_bytes_t bytes = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  const uint64_t delta = kernel->kernel_object - kernel->kernel->descriptor->address;
  object.place = (record_place_t){delta, memory_of_code(bytes.data, bytes.size), delta};
  variables_of(executable->source->hsaco, &object.variables);
  return object;
}

typedef struct walk {
  world_t *world;
  size_t count; /* seen */
} walk_t;

/* What has no kernel that was asked for cannot run, and nobody knows where it is. False, so that
 * all of them are seen. */
static bool see_executable(rawhal_executable_t *executable, void *data)
{
  walk_t *walk = data;
  world_t *world = walk->world;
  if (executable->device != world->device || executable->load)
    return false;
  pthread_mutex_lock(&executable->lock);
  const rawhal_device_kernel_info_t *kernel =
      executable->kernels ? &executable->kernels->kernel.info : NULL;
  pthread_mutex_unlock(&executable->lock);
  if (!kernel || !kernel->kernel->descriptor)
    return false;
  ++walk->count;
  if (world->objects)
    world->objects[world->object_count++] = world_object_of(executable, kernel);
  return false;
}

static bool take_objects(world_t *world, const allocator_t *allocator)
{
  walk_t walk = {.world = world};
  executables_hold();
  (void)sources_find(see_executable, &walk);
  world->objects = allocate_zeroed(allocator, walk.count + 1, sizeof(*world->objects));
  if (world->objects)
    (void)sources_find(see_executable, &walk);
  executables_let();
  return world->objects != NULL;
}

bool world_take(world_t *world, rawhal_device_t *device)
{
  const allocator_t *allocator = &device->runtime->allocator;
  *world = (world_t){.device = device};
  if (take_buffers(world, allocator) && take_objects(world, allocator))
    return true;
  world_free(world);
  return false;
}

void world_free(world_t *world)
{
  if (!world->device)
    return;
  const allocator_t *allocator = &world->device->runtime->allocator;
  allocate_free(allocator, world->buffers);
  allocate_free(allocator, world->objects);
  *world = (world_t){.device = NULL};
}

static void widen(uint64_t base, uint64_t size, uint64_t *least, uint64_t *end)
{
  if (!*end || base < *least)
    *least = base;
  if (base + size > *end)
    *end = base + size;
}

void world_bounds(const world_t *world, uint64_t *least, uint64_t *end)
{
  *least = *end = 0;
  for (size_t i = 0; i < world->buffer_count; ++i)
    widen(world->buffers[i].base, world->buffers[i].size, least, end);
  for (size_t i = 0; i < world->object_count; ++i)
    widen(world->objects[i].place.base, world->objects[i].place.size, least, end);
}

/* ---- What is at an address ---- */

/* The last that begins there or before, unless it ends before. */
static const world_buffer_t *buffer_at(const world_t *world, uint64_t address)
{
  size_t low = 0, high = world->buffer_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (world->buffers[middle].base <= address)
      low = middle + 1;
    else
      high = middle;
  }
  const world_buffer_t *buffer = low ? &world->buffers[low - 1] : NULL;
  return buffer && address - buffer->base < buffer->size ? buffer : NULL;
}

static record_memory_t found_buffer(const world_buffer_t *buffer, record_found_t *found)
{
  *found = (record_found_t){buffer->base, buffer->size, buffer->number};
  return buffer->shared ? RECORD_MEMORY_SHARED : RECORD_MEMORY_PROGRAM;
}

static record_memory_t find_object(const world_t *world, uint64_t address, record_found_t *found)
{
  for (size_t i = 0; i < world->object_count; ++i) {
    const world_object_t *object = &world->objects[i];
    if (address - object->place.base >= object->place.size)
      continue;
    for (size_t v = 0; v < object->variables.count; ++v) {
      const variables_range_t *variables = &object->variables.ranges[v];
      *found = (record_found_t){.base = variables->address + object->place.delta,
                                .size = variables->size};
      if (address - found->base < found->size)
        return RECORD_MEMORY_VARIABLES;
    }
    return RECORD_MEMORY_CODE;
  }
  return RECORD_MEMORY_NONE;
}

/* What is no buffer of ours. */
static record_memory_t ask_runtime(const world_t *world, uint64_t address, record_found_t *found)
{
  static const record_memory_t kinds[] = {[GATE_POINTER_NOWHERE] = RECORD_MEMORY_NONE,
                                          [GATE_POINTER_PROGRAM] = RECORD_MEMORY_PROGRAM,
                                          [GATE_POINTER_SHARED] = RECORD_MEMORY_SHARED,
                                          [GATE_POINTER_RUNTIME] = RECORD_MEMORY_RUNTIME};
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  if (!gate_pointer_is_one(address) ||
      world->device->runtime->hsa.hsa_amd_pointer_info((void *)(uintptr_t)address, &info, NULL,
                                                       NULL, NULL) != HSA_STATUS_SUCCESS)
    return RECORD_MEMORY_NONE;
  *found = (record_found_t){.base = (uint64_t)(uintptr_t)info.agentBaseAddress,
                            .size = info.sizeInBytes};
  return kinds[gate_pointer_of(address, &info)];
}

static record_memory_t find_memory(void *context, uint64_t address, bool runtime,
                                   record_found_t *found)
{
  const world_t *world = context;
  const world_buffer_t *buffer = buffer_at(world, address);
  if (buffer)
    return found_buffer(buffer, found);
  record_memory_t kind = find_object(world, address, found);
  if (kind == RECORD_MEMORY_NONE && runtime)
    kind = ask_runtime(world, address, found);
  if (kind == RECORD_MEMORY_NONE && (buffer = buffer_at(world, address - 1)))
    kind = found_buffer(buffer, found);
  return kind;
}

static bool is_there(void *context, uint64_t base, uint64_t number)
{
  record_found_t found;
  const world_t *world = context;
  const world_buffer_t *buffer = buffer_at(world, base);
  if (number)
    return buffer && buffer->number == number;
  return buffer || find_object(world, base, &found) != RECORD_MEMORY_NONE ||
         ask_runtime(world, base, &found) != RECORD_MEMORY_NONE;
}

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
  const world_t *world = context;
  const world_buffer_t *buffer = buffer_at(world, address);
  if (buffer && size <= buffer->size - (address - buffer->base))
    return rawhal_buffer_read(buffer->buffer, address - buffer->base, to, size, NULL) == RAWHAL_OK;
  if (world->device->runtime->is_software)
    return own_memory_copy(to, address, size);
  const transfer_rows_t there = {(unsigned char *)(uintptr_t)address, size, size, 1},
                        here = {to, size, size, 1};
  return copy_host(world->device, COPY_FROM_DEVICE, &there, &here, NULL) == RAWHAL_OK;
}

const record_world_t world_functions = {find_memory, is_there, read_memory};
