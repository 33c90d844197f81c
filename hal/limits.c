/* Limits of devices: configured when the runtime starts, kept by queues, buffers, executables and
 * copies. */
#include "hal/limits.h"

#include "hal/copy.h"
#include "hal/device_facts.h"
#include "hal/log.h"
#include "hal/runtime.h"

#include "queue/limit/config.h"
#include "queue/limit/only_copy.h"
#include "queue/limit/opening.h"

#include "base/cancel.h"
#include "base/error.h"

#include <string.h>

/* HSA_AMD_AGENT_INFO_MEMORY_AVAIL (bytes, uint64_t) and _NUM_XCC (uint32_t) of later headers; older
 * runtimes refuse them. */
enum { AGENT_INFO_MEMORY_AVAIL = 0xA015, AGENT_INFO_NUM_XCC = 0xA111 };

static cu_mask_device_t read_units(const hal_runtime_t *runtime, const rawhal_device_t *device)
{
  const char *processor = device->info.target.processor;
  uint32_t dies = 1;
  if (runtime->hsa.hsa_agent_get_info(device->queue.agent, (hsa_agent_info_t)AGENT_INFO_NUM_XCC,
                                      &dies) != HSA_STATUS_SUCCESS)
    dies = 1;
  return (cu_mask_device_t){.compute_units = device->info.compute_units,
                            .dies = dies,
                            .pairs = !strncmp(processor, "gfx1", 4)};
}

static rawhal_status_t read_mask(rawhal_device_t *device, const rawhal_limit_text_t *text,
                                 rawhal_error_t *error)
{
  rawhal_error_t mine;
  rawhal_status_t status =
      cu_mask_parse(text->text, &device->queue.units, &device->queue.cu_mask, &mine);
  return status == RAWHAL_OK ? RAWHAL_OK
                             : rawhal_fail(error, status, "%s: %s", text->origin, mine.message);
}

static bool has_front(const hal_runtime_t *runtime, const rawhal_device_t *device)
{
  uint32_t keeps = 0;
  return runtime->hsa.hsa_agent_get_info(device->queue.agent,
                                         (hsa_agent_info_t)LIMIT_AGENT_INFO_FRONT,
                                         &keeps) == HSA_STATUS_SUCCESS &&
         keeps;
}

/* What is kept here: all that is set, or, where a front keeps what is set from outside, what the
 * program sets. A front is in the region from outside already, and what it shows of the device is
 * the quota, of which percentages then are: hence only texts are taken from outside. */
static rawhal_status_t configure(const hal_runtime_t *runtime, const rawhal_device_t *device,
                                 const rawhal_limit_config_t *given,
                                 const rawhal_limit_device_t *facts, rawhal_limit_config_t *config,
                                 rawhal_error_t *error)
{
  const rawhal_limit_config_t mine = given ? *given : (rawhal_limit_config_t){0};
  rawhal_limit_config_t outside = {0};
  *config = mine;
  rawhal_status_t status = rawhal_limit_config_environment(config, facts, error);
  if (status != RAWHAL_OK || !has_front(runtime, device))
    return status;
  status = rawhal_limit_config_environment(&outside, facts, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_limit_text_t tenant = config->tenant;
  *config = mine;
  config->tenant = tenant;
  if (*outside.region.text) {
    config->region = (rawhal_limit_text_t){0};
    config->has_region_fd = false;
  }
  return RAWHAL_OK;
}

/* By a thread that holds the limiter's lock. */
static void log_damage(void *context, const char *text)
{
  (void)context;
  hal_log(RAWHAL_SEVERITY_ERROR, "%s", text);
}

static rawhal_status_t open_one(const hal_runtime_t *runtime, rawhal_device_t *device,
                                const rawhal_limit_config_t *given, rawhal_error_t *error)
{
  rawhal_limit_config_t config;
  rawhal_limit_device_t facts = {.index = (uint32_t)(device - runtime->devices),
                                 .memory_bytes = device->info.memory_bytes};
  device->queue.units = read_units(runtime, device);
  rawhal_status_t status = configure(runtime, device, given, &facts, &config, error);
  if (status != RAWHAL_OK || !rawhal_limit_config_limits(&config))
    return status;
  if (*config.cu_mask.text)
    status = read_mask(device, &config.cu_mask, error);
  if (status != RAWHAL_OK)
    return status;
  const bool alone = !*config.region.text && !config.has_region_fd;
  if (alone)
    status = limit_only_copy_begin(LIMIT_PART_LIBRARY, error);
  if (status != RAWHAL_OK)
    return status;
  device->alone = alone;
  char identity[64];
  device_identity(&device->info, identity);
  status = limit_open(&config, identity, &runtime->allocator, &device->queue.limiter, error);
  if (status != RAWHAL_OK)
    return status;
  limit_watch_damage(device->queue.limiter, log_damage, NULL);
  scratch_resume(device->queue.limiter, device->queue.agent.handle);
  hal_log(RAWHAL_SEVERITY_NOTE, "device %u, %s: quota and limits are in force", facts.index,
          device->info.name);
  const limit_queue_t reached = {.context = device, .reap = copy_engine_reap};
  return copies_open(&device->copies.turns, device->queue.limiter, &reached, error);
}

rawhal_status_t limits_open(hal_runtime_t *runtime, const rawhal_limit_config_t *given,
                            rawhal_error_t *error)
{
  for (size_t i = 0; i < runtime->device_count; ++i) {
    rawhal_status_t status = open_one(runtime, &runtime->devices[i], given, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

void limits_close(rawhal_device_t *device)
{
  copies_close(&device->copies.turns);
  rawhal_limiter_close(device->queue.limiter);
  device->queue.limiter = NULL;
  if (device->alone)
    limit_only_copy_end(LIMIT_PART_LIBRARY);
  device->alone = false;
}

rawhal_limiter_t *rawhal_device_limiter(const rawhal_device_t *device)
{
  return device ? device->queue.limiter : NULL;
}

/* ---- Memory ---- */

rawhal_status_t limits_reserve(const rawhal_device_t *device, ledger_class_t class, uint64_t bytes,
                               rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = device->queue.limiter;
  return limiter
             ? limit_memory_reserve(limiter, class, memory_granules(device->granule, bytes), error)
             : RAWHAL_OK;
}

void limits_release(const rawhal_device_t *device, ledger_class_t class, uint64_t bytes)
{
  rawhal_limiter_t *limiter = device->queue.limiter;
  if (limiter)
    limit_memory_release(limiter, class, memory_granules(device->granule, bytes));
}

void rawhal_device_memory(const rawhal_device_t *device, uint64_t *total, uint64_t *available)
{
  WITHOUT_CANCELLATION();
  *total = *available = 0;
  if (!device || runtime_check(NULL) != RAWHAL_OK)
    return;
  uint64_t most = device->info.memory_bytes, left = most;
  (void)device->runtime->hsa.hsa_agent_get_info(device->queue.agent,
                                                (hsa_agent_info_t)AGENT_INFO_MEMORY_AVAIL, &left);
  if (device->queue.limiter)
    left = memory_left(device->queue.limiter, left, &most);
  *total = most;
  *available = left < most ? left : most;
}
