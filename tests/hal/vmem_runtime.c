/* The HSA runtime with virtual memory, as later ones have it: what is reserved is device memory all
 * the same, so that the device has those addresses, and what is mapped there is copied to it, and
 * back when it is unmapped. It counts, and refuses what the test says. */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
/* Of the runtime's name, which later headers declare with types of theirs. */
#define OF_RUNTIME(name) __asm__("hsa_amd_" #name)

enum { UNMAPPED = 0xcc, VIRTUAL_MEM_API_SUPPORTED = 0x205 };

SHOWN int vmem_ranges, vmem_handles, vmem_maps;
SHOWN int vmem_missing; /* the driver has none */
SHOWN int vmem_refused; /* by a function of this number, from 1 */

enum { RESERVE = 1, CREATE, MAP, SET_ACCESS };

typedef struct vmem_handle {
  size_t size;
  unsigned char *bytes;
  void *at; /* NULL: not mapped */
} vmem_handle_t;

typedef struct handle {
  uint64_t handle;
} handle_t;

typedef struct access {
  hsa_access_permission_t permission;
  hsa_agent_t agent;
} access_t;

SHOWN hsa_status_t hsa_system_get_info(hsa_system_info_t attribute, void *value)
{
  __typeof__(&hsa_system_get_info) real;
  if ((int)attribute == VIRTUAL_MEM_API_SUPPORTED) {
    *(bool *)value = !vmem_missing;
    return HSA_STATUS_SUCCESS;
  }
  *(void **)&real = dlsym(RTLD_NEXT, "hsa_system_get_info");
  return real(attribute, value);
}

static hsa_status_t first_global(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_segment_t segment;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL)
    return HSA_STATUS_SUCCESS;
  *(hsa_amd_memory_pool_t *)data = pool;
  return HSA_STATUS_INFO_BREAK;
}

static hsa_status_t of_gpu(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  return type == HSA_DEVICE_TYPE_GPU ? hsa_amd_agent_iterate_memory_pools(agent, first_global, data)
                                     : HSA_STATUS_SUCCESS;
}

SHOWN hsa_status_t vmem_address_reserve(void **va, size_t size, uint64_t address, uint64_t flags)
    OF_RUNTIME(vmem_address_reserve);
hsa_status_t vmem_address_reserve(void **va, size_t size, uint64_t address, uint64_t flags)
{
  hsa_amd_memory_pool_t pool = {0};
  if (vmem_refused == RESERVE || address || flags)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  (void)hsa_iterate_agents(of_gpu, &pool);
  hsa_status_t result = hsa_amd_memory_pool_allocate(pool, size, 0, va);
  vmem_ranges += result == HSA_STATUS_SUCCESS;
  return result;
}

SHOWN hsa_status_t vmem_address_free(void *va, size_t size) OF_RUNTIME(vmem_address_free);
hsa_status_t vmem_address_free(void *va, size_t size)
{
  (void)size;
  --vmem_ranges;
  return vmem_maps ? HSA_STATUS_ERROR_RESOURCE_FREE : hsa_amd_memory_pool_free(va);
}

SHOWN hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type,
                                      uint64_t flags, handle_t *made)
    OF_RUNTIME(vmem_handle_create);
hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, int type, uint64_t flags,
                                handle_t *made)
{
  if (vmem_refused == CREATE || !pool.handle || type || flags || size % 4096)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  vmem_handle_t *handle = calloc(1, sizeof(*handle) + size);
  if (!handle)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  *handle = (vmem_handle_t){size, (unsigned char *)(handle + 1), NULL};
  made->handle = (uint64_t)(uintptr_t)handle;
  __atomic_fetch_add(&vmem_handles, 1, __ATOMIC_RELAXED);
  return HSA_STATUS_SUCCESS;
}

SHOWN hsa_status_t vmem_handle_release(handle_t given) OF_RUNTIME(vmem_handle_release);
hsa_status_t vmem_handle_release(handle_t given)
{
  vmem_handle_t *handle = (vmem_handle_t *)(uintptr_t)given.handle;
  if (handle->at)
    return HSA_STATUS_ERROR;
  free(handle);
  __atomic_fetch_sub(&vmem_handles, 1, __ATOMIC_RELAXED);
  return HSA_STATUS_SUCCESS;
}

enum { MOST = 256 };
static vmem_handle_t *mapped[MOST]; /* under the lock, as is where each is */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

SHOWN hsa_status_t vmem_map(void *va, size_t size, size_t offset, handle_t given, uint64_t flags)
    OF_RUNTIME(vmem_map);
hsa_status_t vmem_map(void *va, size_t size, size_t offset, handle_t given, uint64_t flags)
{
  vmem_handle_t *handle = (vmem_handle_t *)(uintptr_t)given.handle;
  if (vmem_refused == MAP || size != handle->size || offset || flags || handle->at)
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  hsa_status_t status = HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST && status != HSA_STATUS_SUCCESS; ++i) {
    if (mapped[i])
      continue;
    mapped[i] = handle;
    handle->at = va;
    memcpy(va, handle->bytes, size);
    __atomic_fetch_add(&vmem_maps, 1, __ATOMIC_RELAXED);
    status = HSA_STATUS_SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

SHOWN hsa_status_t vmem_unmap(void *va, size_t size) OF_RUNTIME(vmem_unmap);
hsa_status_t vmem_unmap(void *va, size_t size)
{
  hsa_status_t status = HSA_STATUS_ERROR_INVALID_ALLOCATION;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST && status != HSA_STATUS_SUCCESS; ++i) {
    vmem_handle_t *handle = mapped[i];
    if (!handle || handle->at != va || handle->size != size)
      continue;
    mapped[i] = NULL;
    memset(va, UNMAPPED, size);
    handle->at = NULL;
    __atomic_fetch_sub(&vmem_maps, 1, __ATOMIC_RELAXED);
    status = HSA_STATUS_SUCCESS;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

SHOWN hsa_status_t vmem_set_access(void *va, size_t size, const access_t *access, size_t count)
    OF_RUNTIME(vmem_set_access);
hsa_status_t vmem_set_access(void *va, size_t size, const access_t *access, size_t count)
{
  (void)va, (void)size;
  return vmem_refused == SET_ACCESS || count != 1 || access->permission != HSA_ACCESS_PERMISSION_RW
             ? HSA_STATUS_ERROR_INVALID_ARGUMENT
             : HSA_STATUS_SUCCESS;
}
