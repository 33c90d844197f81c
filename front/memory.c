/* Device memory: reserved in the ledger before it is allocated, given back after it was freed. */
#include "front/front.h"

#include <pthread.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* what finds no memory is not added, and has no table */
#include <uthash.h>

/* HSA_AMD_AGENT_INFO_MEMORY_AVAIL of later headers, bytes in a uint64_t. */
enum { AGENT_INFO_MEMORY_AVAIL = 0xA015 };

/* Freeing tells no size. Memory and handles of memory do not have the same numbers: a key has both.
 */
typedef enum held_kind { HELD_POINTER, HELD_HANDLE } held_kind_t;

typedef struct held_key {
  uint64_t kind, number;
} held_key_t;

typedef struct held {
  held_key_t key;
  rawhal_limiter_t *limiter;
  uint64_t bytes;
  UT_hash_handle hh;
} held_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held_t *all;

/* ---- The ledger ---- */

/* NULL: refused, or there is no host memory to remember it in. */
static held_t *reserve(front_device_t *device, uint64_t bytes)
{
  held_t *held = malloc(sizeof(*held));
  if (!held)
    return NULL;
  uint64_t granule = device->granule ? device->granule : 1;
  uint64_t rounded =
      bytes > UINT64_MAX - granule ? bytes : (bytes + granule - 1) / granule * granule;
  *held = (held_t){.limiter = device->limiter, .bytes = rounded};
  if (limit_memory_reserve(device->limiter, LEDGER_BUFFERS, rounded, NULL) == RAWHAL_OK)
    return held;
  free(held);
  return NULL;
}

static void give_back(held_t *held)
{
  if (!held)
    return;
  limit_memory_release(held->limiter, LEDGER_BUFFERS, held->bytes);
  free(held);
}

/* False: there is no host memory for it. */
static bool remember(held_t *held, held_kind_t kind, uint64_t number)
{
  held->key = (held_key_t){kind, number};
  held->hh.tbl = NULL;
  pthread_mutex_lock(&lock);
  HASH_ADD(hh, all, key, sizeof(held->key), held);
  bool added = held->hh.tbl != NULL;
  pthread_mutex_unlock(&lock);
  return added;
}

/* Before it is freed: afterwards somebody else may get the same address. */
static held_t *take(held_kind_t kind, uint64_t number)
{
  held_key_t key = {kind, number};
  held_t *held;
  pthread_mutex_lock(&lock);
  HASH_FIND(hh, all, &key, sizeof(key), held);
  if (held)
    HASH_DELETE(hh, all, held);
  pthread_mutex_unlock(&lock);
  return held;
}

/* After it was freed, or was not. */
static hsa_status_t settle(held_t *held, hsa_status_t result)
{
  if (!held || result == HSA_STATUS_SUCCESS)
    give_back(held);
  else if (!remember(held, (held_kind_t)held->key.kind, held->key.number))
    free(held); /* still there, and so still charged */
  return result;
}

void memory_forget(void)
{
  held_t *held, *next;
  pthread_mutex_lock(&lock);
  HASH_ITER(hh, all, held, next)
  {
    HASH_DELETE(hh, all, held);
    give_back(held);
  }
  pthread_mutex_unlock(&lock);
}

/* ---- Hooks ---- */

static uint64_t number_of(const void *memory)
{
  return (uint64_t)(uintptr_t)memory;
}

static hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags,
                                  void **memory)
{
  front_device_t *device = device_of_pool(pool);
  if (!device || !size || !memory)
    return front.hsa.pool_allocate(pool, size, flags, memory);
  held_t *held = reserve(device, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.pool_allocate(pool, size, flags, memory);
  if (result == HSA_STATUS_SUCCESS && remember(held, HELD_POINTER, number_of(*memory)))
    return result;
  if (result == HSA_STATUS_SUCCESS) {
    (void)front.hsa.pool_free(*memory);
    *memory = NULL;
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  give_back(held);
  return result;
}

static hsa_status_t pool_free(void *memory)
{
  held_t *held = take(HELD_POINTER, number_of(memory));
  return settle(held, front.hsa.pool_free(memory));
}

/* Of a region only the memory it gave tells whose it is. */
static hsa_status_t memory_allocate(hsa_region_t region, size_t size, void **memory)
{
  hsa_status_t result = front.hsa.memory_allocate(region, size, memory);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  if (front.hsa.pointer_info(*memory, &info, NULL, NULL, NULL) != HSA_STATUS_SUCCESS ||
      info.type != HSA_EXT_POINTER_TYPE_HSA)
    return result;
  front_device_t *device = device_of_agent(info.agentOwner);
  if (!device)
    return result;
  held_t *held = reserve(device, info.sizeInBytes);
  if (held && remember(held, HELD_POINTER, number_of(*memory)))
    return result;
  (void)front.hsa.memory_free(*memory);
  *memory = NULL;
  give_back(held);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t memory_free(void *memory)
{
  held_t *held = take(HELD_POINTER, number_of(memory));
  return settle(held, front.hsa.memory_free(memory));
}

static hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type,
                                       uint64_t flags, front_vmem_handle_t *handle)
{
  front_device_t *device = device_of_pool(pool);
  if (!device || !size || !handle)
    return front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  held_t *held = reserve(device, size);
  if (!held)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  hsa_status_t result = front.hsa.vmem_handle_create(pool, size, type, flags, handle);
  if (result == HSA_STATUS_SUCCESS && remember(held, HELD_HANDLE, handle->handle))
    return result;
  if (result == HSA_STATUS_SUCCESS) {
    (void)front.hsa.vmem_handle_release(*handle);
    result = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  give_back(held);
  return result;
}

static hsa_status_t vmem_handle_release(front_vmem_handle_t handle)
{
  held_t *held = take(HELD_HANDLE, handle.handle);
  return settle(held, front.hsa.vmem_handle_release(handle));
}

/* ---- What the device seems to have ---- */

/* HIP's total; what it says is free is this less its own sum. */
static hsa_status_t pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                                  void *value)
{
  hsa_status_t result = front.hsa.pool_get_info(pool, attribute, value);
  front_device_t *device = attribute == HSA_AMD_MEMORY_POOL_INFO_SIZE ? device_of_pool(pool) : NULL;
  if (result != HSA_STATUS_SUCCESS || !device)
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
  front_device_t *device = device_of_agent(agent);
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
