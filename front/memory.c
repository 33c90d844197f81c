/* Device memory: reserved in the ledger before it is allocated, given back after it was freed. */
#include "front/memory.h"

#include "front/devices.h"
#include "front/held.h"
#include "front/scratch.h"

#include "queue/hsa_table.h"

/* HSA_AMD_AGENT_INFO_MEMORY_AVAIL of later headers, bytes in a uint64_t. */
enum { AGENT_INFO_MEMORY_AVAIL = 0xA015 };

/* ---- Hooks ---- */

/* What was reserved has its name from here on, or is given back. */
static hsa_status_t allocated(held_t *held, hsa_status_t result, void **memory,
                              hsa_status_t (*free_it)(void *memory))
{
  if (result == HSA_STATUS_SUCCESS && held_remember(held, HELD_POINTER, held_number(*memory), 1))
    return result;
  if (result == HSA_STATUS_SUCCESS) {
    (void)free_it(*memory);
    *memory = NULL;
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  held_give_back(held);
  return result;
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_pool(pool);
  if (!device || !size || !memory)
    return front.hsa.pool_allocate(pool, size, flags, memory);
  held_t *held = held_reserve(device, LEDGER_BUFFERS, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.pool_allocate(pool, size, flags, memory);
  return allocated(held, result, memory, front.hsa.pool_free);
}

static hsa_status_t pool_free(void *memory)
{
  held_t *held = held_take(HELD_POINTER, held_number(memory));
  return held_settle(held, front.hsa.pool_free(memory));
}

/* What is there already: only the memory itself tells whose it is. False: it does not fit. */
static bool claim(const void *memory, ledger_class_t class, held_t **held)
{
  hsa_amd_pointer_info_t info;
  *held = NULL;
  if (!devices_pointer(memory, &info) || info.type != HSA_EXT_POINTER_TYPE_HSA)
    return true;
  front_device_t *device = device_of_agent(info.agentOwner);
  if (!device)
    return true;
  *held = held_reserve(device, class, info.sizeInBytes);
  return *held != NULL;
}

/* Of a region that is none of the pools. */
static hsa_status_t allocate_somewhere(hsa_region_t region, size_t size, void **memory)
{
  held_t *held;
  hsa_status_t result = front.hsa.memory_allocate(region, size, memory);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  const bool fits = claim(*memory, LEDGER_BUFFERS, &held);
  if (fits && (!held || held_remember(held, HELD_POINTER, held_number(*memory), 1)))
    return result;
  (void)front.hsa.memory_free(*memory);
  *memory = NULL;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* A region and a pool are the same to ROCr, by the same number. What is refused must not take the
 * device's memory first: something else that fits may be refused meanwhile. */
static hsa_status_t memory_allocate(hsa_region_t region, size_t size, void **memory)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_pool((hsa_amd_memory_pool_t){region.handle});
  if (!device || !size || !memory)
    return allocate_somewhere(region, size, memory);
  held_t *held = held_reserve(device, LEDGER_BUFFERS, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.memory_allocate(region, size, memory);
  return allocated(held, result, memory, front.hsa.memory_free);
}

static hsa_status_t memory_free(void *memory)
{
  held_t *held = held_take(HELD_POINTER, held_number(memory));
  return held_settle(held, front.hsa.memory_free(memory));
}

/* Its ring is in the region that the program names, which may be a device's. */
static hsa_status_t soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                      uint32_t features, hsa_signal_t doorbell, hsa_queue_t **queue)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_pool((hsa_amd_memory_pool_t){region.handle});
  if (!size || !queue)
    return front.hsa.soft_queue_create(region, size, type, features, doorbell, queue);
  const uint64_t bytes = (uint64_t)size * sizeof(hsa_kernel_dispatch_packet_t);
  held_t *held = device ? held_reserve(device, LEDGER_QUEUES, bytes) : NULL;
  if (device && !held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.soft_queue_create(region, size, type, features, doorbell, queue);
  if (result != HSA_STATUS_SUCCESS) {
    held_give_back(held);
    return result;
  }
  const bool fits = device || claim((*queue)->base_address, LEDGER_QUEUES, &held);
  if (fits && (!held || held_remember(held, HELD_QUEUE, held_number(*queue), 1)))
    return result;
  (void)front.hsa.queue_destroy(*queue);
  *queue = NULL;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

held_t *memory_of_queue(front_device_t *device, const hsa_queue_t *queue)
{
  hsa_amd_pointer_info_t info;
  const bool known = devices_pointer(queue->base_address, &info);
  return held_reserve(device, LEDGER_QUEUES,
                      MEMORY_OF_QUEUE + (known ? memory_on_device(&info, device->agent) : 0));
}

/* One without a proxy: its packets are not seen, but what it has of scratch. */
hsa_status_t memory_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_agent(agent);
  hsa_status_t result =
      front.hsa.queue_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (result != HSA_STATUS_SUCCESS || !device)
    return result;
  held_t *held = memory_of_queue(device, *queue);
  if (held && scratch_watch(device, *queue, private_bytes)) {
    if (held_remember(held, HELD_QUEUE, held_number(*queue), 1))
      return result;
    scratch_settle(scratch_unwatch(*queue), true);
  }
  (void)front.hsa.queue_destroy(*queue);
  *queue = NULL;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t memory_queue_destroy(hsa_queue_t *queue)
{
  held_t *held = held_take(HELD_QUEUE, held_number(queue));
  scratch_watched_t *watched = scratch_unwatch(queue);
  hsa_status_t result = front.hsa.queue_destroy(queue);
  scratch_settle(watched, result == HSA_STATUS_SUCCESS);
  return held_settle(held, result);
}

/* The runtimes there are leave memory where it is. */
static hsa_status_t memory_migrate(const void *memory, hsa_amd_memory_pool_t pool, uint32_t flags)
{
  return device_of_pool(pool) ? HSA_STATUS_ERROR_OUT_OF_RESOURCES
                              : front.hsa.memory_migrate(memory, pool, flags);
}

/* Scratch that a queue keeps is charged up to what the runtime keeps by itself. */
static hsa_status_t scratch_limit(hsa_agent_t agent, size_t most)
{
  const bool more = device_of_agent(agent) && most > scratch_most();
  return front.hsa.scratch_limit(agent, more ? (size_t)scratch_most() : most);
}

/* ---- What the device seems to have ---- */

/* HIP's total; what it says is free is this less its own sum. */
static hsa_status_t pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                  void *value)
{
  hsa_status_t result = front.hsa.pool_get_info(pool, attribute, value);
  front_device_t *device = attribute == HSA_AMD_MEMORY_POOL_INFO_SIZE ? device_of_pool(pool) : NULL;
  if (result != HSA_STATUS_SUCCESS || !device || front_orphaned())
    return result;
  uint64_t total = *(const size_t *)value;
  (void)memory_left(device->limiter, 0, &total);
  *(size_t *)value = (size_t)total;
  return result;
}

/* What is left of the quota, also where the runtime does not know what is left of the device. */
static hsa_status_t memory_available(const front_device_t *device, uint64_t *available)
{
  uint64_t total = RAWHAL_UNLIMITED;
  held_sweep();
  scratch_look();
  hsa_status_t result =
      front.hsa.agent_get_info(device->agent, (hsa_agent_info_t)AGENT_INFO_MEMORY_AVAIL, available);
  const uint64_t most = result == HSA_STATUS_SUCCESS ? *available : device->memory_bytes;
  const uint64_t left = memory_left(device->limiter, most, &total);
  if (total == RAWHAL_UNLIMITED)
    return result;
  *available = left;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void *value)
{
  front_device_t *device = front_orphaned() ? NULL : device_of_agent(agent);
  if (device && value && (int)attribute == AGENT_INFO_MEMORY_AVAIL)
    return memory_available(device, value);
  if (device && value && (int)attribute == LIMIT_AGENT_INFO_FRONT) {
    *(uint32_t *)value = 1;
    return HSA_STATUS_SUCCESS;
  }
  return front.hsa.agent_get_info(agent, attribute, value);
}

void memory_hooks(front_calls_t *hooks)
{
  hooks->pool_allocate = pool_allocate;
  hooks->pool_free = pool_free;
  hooks->memory_allocate = memory_allocate;
  hooks->memory_free = memory_free;
  hooks->soft_queue_create = soft_queue_create;
  hooks->queue_create = memory_queue_create;
  hooks->queue_destroy = memory_queue_destroy;
  hooks->memory_migrate = memory_migrate;
  hooks->scratch_limit = front.hsa.scratch_limit ? scratch_limit : NULL;
  hooks->pool_get_info = pool_get_info;
  hooks->agent_get_info = agent_get_info;
}
