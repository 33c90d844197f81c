#include "hal/dump.h"

#include "hal/device_facts.h"
#include "hal/executable.h"
#include "hal/log.h"
#include "hal/runtime.h"

#include "debug/dump.h"

#include <stdio.h>

static dump_settings_t settings;

rawhal_status_t dump_open(rawhal_error_t *error)
{
  return dump_settings_read(&settings, error);
}

/* ---- The device ---- */

static uint32_t info(const rawhal_device_t *device, uint32_t attribute, uint32_t otherwise)
{
  uint32_t value = 0;
  const hsa_status_t result = device->runtime->hsa.hsa_agent_get_info(
      device->queue.agent, (hsa_agent_info_t)attribute, &value);
  return result == HSA_STATUS_SUCCESS && value ? value : otherwise;
}

/* "gfx90a" as 90010: the last two digits are hexadecimal. 0: it is none. */
static uint32_t version_of(const char *processor)
{
  unsigned major, minor, stepping;
  const size_t length = strlen(processor);
  if (length < 6 || length > 7 ||
      sscanf(processor + length - 2, "%1x%1x", &minor, &stepping) != 2 ||
      sscanf(processor, length == 6 ? "gfx%1u" : "gfx%2u", &major) != 1)
    return 0;
  return major * 10000 + minor * 100 + stepping;
}

static core_agent_t agent_of(const rawhal_device_t *device)
{
  enum { AMD = 0x1002, SIMDS = 4 };
  const uint32_t engines = info(device, HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES, 1),
                 arrays = info(device, HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE, 1),
                 simds = info(device, HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU, SIMDS),
                 waves = info(device, HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, 8 * SIMDS);
  return (core_agent_t){
      .gfx_target_version = version_of(device->info.target.processor),
      .gpu_id = 1 + (uint32_t)(device - device->runtime->devices),
      .location = info(device, HSA_AMD_AGENT_INFO_BDFID, 0),
      .vendor = AMD,
      .device = info(device, HSA_AMD_AGENT_INFO_CHIP_ID, 0),
      .subsystem_vendor = AMD,
      .simds = device->info.compute_units * simds,
      .waves_per_simd = waves / simds ? waves / simds : 1,
      .arrays = engines * arrays,
      .arrays_per_engine = arrays,
      .xccs = device->queue.units.dies ? device->queue.units.dies : 1,
      .memory_base = 4096,
      .memory_limit = UINT64_C(0x7fffffffffff),
  };
}

/* ---- Code ---- */

static const rawhal_device_t *sought; /* of both: the table of executables is held */
static size_t to_pass;

static bool is_next(rawhal_executable_t *executable)
{
  return executable->device == sought && executable->kernels && !executable->load && to_pass-- == 0;
}

/* Where it was loaded is told by any kernel that was asked for; what has none cannot run. */
static bool code_at(void *context, size_t index, dump_code_t *code)
{
  sought = context;
  to_pass = index;
  const rawhal_executable_t *executable = sources_find(is_next);
  if (!executable)
    return false;
  const rawhal_device_kernel_info_t *kernel = &executable->kernels->kernel.info;
  const rawhal_bytes_t object = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  *code = (dump_code_t){.object = object};
  if (!kernel->kernel->descriptor)
    return true;
  code->delta = kernel->kernel_object - kernel->kernel->descriptor->address;
  code->address = code->delta;
  code->size = memory_of_code(object.data, object.size);
  return true;
}

/* ---- Writing ---- */

void dump_death(const queue_device_t *queue_device, const void *hsa_queue,
                const rawhal_fault_t *fault, const debug_scene_t *around, bool code)
{
  const rawhal_device_t *device =
      (const void *)((const char *)queue_device - offsetof(rawhal_device_t, queue));
  const core_agent_t agent = agent_of(device);
  const dump_scene_t scene = {
      .fault = fault,
      .around = around,
      .softgpu = runtime_softgpu(),
      .agent = &agent,
      .hsa_queue = hsa_queue,
      .context = (void *)(uintptr_t)device,
      .code = code ? code_at : NULL,
  };
  char said[CORE_PATH_BYTES + 128];
  if (dump_write(&settings, &scene, said, sizeof(said)))
    hal_log(RAWHAL_SEVERITY_ERROR, "%s", said);
}
