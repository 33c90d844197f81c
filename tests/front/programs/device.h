/* The device and its memory, for programs that use HSA alone and one device. */
#ifndef RAWHAL_TESTS_FRONT_DEVICE_H
#define RAWHAL_TESTS_FRONT_DEVICE_H

#include <hsa/hsa_ext_amd.h>
#include <string.h>

#include "call.h"

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t device_pool, host_pool; /* host_pool: for kernargs, too */

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type;
  (void)data;
  CALL(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  *(type == HSA_DEVICE_TYPE_GPU ? &gpu : &cpu) = agent;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_memory_pool_t *wanted = data;
  const uint32_t flag = wanted == &device_pool ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED
                                               : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  uint32_t segment, flags;
  CALL(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  CALL(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (segment == HSA_AMD_SEGMENT_GLOBAL && (flags & flag) && !wanted->handle)
    *wanted = pool;
  return HSA_STATUS_SUCCESS;
}

static void open_device(void)
{
  CALL(hsa_init());
  CALL(hsa_iterate_agents(visit_agent, NULL));
  CALL(hsa_amd_agent_iterate_memory_pools(gpu, visit_pool, &device_pool));
  CALL(hsa_amd_agent_iterate_memory_pools(cpu, visit_pool, &host_pool));
}

static void *device_memory(size_t size)
{
  void *memory;
  CALL(hsa_amd_memory_pool_allocate(device_pool, size, 0, &memory));
  return memory;
}

static void *host_memory(size_t size)
{
  void *memory;
  CALL(hsa_amd_memory_pool_allocate(host_pool, size, 0, &memory));
  CALL(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
  return memset(memory, 0, size);
}

#endif
