/* Finding agents and memory pools, and what rawhal says about a device. */
#include "hal/device.h"

#include "hal/copy.h"
#include "hal/device_facts.h"
#include "hal/executable.h"
#include "hal/limits.h"
#include "hal/log.h"
#include "hal/runtime.h"
#include "hal/transfer_check.h"
#include "hal/witness.h"
#include "queue/create.h"
#include "queue/timeline/timeline.h"

#include "base/cancel.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a walk over agents, pools or instruction sets needs to know, and what it finds. */
typedef struct search {
  hal_runtime_t *runtime;
  rawhal_device_t *device; /* the one being filled in */
  uint64_t nodes;          /* of GPUs that the runtime lists, a bit each, */
  size_t count;            /* and how many there are */
  rawhal_error_t *error;
  rawhal_status_t status;
} search_t;

/* ---- Pools ---- */

static hsa_status_t visit_host_pool(hsa_amd_memory_pool_t pool, void *data)
{
  hal_runtime_t *runtime = ((search_t *)data)->runtime;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  const hsa_table_t *hsa = &runtime->hsa;
  hsa_status_t result =
      hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (result != HSA_STATUS_SUCCESS || segment != HSA_AMD_SEGMENT_GLOBAL)
    return result;
  result = hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT && runtime->kernarg_pool.handle == 0)
    runtime->kernarg_pool = pool;
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED && runtime->host_pool.handle == 0)
    runtime->host_pool = pool;
  return result;
}

static hsa_status_t visit_device_pool(hsa_amd_memory_pool_t pool, void *data)
{
  search_t *search = data;
  rawhal_device_t *device = search->device;
  const hsa_table_t *hsa = &search->runtime->hsa;
  hsa_amd_segment_t segment;
  size_t size = 0;
  uint32_t flags = 0;
  hsa_status_t result =
      hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (result == HSA_STATUS_SUCCESS)
    result = hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  if (segment == HSA_AMD_SEGMENT_GROUP)
    device->info.lds_bytes = (uint32_t)size;
  if (segment != HSA_AMD_SEGMENT_GLOBAL)
    return HSA_STATUS_SUCCESS;
  result = hsa->hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED && device->pool.handle == 0) {
    device->pool = pool;
    device->info.memory_bytes = size;
    if (result == HSA_STATUS_SUCCESS)
      result = hsa->hsa_amd_memory_pool_get_info(
          pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &device->granule);
  }
  return result;
}

/* ---- A device's facts ---- */

static hsa_status_t visit_isa(hsa_isa_t isa, void *data)
{
  search_t *search = data;
  const hsa_table_t *hsa = &search->runtime->hsa;
  char name[256] = "";
  uint32_t length = 0;
  hsa_status_t result = hsa->hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length);
  if (result == HSA_STATUS_SUCCESS && length < sizeof(name))
    result = hsa->hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  rawhal_string_t text = {name, strlen(name)};
  search->status = rawhal_target_parse(text, &search->device->listed, search->error);
  return HSA_STATUS_INFO_BREAK; /* the first is the exact one, generic ones follow */
}

/* One hsa_agent_get_info() call each: attribute and where its value goes. */
static hsa_status_t read_facts(const hsa_table_t *hsa, hsa_agent_t agent, rawhal_device_t *device)
{
  hsa_dim3_t grid = {0};
  rawhal_device_info_t *info = &device->info;
  const struct {
    uint32_t attribute;
    void *value;
  } facts[] = {
      {HSA_AGENT_INFO_NAME, info->name}, /* 63 characters at most, by the specification */
      {HSA_AGENT_INFO_WAVEFRONT_SIZE, &info->wavefront_size},
      {HSA_AGENT_INFO_WORKGROUP_MAX_DIM, info->max_workgroup_dim},
      {HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, &info->max_workgroup_size},
      {HSA_AGENT_INFO_GRID_MAX_DIM, &grid},
      {HSA_AGENT_INFO_QUEUE_MIN_SIZE, &device->queue.min_packets},
      {HSA_AGENT_INFO_QUEUE_MAX_SIZE, &info->max_queue_packets},
      {HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &info->compute_units},
  };
  for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); ++i) {
    hsa_status_t result =
        hsa->hsa_agent_get_info(agent, (hsa_agent_info_t)facts[i].attribute, facts[i].value);
    if (result != HSA_STATUS_SUCCESS)
      return result;
  }
  info->max_grid_dim[0] = grid.x;
  info->max_grid_dim[1] = grid.y;
  info->max_grid_dim[2] = grid.z;
  return HSA_STATUS_SUCCESS;
}

