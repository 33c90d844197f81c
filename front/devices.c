/* Which agents are devices, and what the environment limits on each of them. */
#include "front/devices.h"

#include "front/front.h"
#include "front/policy.h"
#include "front/report.h"

#include "debug/softgpu.h"
#include "queue/limit/only_copy.h"
#include "queue/limit/opening.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MOST_PACKETS = 4096 };

front_device_t *device_known(hsa_agent_t agent)
{
  for (uint32_t i = 0; i < front.device_count; ++i)
    if (front.devices[i].agent.handle == agent.handle)
      return &front.devices[i];
  return NULL;
}

front_device_t *device_with_pool(hsa_amd_memory_pool_t pool)
{
  for (uint32_t i = 0; i < front.device_count; ++i)
    for (uint32_t j = 0; j < front.devices[i].pool_count; ++j)
      if (front.devices[i].pools[j].handle == pool.handle)
        return &front.devices[i];
  return NULL;
}

static front_device_t *if_limited(front_device_t *device)
{
  return device && device->limiter ? device : NULL;
}

front_device_t *device_of_agent(hsa_agent_t agent)
{
  return if_limited(device_known(agent));
}

front_device_t *device_of_pool(hsa_amd_memory_pool_t pool)
{
  return if_limited(device_with_pool(pool));
}

/* ---- Finding ---- */

static bool pool_fact(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute, void *value)
{
  return front.hsa.pool_get_info(pool, attribute, value) == HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_device_pool(hsa_amd_memory_pool_t pool, void *data)
{
  front_device_t *device = data;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  if (!pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment))
    return HSA_STATUS_SUCCESS;
  if (segment == HSA_AMD_SEGMENT_GROUP) {
    size_t size = 0;
    (void)pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
    device->group_bytes = size < UINT32_MAX ? (uint32_t)size : 0;
  }
  if (segment != HSA_AMD_SEGMENT_GLOBAL || device->pool_count == FRONT_POOLS)
    return HSA_STATUS_SUCCESS;
  device->pools[device->pool_count++] = pool;
  (void)pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED && !device->memory_bytes) {
    size_t size = 0;
    (void)pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
    (void)pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE, &device->granule);
    device->memory_bytes = size;
  }
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t visit_host_pool(hsa_amd_memory_pool_t pool, void *data)
{
  (void)data;
  hsa_amd_segment_t segment;
  uint32_t flags = 0;
  if (pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) &&
      segment == HSA_AMD_SEGMENT_GLOBAL &&
      pool_fact(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags) &&
      flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED && !front.host_pool.handle)
    front.host_pool = pool;
  return HSA_STATUS_SUCCESS;
}

static void isa_of(front_device_t *device)
{
  hsa_isa_t isa = {0};
  uint32_t length = 0;
  if (front.hsa.agent_get_info(device->agent, HSA_AGENT_INFO_ISA, &isa) != HSA_STATUS_SUCCESS ||
      front.hsa.isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length) != HSA_STATUS_SUCCESS ||
      length >= sizeof(device->isa) ||
      front.hsa.isa_get_info_alt(isa, HSA_ISA_INFO_NAME, device->isa) != HSA_STATUS_SUCCESS)
    *device->isa = '\0';
  (void)memcpy(device->executes, device->isa, sizeof(device->isa));
  rawhal_target_t target;
  if (rawhal_target_parse(rawhal_string(device->isa), &target, NULL) != RAWHAL_OK)
    return;
  device->chip = occupancy_chip(target.processor);
  (void)snprintf(device->processor, sizeof(device->processor), "%s", target.processor);
  debug_softgpu_t softgpu;
  debug_softgpu_find_loaded(&softgpu);
  char *id = strstr(device->executes, target.processor);
  if (id && debug_softgpu_target(&softgpu, front.hsa.agent_get_info, device->agent, &target,
                                 NULL) == RAWHAL_OK)
    (void)rawhal_target_format(&target, id,
                               (size_t)(device->executes + sizeof(device->executes) - id));
}

static hsa_status_t visit_agent(hsa_agent_t agent, void *data)
{
  (void)data;
  hsa_device_type_t type;
  hsa_status_t result = front.hsa.agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (result != HSA_STATUS_SUCCESS)
    return result;
  if (type == HSA_DEVICE_TYPE_CPU) {
    front.host_agent = front.host_agent.handle ? front.host_agent : agent;
    return front.hsa.iterate_pools(agent, visit_host_pool, NULL);
  }
  if (type != HSA_DEVICE_TYPE_GPU)
    return HSA_STATUS_SUCCESS;
  if (front.device_count == FRONT_DEVICES)
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  front_device_t *device = &front.devices[front.device_count++];
  *device = (front_device_t){.agent = agent, .granule = 4096};
  device->max_packets = DEFAULT_MOST_PACKETS;
  (void)front.hsa.agent_get_info(agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &device->max_packets);
  (void)front.hsa.agent_get_info(agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES,
                                 &device->engines);
  isa_of(device);
  return front.hsa.iterate_pools(agent, visit_device_pool, device);
}

