/* Device memory: reserved in the ledger before it is allocated, given back after it was freed. */
#include "front/held.h"

/* HSA_AMD_AGENT_INFO_MEMORY_AVAIL of later headers, bytes in a uint64_t. */
enum { AGENT_INFO_MEMORY_AVAIL = 0xA015 };

/* ---- Hooks ---- */

static uint64_t number_of(const void *memory)
{
  return (uint64_t)(uintptr_t)memory;
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
  if (result == HSA_STATUS_SUCCESS && held_remember(held, HELD_POINTER, number_of(*memory)))
    return result;
  if (result == HSA_STATUS_SUCCESS) {
    (void)front.hsa.pool_free(*memory);
    *memory = NULL;
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  held_give_back(held);
  return result;
}

static hsa_status_t pool_free(void *memory)
{
  held_t *held = held_take(HELD_POINTER, number_of(memory));
  return held_settle(held, front.hsa.pool_free(memory));
}

/* Of a region only the memory it gave tells whose it is. */
static hsa_status_t memory_allocate(hsa_region_t region, size_t size, void **memory)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  hsa_status_t result = front.hsa.memory_allocate(region, size, memory);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  hsa_amd_pointer_info_t info;
  if (!devices_pointer(*memory, &info) || info.type != HSA_EXT_POINTER_TYPE_HSA)
    return result;
  front_device_t *device = device_of_agent(info.agentOwner);
  if (!device)
    return result;
  held_t *held = held_reserve(device, LEDGER_BUFFERS, info.sizeInBytes);
  if (held && held_remember(held, HELD_POINTER, number_of(*memory)))
    return result;
  (void)front.hsa.memory_free(*memory);
  *memory = NULL;
  held_give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t memory_free(void *memory)
{
  held_t *held = held_take(HELD_POINTER, number_of(memory));
  return held_settle(held, front.hsa.memory_free(memory));
}

static hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type,
                                       uint64_t flags, front_vmem_handle_t *handle)
{
  if (front_orphaned())
    return HSA_STATUS_ERROR_NOT_INITIALIZED;
  front_device_t *device = device_of_pool(pool);
  if (!device || !size || !handle)
    return front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  held_t *held = held_reserve(device, LEDGER_BUFFERS, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  if (result == HSA_STATUS_SUCCESS && held_remember(held, HELD_HANDLE, handle->handle))
    return result;
  if (result == HSA_STATUS_SUCCESS) {
    (void)front.hsa.vmem_handle_release(*handle);
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  held_give_back(held);
  return result;
}

static hsa_status_t vmem_handle_release(front_vmem_handle_t handle)
{
  held_t *held = held_take(HELD_HANDLE, handle.handle);
  return held_settle(held, front.hsa.vmem_handle_release(handle));
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
  uint64_t total, used;
  rawhal_limiter_memory(device->limiter, &total, &used);
  size_t *size = value;
  *size = total < *size ? (size_t)total : *size;
  return result;
}

/* What is left of the quota, also where the runtime does not know what is left of the device. */
static hsa_status_t memory_available(const front_device_t *device, uint64_t *available)
{
  uint64_t total, used, most = device->memory_bytes;
  hsa_status_t result =
      front.hsa.agent_get_info(device->agent, (hsa_agent_info_t)AGENT_INFO_MEMORY_AVAIL, available);
  rawhal_limiter_memory(device->limiter, &total, &used);
  if (total == RAWHAL_UNLIMITED)
    return result;
  if (result == HSA_STATUS_SUCCESS)
    most = *available;
  uint64_t left = total > used ? total - used : 0;
  *available = left < most ? left : most;
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
  hooks->vmem_handle_create = vmem_handle_create;
  hooks->vmem_handle_release = vmem_handle_release;
  hooks->pool_get_info = pool_get_info;
  hooks->agent_get_info = agent_get_info;
}