static void describe(const hal_runtime_t *runtime, hsa_agent_t agent, rawhal_device_t *device)
{
  rawhal_device_info_t *info = &device->info;
  (void)runtime->hsa.hsa_agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME,
                                        info->product); /* 63 characters at most, by its header */
  if (!*info->product)
    memcpy(info->product, info->name, sizeof(info->product));
  info->is_software = runtime->is_software;
  info->timestamp_hz = runtime->timestamp_hz;
  if (info->is_software && info->target.machine != device->listed.machine)
    snprintf(info->description, sizeof(info->description),
             "softgpu: a %s in software, listed as %s, run by this machine's processor; not a GPU",
             info->target.processor, device->listed.processor);
  else if (info->is_software)
    snprintf(info->description, sizeof(info->description),
             "softgpu: a %s in software, executed by this machine's processor; not a GPU",
             info->target.processor);
  else
    snprintf(info->description, sizeof(info->description), "%s (%s), hardware", info->product,
             info->target.processor);
}

static void fill_queue_device(const hal_runtime_t *runtime, hsa_agent_t agent,
                              rawhal_device_t *device)
{
  queue_device_t *queue = &device->queue;
  const rawhal_device_info_t *info = &device->info;
  queue->allocator = &runtime->allocator;
  queue->hsa = &runtime->hsa;
  queue->agent = agent;
  queue->kernarg_pool = runtime->kernarg_pool;
  queue->timestamp_hz = runtime->timestamp_hz;
  queue->instructions = runtime_softgpu()->instructions;
  queue->lds_bytes = info->lds_bytes;
  queue->max_workgroup_size = info->max_workgroup_size;
  memcpy(queue->max_workgroup_dim, info->max_workgroup_dim, sizeof(queue->max_workgroup_dim));
  memcpy(queue->max_grid_dim, info->max_grid_dim, sizeof(queue->max_grid_dim));
  queue->max_packets = info->max_queue_packets;
  queue->chip = occupancy_chip(info->target.processor);
  queue->scratch.processor = info->target.processor;
  (void)runtime->hsa.hsa_agent_get_info(
      agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, &queue->scratch.engines);
  queue->witness = &hal_witness;
  queue->died = log_fault;
  queue->hold = runtime_hold;
  queue->release = runtime_release;
  queue->unpinned = executables_reap;
  queue->buffers = &transfer_buffers;
}

static hsa_status_t fill_device(search_t *search, hsa_agent_t agent)
{
  hal_runtime_t *runtime = search->runtime;
  rawhal_device_t *device = search->device;
  const hsa_table_t *hsa = &runtime->hsa;
  device->runtime = runtime;
  copy_engine_init(&device->copies);
  hsa_status_t result = read_facts(hsa, agent, device);
  if (result == HSA_STATUS_SUCCESS)
    result = hsa->hsa_amd_agent_iterate_memory_pools(agent, visit_device_pool, search);
  if (result == HSA_STATUS_SUCCESS)
    result = hsa->hsa_agent_iterate_isas(agent, visit_isa, search);
  if (result == HSA_STATUS_INFO_BREAK)
    result = HSA_STATUS_SUCCESS;
  device->info.target = device->listed;
  if (result == HSA_STATUS_SUCCESS && search->status == RAWHAL_OK)
    search->status = debug_softgpu_target(runtime_softgpu(), hsa->hsa_agent_get_info, agent,
                                          &device->info.target, search->error);
  if (result == HSA_STATUS_SUCCESS && search->status == RAWHAL_OK) {
    device_facts(hsa, agent, &device->info);
    describe(runtime, agent, device);
    fill_queue_device(runtime, agent, device);
  }
  return result;
}

/* ---- Agents ---- */

