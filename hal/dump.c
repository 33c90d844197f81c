#include "hal/dump.h"

#include "hal/executable.h"
#include "hal/runtime.h"

#include "debug/agent.h"
#include "queue/limit/describe.h"

dump_settings_t hal_cores;

rawhal_status_t dump_open(rawhal_error_t *error)
{
  return dump_settings_read(&hal_cores, error);
}

/* ---- Code ---- */

/* The walk over executables, of which some are passed. The table is held. */
typedef struct walk {
  const rawhal_device_t *device;
  bool others; /* those of other devices */
  size_t to_pass;
  const rawhal_device_kernel_info_t *kernel; /* the first of the executable it stands at */
} walk_t;

static bool is_next(rawhal_executable_t *executable, void *data)
{
  walk_t *walk = data;
  if ((executable->device != walk->device) != walk->others ||
      pthread_mutex_trylock(&executable->lock) != 0)
    return false; /* or the runtime is being asked for a kernel of it */
  walk->kernel = executable->kernels ? &executable->kernels->kernel.info : NULL;
  pthread_mutex_unlock(&executable->lock);
  return walk->kernel && walk->to_pass-- == 0;
}

/* Those of the device that failed come first. Where it was loaded is told by any kernel that was
 * asked for; what has none cannot run. */
static bool code_at(void *context, size_t index, dump_code_t *code)
{
  walk_t walk = {.device = context, .to_pass = index};
  const rawhal_executable_t *executable = sources_find(is_next, &walk);
  if (!executable) {
    walk.others = true;
    executable = sources_find(is_next, &walk);
  }
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

static const rawhal_device_t *device_of(const queue_device_t *device)
{
  return (const void *)((const char *)device - offsetof(rawhal_device_t, queue));
}

static dump_queue_t describe(const queue_device_t *queue_device, const void *hsa_queue,
                             const rawhal_fault_t *fault, const debug_dispatch_t *dispatches,
                             size_t count)
{
  const rawhal_device_t *device = device_of(queue_device);
  return (dump_queue_t){.agent = (uint32_t)(device - device->runtime->devices),
                        .hsa_queue = hsa_queue,
                        .softgpu = runtime_softgpu(),
                        .fault = fault,
                        .dispatches = dispatches,
                        .dispatch_count = count};
}

void dump_death(const queue_device_t *queue_device, const void *hsa_queue,
                const rawhal_fault_t *fault, const debug_scene_t *around, bool code, dump_t *dump)
{
  const rawhal_device_t *device = device_of(queue_device);
  const hal_runtime_t *runtime = device->runtime;
  core_agent_t agents[DUMP_AGENTS];
  const size_t count = runtime->device_count < DUMP_AGENTS ? runtime->device_count : DUMP_AGENTS;
  for (size_t i = 0; i < count; ++i)
    agents[i] = debug_agent(runtime->hsa.hsa_agent_get_info, runtime->devices[i].queue.agent,
                            (uint32_t)i, runtime->devices[i].info.target.processor);
  char limits[1024] = "";
  print_t lines = print_into(limits, sizeof(limits));
  limit_describe(queue_device->limiter, &lines);
  const dump_scene_t scene = {
      .around = around,
      .queue = describe(queue_device, hsa_queue, fault, around->dispatches, around->dispatch_count),
      .agents = agents,
      .agent_count = count,
      .limits = rawhal_string(limits),
      .context = (void *)(uintptr_t)device,
      .code = code ? code_at : NULL,
  };
  dump_gather(dump, &scene);
}

void dump_other(const queue_device_t *device, const void *hsa_queue, const rawhal_fault_t *fault,
                const debug_dispatch_t *dispatches, size_t count, dump_t *dump)
{
  const dump_queue_t queue = describe(device, hsa_queue, fault, dispatches, count);
  dump_gather_queue(dump, &queue);
}
