/* The device and its memory, its code and its queues, for programs that use HSA alone and one device, or two. */
#ifndef RAWHAL_TESTS_FRONT_DEVICE_H
#define RAWHAL_TESTS_FRONT_DEVICE_H

#include <hsa/hsa_ext_amd.h>
#include <string.h>

#include "call.h"

static hsa_agent_t gpus[2], gpu, cpu; /* gpu: the first */
static unsigned gpu_count;
static hsa_amd_memory_pool_t device_pools[2], host_pool; /* host_pool: for kernargs, too */

static inline hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  hsa_device_type_t type;
  (void)data;
  CALL(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU)
    cpu = agent;
  else if (type == HSA_DEVICE_TYPE_GPU && gpu_count < 2)
    gpus[gpu_count++] = agent;
  return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_memory_pool_t *wanted = data;
  const uint32_t flag = wanted == &host_pool ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT
                                             : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  uint32_t segment, flags;
  CALL(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  CALL(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
  if (segment == HSA_AMD_SEGMENT_GLOBAL && (flags & flag) && !wanted->handle)
    *wanted = pool;
  return HSA_STATUS_SUCCESS;
}

/* Ends the program, with 2, where there is no device. */
static inline void open_device(void)
{
  CALL(hsa_init());
  CALL(hsa_iterate_agents(visit_agent, NULL));
  if (!gpu_count)
    exit(2);
  gpu = gpus[0];
  for (unsigned i = 0; i < gpu_count; ++i)
    CALL(hsa_amd_agent_iterate_memory_pools(gpus[i], visit_pool, &device_pools[i]));
  CALL(hsa_amd_agent_iterate_memory_pools(cpu, visit_pool, &host_pool));
}

static inline void *device_memory(size_t size)
{
  void *memory;
  CALL(hsa_amd_memory_pool_allocate(device_pools[0], size, 0, &memory));
  return memory;
}

static inline void *host_memory(size_t size)
{
  void *memory;
  CALL(hsa_amd_memory_pool_allocate(host_pool, size, 0, &memory));
  CALL(hsa_amd_agents_allow_access(1, &gpu, NULL, memory));
  return memset(memory, 0, size);
}

static inline hsa_executable_t load_file(const char *path)
{
  static char bytes[1 << 20];
  hsa_code_object_reader_t reader;
  hsa_executable_t executable;
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
  if (!size)
    exit(4);
  fclose(file);
  CALL(hsa_code_object_reader_create_from_memory(bytes, size, &reader));
  CALL(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 &executable));
  CALL(hsa_executable_load_agent_code_object(executable, gpu, reader, NULL, NULL));
  CALL(hsa_executable_freeze(executable, NULL));
  return executable;
}

static inline uint64_t symbol(hsa_executable_t executable, const char *name,
                              hsa_executable_symbol_info_t what)
{
  hsa_executable_symbol_t found;
  uint64_t value = 0;
  CALL(hsa_executable_get_symbol_by_name(executable, name, &gpu, &found));
  CALL(hsa_executable_symbol_get_info(found, what, &value));
  return value;
}

static inline hsa_signal_t new_signal(void)
{
  hsa_signal_t made;
  CALL(hsa_signal_create(1, 0, NULL, &made));
  return made;
}

enum {
  FENCES = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
           HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE
};

/* Packets have 64 bytes, of which the first four are written last. `ring`: the queue that has it, mostly `queue`. */
static inline void put(hsa_queue_t *queue, const hsa_queue_t *ring, const void *packet,
                       uint32_t first)
{
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  char *slot = (char *)ring->base_address + (index & (ring->size - 1)) * 64;
  memcpy(slot + 4, (const char *)packet + 4, 60);
  __atomic_store_n((uint32_t *)(void *)slot, first, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

/* A dispatch of one work-group. */
static inline hsa_kernel_dispatch_packet_t packet_of(uint64_t object, uint16_t items,
                                                     void *kernargs, hsa_signal_t done)
{
  return (hsa_kernel_dispatch_packet_t){.workgroup_size_x = items,
                                        .workgroup_size_y = 1,
                                        .workgroup_size_z = 1,
                                        .grid_size_x = items,
                                        .grid_size_y = 1,
                                        .grid_size_z = 1,
                                        .kernel_object = object,
                                        .kernarg_address = kernargs,
                                        .completion_signal = done};
}

#endif