static hsa_status_t visit_host(hsa_agent_t agent, void *data)
{
  search_t *search = data;
  hal_runtime_t *runtime = search->runtime;
  hsa_device_type_t type;
  hsa_status_t result = runtime->hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  if (type == HSA_DEVICE_TYPE_GPU) {
    uint32_t node = 0;
    result = runtime->hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &node);
    search->nodes |= node < 64 ? UINT64_C(1) << node : 0;
    ++search->count;
    return result;
  }
  if (type != HSA_DEVICE_TYPE_CPU || runtime->host_agent.handle)
    return HSA_STATUS_SUCCESS;
  runtime->host_agent = agent;
  return runtime->hsa.hsa_amd_agent_iterate_memory_pools(agent, visit_host_pool, search);
}

static hsa_status_t visit_gpu(hsa_agent_t agent, void *data)
{
  search_t *search = data;
  hsa_device_type_t type;
  hsa_status_t result =
      search->runtime->hsa.hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (result != HSA_STATUS_SUCCESS || type != HSA_DEVICE_TYPE_GPU)
    return result;
  result = fill_device(search, agent);
  ++search->device;
  if (result == HSA_STATUS_SUCCESS && search->status != RAWHAL_OK)
    return HSA_STATUS_INFO_BREAK;
  return result;
}

/* Devices that the runtime does not know it leaves out: others would have their numbers. */
static rawhal_status_t check_known(const search_t *search)
{
  enum { GFX10 = 0x1000 };
  const hal_runtime_t *runtime = search->runtime;
  uint32_t chip, listed;
  if (!runtime->is_software || getenv("ROCR_VISIBLE_DEVICES"))
    return RAWHAL_OK;
  for (uint32_t node = 1; node < 64 && runtime->softgpu->tells.device_chip(node, &chip, &listed);
       ++node)
    if (!(search->nodes >> node & 1))
      return rawhal_fail(search->error, RAWHAL_UNSUPPORTED,
                         "this HSA runtime does not know gfx%" PRIx32
                         ", as which softgpu's device is listed; SOFTGPU_LISTED=%s lists it as a "
                         "chip that every runtime knows",
                         listed, listed < GFX10 ? "gfx90a" : "gfx1030");
  return RAWHAL_OK;
}

rawhal_status_t devices_find(hal_runtime_t *runtime, rawhal_error_t *error)
{
  const hsa_table_t *hsa = &runtime->hsa;
  search_t search = {.runtime = runtime, .error = error};
  hsa_status_t result = hsa->hsa_iterate_agents(visit_host, &search);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "listing agents");
  if (!runtime->kernarg_pool.handle || !runtime->host_pool.handle)
    return rawhal_fail(error, RAWHAL_RUNTIME, "the runtime lists no fine-grained host memory");
  const rawhal_status_t status = check_known(&search);
  if (status != RAWHAL_OK || search.count == 0)
    return status;
  runtime->devices = allocate_zeroed(&runtime->allocator, search.count, sizeof(*runtime->devices));
  if (!runtime->devices)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the list of devices");
  runtime->device_count = search.count;
  search.device = runtime->devices;
  result = hsa->hsa_iterate_agents(visit_gpu, &search);
  if (search.status != RAWHAL_OK)
    return search.status;
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "reading a device's properties");
  return RAWHAL_OK;
}

void devices_free(hal_runtime_t *runtime)
{
  for (size_t i = 0; i < runtime->device_count; ++i)
    if (runtime->devices[i].runtime) {
      copy_engine_free(&runtime->devices[i]); /* which may yet have something to pay for */
      limits_close(&runtime->devices[i]);
    }
  allocate_free(&runtime->allocator, runtime->devices);
  runtime->devices = NULL;
  runtime->device_count = 0;
}

const rawhal_device_info_t *rawhal_device_info(const rawhal_device_t *device)
{
  return device ? &device->info : NULL;
}

rawhal_status_t rawhal_semaphore_create(rawhal_device_t *device, uint64_t value,
                                        rawhal_semaphore_t **semaphore, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!semaphore)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "semaphore is NULL");
  *semaphore = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  return semaphore_create(&device->queue, value, semaphore, error);
}

rawhal_status_t rawhal_queue_create(rawhal_device_t *device, const rawhal_queue_options_t *options,
                                    rawhal_queue_t **queue, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  *queue = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  return queue_create(&device->queue, options, queue, error);
}
