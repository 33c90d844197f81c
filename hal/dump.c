#include "hal/dump.h"

#include "hal/executable.h"
#include "hal/runtime.h"

#include "debug/agent.h"

dump_settings_t hal_cores;

rawhal_status_t dump_open(rawhal_error_t *error)
{
  return dump_settings_read(&hal_cores, error);
}

/* ---- Code ---- */

/* The walk over a device's executables, of which some are passed. The table is held. */
typedef struct walk {
  const rawhal_device_t *device;
  size_t to_pass;
  const rawhal_device_kernel_info_t *kernel; /* the first of the executable it stands at */
} walk_t;

static bool is_next(rawhal_executable_t *executable, void *data)
{
  walk_t *walk = data;
  if (executable->device != walk->device || pthread_mutex_trylock(&executable->lock) != 0)
    return false; /* of another device; or the runtime is being asked for a kernel of it */
  walk->kernel = executable->kernels ? &executable->kernels->kernel.info : NULL;
  pthread_mutex_unlock(&executable->lock);
  return walk->kernel && walk->to_pass-- == 0;
}

/* Where it was loaded is told by any kernel that was asked for; what has none cannot run. */
static bool code_at(void *context, size_t index, dump_code_t *code)
{
  walk_t walk = {.device = context, .to_pass = index};
  const rawhal_executable_t *executable = sources_find(is_next, &walk);
  if (!executable)
    return false;
  const rawhal_device_kernel_info_t *kernel = walk.kernel;
  const rawhal_bytes_t object = rawhal_hsaco_info(executable->source->hsaco)->bytes;
  *code = (dump_code_t){.object = object};
  if (!kernel->kernel->descriptor)
    return true;
  code->delta = kernel->kernel_object - kernel->kernel->descriptor->address;
  code->address = code->delta;
  code->size = memory_of_code(object.data, object.size);
  return true;
}

/* ---- Gathering ---- */

void dump_death(const queue_device_t *queue_device, const void *hsa_queue,
                const rawhal_fault_t *fault, const debug_scene_t *around, bool code, dump_t *dump)
{
  const rawhal_device_t *device =
      (const void *)((const char *)queue_device - offsetof(rawhal_device_t, queue));
  const core_agent_t agent =
      debug_agent(device->runtime->hsa.hsa_agent_get_info, device->queue.agent,
                  (uint32_t)(device - device->runtime->devices), device->info.target.processor);
  const dump_scene_t scene = {
      .fault = fault,
      .around = around,
      .softgpu = runtime_softgpu(),
      .agent = &agent,
      .hsa_queue = hsa_queue,
      .context = (void *)(uintptr_t)device,
      .code = code ? code_at : NULL,
  };
  dump_gather(dump, &scene);
}
