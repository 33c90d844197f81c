#include "hal/log.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

struct rawhal_instance {
  allocator_t allocator; /* a copy: the runtime may end before */
  hal_runtime_t *runtime;
  log_hook_t log;
};

/* Takes the hold on the runtime and the place of the hook, or ends the former. */
static rawhal_status_t instance_make(hal_runtime_t *runtime, log_hook_t *hook,
                                     rawhal_instance_t **instance, rawhal_error_t *error)
{
  rawhal_instance_t *created = allocate_zeroed(&runtime->allocator, 1, sizeof(*created));
  if (!created) {
    runtime_release();
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for an instance");
  }
  created->allocator = runtime->allocator;
  created->runtime = runtime;
  log_hook_move(hook, &created->log);
  *instance = created;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_instance_create(const rawhal_instance_options_t *options,
                                       rawhal_instance_t **instance, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!instance)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "instance is NULL");
  *instance = NULL;
  rawhal_instance_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = runtime_check(error); /* first: after fork() the log's lock may be held for ever */
  if (status != RAWHAL_OK)
    return status;
  /* The instance's memory is the runtime's, whose start is in the log already. */
  log_hook_t hook = {0};
  hal_runtime_t *runtime;
  status = log_hook_add(&hook, taken.log, taken.log_context, error);
  if (status == RAWHAL_OK)
    status = runtime_open(&taken, &runtime, error);
  if (status == RAWHAL_OK)
    status = instance_make(runtime, &hook, instance, error);
  if (status != RAWHAL_OK)
    log_hook_remove(&hook);
  return status;
}

void rawhal_instance_destroy(rawhal_instance_t *instance)
{
  WITHOUT_CANCELLATION();
  if (!instance)
    return;
  runtime_release();
  if (runtime_check(NULL) == RAWHAL_OK) /* else it is the parent's, and the lock may be held */
    log_hook_remove(&instance->log);
  allocate_free(&instance->allocator, instance);
}

size_t rawhal_instance_device_count(const rawhal_instance_t *instance)
{
  return instance ? instance->runtime->device_count : 0;
}

rawhal_device_t *rawhal_instance_device(const rawhal_instance_t *instance, size_t index)
{
  return index < rawhal_instance_device_count(instance) ? &instance->runtime->devices[index] : NULL;
}

rawhal_status_t rawhal_instance_find_device(const rawhal_instance_t *instance, uint64_t agent,
                                            rawhal_device_t **device, rawhal_error_t *error)
{
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  *device = NULL;
  if (!instance)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "instance is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  for (size_t i = 0; i < instance->runtime->device_count; ++i)
    if (instance->runtime->devices[i].info.agent == agent)
      *device = &instance->runtime->devices[i];
  return *device ? RAWHAL_OK
                 : rawhal_fail(error, RAWHAL_NOT_FOUND,
                               "none of the runtime's %zu devices has the agent handle 0x%llx",
                               instance->runtime->device_count, (unsigned long long)agent);
}