/* ---- Limits ---- */

/* What must be seen of a device's queues. */
typedef enum look { LOOK_NOWHERE, LOOK_AT_PACKETS, LOOK_AT_ENDS } look_t;

/* A limit that is not here is one of what is in flight, or of time. */
static const struct {
  rawhal_limit_t limit;
  look_t look;
} looks[] = {{RAWHAL_LIMIT_MEMORY, LOOK_NOWHERE},
             {RAWHAL_LIMIT_PROCESS_MEMORY, LOOK_NOWHERE},
             {RAWHAL_LIMIT_GRID_WORKGROUPS, LOOK_AT_PACKETS}};

static look_t look_for(int limit)
{
  for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); ++i)
    if ((int)looks[i].limit == limit)
      return looks[i].look;
  return LOOK_AT_ENDS;
}

static bool has_region(const rawhal_limit_config_t *config)
{
  rawhal_limit_text_t region = {0};
  return rawhal_limit_config_name(config, RAWHAL_LIMIT_NAME_REGION, &region, NULL) != RAWHAL_OK ||
         *region.text;
}

/* In a region others may limit anything later. */
static look_t look_of(const rawhal_limit_config_t *config)
{
  look_t look = LOOK_NOWHERE;
  if (has_region(config))
    return LOOK_AT_ENDS;
  for (int i = 0; rawhal_limit_info((rawhal_limit_t)i); ++i) {
    rawhal_limit_value_t value = {0};
    if (look_for(i) > look && (rawhal_limit_config_value(config, (rawhal_limit_t)i, &value, NULL) ||
                               *value.origin || *value.bound_origin))
      look = look_for(i);
  }
  return look;
}

/* A limit that is configured is enforced, or the call fails. */
static rawhal_status_t check_enforced(const rawhal_limit_config_t *config, rawhal_error_t *error)
{
  rawhal_limit_text_t mask = {0};
  rawhal_status_t status =
      rawhal_limit_config_name(config, RAWHAL_LIMIT_NAME_CU_MASK, &mask, error);
  if (status == RAWHAL_OK && *mask.text)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "%s: compute units cannot be limited for programs that do not use librawhal",
                       mask.origin);
  rawhal_limit_value_t kernargs = {0};
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_value(config, RAWHAL_LIMIT_KERNARG_IN_FLIGHT, &kernargs, error);
  if (status == RAWHAL_OK && kernargs.value != RAWHAL_UNLIMITED)
    return rawhal_fail(
        error, RAWHAL_UNSUPPORTED,
        "%s: kernarg bytes in flight cannot be limited for programs that do not use librawhal",
        kernargs.origin);
  return status;
}

static void identity_of(const front_device_t *device, char identity[64])
{
  char uuid[64] = "", name[64] = "";
  uint32_t domain = 0, bdf = 0;
  (void)front.hsa.agent_get_info(device->agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_UUID, uuid);
  (void)front.hsa.agent_get_info(device->agent, HSA_AGENT_INFO_NAME, name);
  (void)front.hsa.agent_get_info(device->agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_DOMAIN,
                                 &domain);
  (void)front.hsa.agent_get_info(device->agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_BDFID, &bdf);
  if (strcmp(uuid, "GPU-XX") == 0) /* stands for a device without one */
    uuid[0] = '\0';
  limit_device_name(uuid, name, domain, bdf & 0xffff, identity);
}

static void report_damage(void *context, const char *text)
{
  const front_device_t *device = context;
  front_report("device %td: %s", device - front.devices, text);
}

static rawhal_status_t open_one(uint32_t index, rawhal_limit_config_t *config,
                                rawhal_error_t *error)
{
  front_device_t *device = &front.devices[index];
  rawhal_limit_device_t facts = {.index = index, .memory_bytes = device->memory_bytes};
  rawhal_status_t status = policy_limits(config, &facts, error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_environment(config, &facts, error);
  const bool limits = rawhal_limit_config_limits(config);
  const bool ends = front.watched || front.hangs || (front.shown && !front.tables.newer_queues);
  if (status != RAWHAL_OK || (!limits && !ends))
    return status;
  status = check_enforced(config, error);
  if (status != RAWHAL_OK)
    return status;
  const look_t look = ends ? LOOK_AT_ENDS : look_of(config);
  device->timed = look != LOOK_NOWHERE;
  device->counted = look == LOOK_AT_ENDS;
  if (device->timed && front.tables.newer_queues)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the tools table of this HSA runtime has step %#x, which is not known: "
                       "queues may be created in unknown ways, so only memory can be limited",
                       ((const table_version_t *)(const void *)front.tables.amd_found)->step);
  if (limits && !has_region(config))
    status = limit_only_copy_begin(LIMIT_PART_FRONT, error);
  if (status != RAWHAL_OK)
    return status;
  device->alone = limits && !has_region(config);
  char identity[64];
  identity_of(device, identity);
  status = rawhal_limiter_open(config, identity, &device->limiter, error);
  if (status == RAWHAL_OK) {
    limit_watch_damage(device->limiter, report_damage, device);
    front.limited |= limits;
    front.timed |= device->timed;
  }
  return status;
}

