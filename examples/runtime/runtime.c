#include "runtime.h"

#include <stdlib.h>
#include <string.h>

void runtime_die(const char *what, const char *why)
{
  fprintf(stderr, "runtime: %s: %s\n", what, why);
  exit(1);
}

static void check(hsa_status_t status, const char *what)
{
  const char *text = "unknown status";
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
    return;
  (void)hsa_status_string(status, &text);
  runtime_die(what, text);
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  runtime_t *runtime = data;
  hsa_device_type_t type;
  hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (status == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_GPU && !runtime->agent.handle)
    runtime->agent = agent;
  if (status == HSA_STATUS_SUCCESS && type == HSA_DEVICE_TYPE_CPU && !runtime->host.handle)
    runtime->host = agent;
  return status;
}

/* The first pool of global memory: of the device coarse-grained, of the host fine-grained. */
static hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void *data)
{
  hsa_amd_memory_pool_t *found = data;
  hsa_amd_segment_t segment;
  hsa_status_t status =
      hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (status != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL)
    return status;
  *found = pool;
  return HSA_STATUS_INFO_BREAK;
}

static void queue_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
  runtime_t *runtime = data;
  (void)queue;
  runtime->stopped((int32_t)status, runtime->context);
}

void runtime_open(runtime_t *runtime, runtime_stopped_fn *stopped, void *context)
{
  memset(runtime, 0, sizeof(*runtime));
  runtime->stopped = stopped;
  runtime->context = context;
  check(hsa_init(), "hsa_init");
  check(hsa_iterate_agents(visit_agent, runtime), "listing agents");
  if (!runtime->agent.handle)
    runtime_die("no GPU", "see softgpu-run");
  check(hsa_amd_agent_iterate_memory_pools(runtime->agent, visit_pool, &runtime->device_pool),
        "listing the device's memory");
  check(hsa_amd_agent_iterate_memory_pools(runtime->host, visit_pool, &runtime->host_pool),
        "listing the host's memory");
  check(hsa_queue_create(runtime->agent, 256, HSA_QUEUE_TYPE_MULTI, queue_error, runtime,
                         UINT32_MAX, UINT32_MAX, &runtime->queue),
        "creating a queue");
}

void runtime_close(runtime_t *runtime)
{
  (void)hsa_queue_destroy(runtime->queue);
  (void)hsa_shut_down();
}

void *runtime_device(runtime_t *runtime, size_t size)
{
  void *memory;
  check(hsa_amd_memory_pool_allocate(runtime->device_pool, size, 0, &memory), "device memory");
  return memory;
}

void *runtime_host(runtime_t *runtime, size_t size)
{
  void *memory;
  check(hsa_amd_memory_pool_allocate(runtime->host_pool, size, 0, &memory), "host memory");
  check(hsa_amd_agents_allow_access(1, &runtime->agent, NULL, memory), "access to host memory");
  return memory;
}

hsa_signal_t runtime_signal(hsa_signal_value_t value)
{
  hsa_signal_t signal;
  check(hsa_signal_create(value, 0, NULL, &signal), "creating a signal");
  return signal;
}

void runtime_copy(runtime_t *runtime, void *to, const void *from, size_t size,
                  const hsa_signal_t *after, hsa_signal_t done)
{
  check(hsa_amd_memory_async_copy(to, runtime->agent, from, runtime->agent, size, after ? 1 : 0,
                                  after, done),
        "copying");
}

void runtime_barrier(runtime_t *runtime, hsa_signal_t done)
{
  hsa_queue_t *queue = runtime->queue;
  uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
    ;
  hsa_barrier_and_packet_t *packet =
      (hsa_barrier_and_packet_t *)queue->base_address + (index & (queue->size - 1));
  hsa_barrier_and_packet_t body = {.completion_signal = done};
  memcpy((char *)packet + 4, (const char *)&body + 4, sizeof(body) - 4);
  uint32_t header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE |
                    1u << HSA_PACKET_HEADER_BARRIER |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  __atomic_store_n((uint32_t *)packet, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

void runtime_wait(hsa_signal_t done)
{
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) >= 1)
    ;
}
