/* One runtime a process: opened by the first instance, shut down after the last object. */
#include "hal/internal.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned holders;
static loaded_libraries_t libraries;
static hal_runtime_t runtime;

static void reason_append(char *text, size_t size, uint32_t mask, uint32_t bit, const char *reason)
{
  size_t used = strlen(text);
  if (mask & bit)
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", reason);
}

/* Runs on the runtime's event thread. Without a handler the runtime ends the process. */
static hsa_status_t system_event(const hsa_amd_event_t *event, void *data)
{
  (void)data;
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT)
    return HSA_STATUS_SUCCESS;
  const hsa_amd_gpu_memory_fault_info_t *fault = &event->memory_fault;
  char reasons[128] = "", text[256];
  uint32_t mask = fault->fault_reason_mask;
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
                "page not present");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_READ_ONLY, "read-only page");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_NX, "no execute permission");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_HOST_ONLY, "host-only page");
  snprintf(text, sizeof(text), "memory fault at address 0x%llx (%s)",
           (unsigned long long)fault->virtual_address, *reasons ? reasons : "no reason given");
  queue_fail_agent(fault->agent, RAWHAL_FAULT, text);
  return HSA_STATUS_SUCCESS;
}

static rawhal_status_t start(const rawhal_limit_config_t *limits, rawhal_error_t *error)
{
  memset(&runtime, 0, sizeof(runtime));
  runtime.is_software = libraries.backend == RAWHAL_BACKEND_SOFTGPU;
  runtime.queue_fault = libraries.softgpu.queue_fault;
  rawhal_status_t status = hsa_table_load(libraries.runtime, &runtime.hsa, error);
  if (status != RAWHAL_OK)
    return status;
  hsa_status_t result = runtime.hsa.hsa_init();
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(&runtime.hsa, result, error, "starting the HSA runtime");
  result =
      runtime.hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &runtime.timestamp_hz);
  if (result != HSA_STATUS_SUCCESS || runtime.timestamp_hz == 0)
    status = hsa_fail(&runtime.hsa, result, error, "reading the runtime's clock rate");
  if (status == RAWHAL_OK) {
    result = runtime.hsa.hsa_amd_register_system_event_handler(system_event, NULL);
    if (result != HSA_STATUS_SUCCESS)
      status = hsa_fail(&runtime.hsa, result, error, "registering for memory faults");
  }
  if (status == RAWHAL_OK)
    status = devices_find(&runtime, error);
  if (status == RAWHAL_OK)
    status = limits_open(&runtime, limits, error);
  if (status != RAWHAL_OK) {
    devices_free(&runtime);
    (void)runtime.hsa.hsa_shut_down();
  }
  return status;
}

rawhal_status_t runtime_open(const rawhal_instance_options_t *options, hal_runtime_t **result,
                             rawhal_error_t *error)
{
  pthread_mutex_lock(&lock);
  rawhal_status_t status = loader_open(options, &libraries, error);
  if (status == RAWHAL_OK && holders && options->limits)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the runtime runs already; its limits are those it was started with");
  if (status == RAWHAL_OK && holders == 0)
    status = start(options->limits, error);
  if (status == RAWHAL_OK) {
    ++holders;
    *result = &runtime;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

void runtime_hold(void)
{
  pthread_mutex_lock(&lock);
  ++holders;
  pthread_mutex_unlock(&lock);
}

void runtime_release(void)
{
  pthread_mutex_lock(&lock);
  if (--holders == 0) {
    devices_free(&runtime);
    (void)runtime.hsa.hsa_shut_down();
  }
  pthread_mutex_unlock(&lock);
}