uint64_t front_now(void)
{
  uint64_t ticks = 0;
  (void)front.hsa.system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &ticks);
  return gate_ns(ticks, front.timestamp_hz);
}

rawhal_status_t devices_clock(rawhal_error_t *error)
{
  if (front.hsa.system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &front.timestamp_hz) !=
          HSA_STATUS_SUCCESS ||
      front.timestamp_hz == 0)
    return rawhal_fail(error, RAWHAL_RUNTIME, "the HSA runtime does not report its clock rate");
  return RAWHAL_OK;
}

rawhal_status_t devices_open(rawhal_error_t *error)
{
  if (front.hsa.iterate_agents(visit_agent, NULL) != HSA_STATUS_SUCCESS)
    return rawhal_fail(error, RAWHAL_RUNTIME, "the HSA runtime does not list its devices");
  bool reaches = false; /* without page faults the device has only what it is given */
  (void)front.hsa.system_get_info((hsa_system_info_t)HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT,
                                  &reaches);
  front.reaches_host = reaches;
  for (uint32_t i = 0; i < front.device_count; ++i) {
    rawhal_limit_config_t *config;
    rawhal_status_t status = rawhal_limit_config_create(&config, error);
    if (status == RAWHAL_OK)
      status = open_one(i, config, error);
    rawhal_limit_config_destroy(config);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

void devices_close(void)
{
  for (uint32_t i = 0; i < front.device_count; ++i) {
    rawhal_limiter_close(front.devices[i].limiter);
    if (front.devices[i].alone)
      limit_only_copy_end(LIMIT_PART_FRONT);
  }
  memset(front.devices, 0, sizeof(front.devices));
  front.device_count = 0;
  front.limited = front.timed = false;
}

bool devices_pointer(const void *address, hsa_amd_pointer_info_t *info)
{
  *info = (hsa_amd_pointer_info_t){.size = sizeof(*info)};
  return front.hsa.pointer_info(address, info, NULL, NULL, NULL) == HSA_STATUS_SUCCESS;
}

void *devices_shared_memory(size_t size)
{
  void *memory = NULL;
  hsa_agent_t agents[FRONT_DEVICES];
  for (uint32_t i = 0; i < front.device_count; ++i)
    agents[i] = front.devices[i].agent;
  if (front.hsa.pool_allocate(front.host_pool, size, 0, &memory) != HSA_STATUS_SUCCESS)
    return NULL;
  if (front.hsa.allow_access(front.device_count, agents, NULL, memory) == HSA_STATUS_SUCCESS)
    return memory;
  (void)front.hsa.pool_free(memory);
  return NULL;
}

/* Of a device of which nothing is known, some of whose variables may be of its own. */
static rawhal_status_t check_one(uint32_t index, rawhal_limit_config_t *config, bool *limits,
                                 rawhal_limit_text_t *opened, rawhal_error_t *error)
{
  const rawhal_limit_device_t some = {.index = index, .memory_bytes = UINT64_C(1) << 40};
  rawhal_limit_text_t named = {0};
  rawhal_status_t status = policy_limits(config, &some, error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_environment(config, &some, error);
  if (status != RAWHAL_OK)
    return status;
  *limits |= rawhal_limit_config_limits(config);
  status = check_enforced(config, error);
  if (status == RAWHAL_OK)
    status = rawhal_limit_config_name(config, RAWHAL_LIMIT_NAME_REGION, &named, error);
  if (status != RAWHAL_OK || strcmp(named.text, opened->text) == 0)
    return status;
  *opened = named;
  return limit_check_region(config, error);
}

rawhal_status_t devices_check(bool *limits, rawhal_error_t *error)
{
  rawhal_limit_text_t opened = {0};
  rawhal_status_t status = RAWHAL_OK;
  *limits = false;
  for (uint32_t i = 0; i < FRONT_DEVICES && status == RAWHAL_OK; ++i) {
    rawhal_limit_config_t *config;
    status = rawhal_limit_config_create(&config, error);
    if (status == RAWHAL_OK)
      status = check_one(i, config, limits, &opened, error);
    rawhal_limit_config_destroy(config);
  }
  return status;
}

bool devices_limits_wanted(void)
{
  rawhal_limit_config_t *config;
  const rawhal_limit_device_t some = {.memory_bytes = UINT64_C(1) << 40};
  bool wanted = true;
  if (policy_has_limits() || rawhal_limit_config_create(&config, NULL) != RAWHAL_OK)
    return true;
  if (rawhal_limit_config_environment(config, &some, NULL) == RAWHAL_OK)
    wanted = rawhal_limit_config_limits(config);
  rawhal_limit_config_destroy(config);
  return wanted;
}
