/* One runtime per process: opened by the first instance, shut down after the last object. */
#include "hal/runtime.h"

#include "hal/device.h"
#include "hal/door.h"
#include "hal/dump.h"
#include "hal/limits.h"
#include "hal/loader.h"
#include "hal/log.h"
#include "hal/softgpu.h"
#include "hal/watchdog.h"
#include "queue/fault.h"
#include "queue/list.h"

#include "queue/gate/scratch.h"

#include "base/error.h"
#include "debug/runtime.h"

#include <hsa/hsa_ven_amd_loader.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned holders;
static loaded_libraries_t libraries;
static hal_runtime_t runtime;
static atomic_bool forked; /* this is a child, and the runtime its parent's */

/* ---- fork() ---- */

/* fork() waits for no opening and no end: under the lock tools of the runtime take locks of their
 * own, which they may hold across fork(), too, and in another order. A child that is made meanwhile
 * has its parent's runtime, in whatever state. */
static atomic_bool changing;

static void enter(void)
{
  pthread_mutex_lock(&lock);
  atomic_store(&changing, true);
}

static void leave(void)
{
  atomic_store(&changing, false);
  pthread_mutex_unlock(&lock);
}

static void fork_child(void)
{
  if (holders || atomic_exchange(&changing, false))
    atomic_store(&forked, true);
  (void)pthread_mutex_init(&lock, NULL); /* a thread may have held it that is not here */
}

static void watch_forks(void)
{
  queue_watch_forks();
  (void)pthread_atfork(NULL, NULL, fork_child);
}

rawhal_status_t runtime_check(rawhal_error_t *error)
{
  if (__builtin_expect(!atomic_load_explicit(&forked, memory_order_relaxed), 1))
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_DEVICE_LOST,
                     "the runtime belongs to the parent process: after fork(), a child cannot use "
                     "the devices of its parent");
}

/* ---- Events ---- */

static void reason_append(char *text, size_t size, uint32_t mask, uint32_t bit, const char *reason)
{
  size_t used = strlen(text);
  if (mask & bit)
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", reason);
}

static void memory_fault(const hsa_amd_gpu_memory_fault_info_t *fault)
{
  char reasons[128] = "", text[256];
  uint32_t mask = fault->fault_reason_mask;
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
                "page not present");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_READ_ONLY, "read-only page");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_NX, "no execute permission");
  reason_append(reasons, sizeof(reasons), mask, HSA_AMD_MEMORY_FAULT_HOST_ONLY, "host-only page");
  snprintf(text, sizeof(text), "memory fault at address 0x%llx (%s)",
           (unsigned long long)fault->virtual_address, *reasons ? reasons : "no reason given");
  log_fault(text);
  queue_fail_agent(fault->agent, RAWHAL_FAULT,
                   &(rawhal_fault_t){.kind = debug_kind_of_reasons(mask),
                                     .hsa_status = (int32_t)HSA_STATUS_ERROR_MEMORY_FAULT,
                                     .known = RAWHAL_FAULT_KNOWS_ADDRESS,
                                     .address = fault->virtual_address},
                   text);
}

/* The device was reset, or is to be. */
static void hardware_exception(hsa_agent_t agent)
{
  static const char text[] = "the device was reset, or hangs";
  log_fault(text);
  queue_fail_agent(agent, RAWHAL_DEVICE_LOST, &(rawhal_fault_t){.kind = RAWHAL_FAULT_DEVICE_LOST},
                   text);
}

/* Runs on the runtime's event thread. What is not claimed ends the process, as it would without a
 * handler. */
static hsa_status_t system_event(const hsa_amd_event_t *event, void *data)
{
  enum { HARDWARE_EXCEPTION = 1 }; /* HSA_AMD_GPU_HW_EXCEPTION_EVENT of ROCm 6; begins alike */
  (void)data;
  switch ((int)event->event_type) {
  case HSA_AMD_GPU_MEMORY_FAULT_EVENT:
    memory_fault(&event->memory_fault);
    return HSA_STATUS_SUCCESS;
  case HARDWARE_EXCEPTION:
    hardware_exception(event->memory_fault.agent);
    return HSA_STATUS_SUCCESS;
  default:
    return HSA_STATUS_ERROR;
  }
}

/* ---- Start and end ---- */

static void find_loader(void)
{
  hsa_ven_amd_loader_1_02_pfn_t table = {0};
  hsa_status_t result = runtime.hsa.hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER,
                                                                         1, sizeof(table), &table);
  if (result == HSA_STATUS_SUCCESS)
    runtime.reader_from_file =
        table.hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size;
}

/* By us, or by the program. */
static bool is_open(const hsa_table_t *hsa)
{
  uint64_t hz;
  return hsa->hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz) == HSA_STATUS_SUCCESS;
}

/* The runtime goes on, with what it keeps, if the program has opened it, too. */
static void shut_down(void)
{
  door_close();
  hal_watchdog_stop();
  devices_free(&runtime);
  (void)runtime.hsa.hsa_shut_down();
  if (!is_open(&runtime.hsa))
    scratch_forget();
}

static rawhal_status_t start(const rawhal_instance_options_t *options, const allocator_t *allocator,
                             rawhal_error_t *error)
{
  static const uint64_t a_minute = 60000000000u;
  memset(&runtime, 0, sizeof(runtime));
  runtime.allocator = *allocator;
  runtime.copy_timeout_ns = options->copy_timeout_ns ? options->copy_timeout_ns : a_minute;
  runtime.is_software = libraries.backend == RAWHAL_BACKEND_SOFTGPU;
  runtime.softgpu = &libraries.softgpu;
  rawhal_status_t status = hsa_table_load(libraries.runtime, &runtime.hsa, error);
  if (status != RAWHAL_OK)
    return status;
  if (runtime.is_software && !is_open(&runtime.hsa))
    status = softgpu_check_room(&libraries.softgpu, error);
  if (status != RAWHAL_OK)
    return status;
  hsa_status_t result = runtime.hsa.hsa_init();
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(&runtime.hsa, result, error, "starting the HSA runtime");
  scratch_open();
  result =
      runtime.hsa.hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &runtime.timestamp_hz);
  if (result != HSA_STATUS_SUCCESS || runtime.timestamp_hz == 0)
    status = hsa_fail(&runtime.hsa, result, error, "reading the runtime's clock rate");
  if (status == RAWHAL_OK) {
    result = runtime.hsa.hsa_amd_register_system_event_handler(system_event, NULL);
    if (result != HSA_STATUS_SUCCESS)
      status = hsa_fail(&runtime.hsa, result, error, "registering for memory faults");
  }
  if (status == RAWHAL_OK) {
    result = runtime.hsa.hsa_amd_profiling_async_copy_enable(true);
    if (result != HSA_STATUS_SUCCESS)
      status = hsa_fail(&runtime.hsa, result, error, "enabling the timestamps of copies");
  }
  find_loader();
  if (status == RAWHAL_OK)
    status = devices_find(&runtime, error);
  if (status == RAWHAL_OK)
    status = limits_open(&runtime, options->limits, error);
  if (status == RAWHAL_OK)
    status = dump_open(error);
  if (status == RAWHAL_OK)
    status = hal_watchdog_start(&runtime, error);
  if (status == RAWHAL_OK)
    status = door_open(DOOR_OF_LIBRARY, &hal_door_host, error);
  if (status != RAWHAL_OK)
    shut_down();
  return status;
}

rawhal_status_t runtime_open(const rawhal_instance_options_t *options, hal_runtime_t **result,
                             rawhal_error_t *error)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  allocator_t allocator;
  status = allocator_take(options->allocator, &allocator, error);
  if (status != RAWHAL_OK)
    return status;
  enter();
  const size_t mark = softgpu_options_mark();
  status = loader_open(options, &libraries, error);
  if (status == RAWHAL_OK && holders && options->limits)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the runtime is already running, with other limits");
  if (status == RAWHAL_OK && holders && options->copy_timeout_ns)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the runtime is already running, with a copy timeout of %llu ms",
                         (unsigned long long)(runtime.copy_timeout_ns / 1000000));
  if (status == RAWHAL_OK && holders && options->allocator &&
      !allocator_equal(&allocator, &runtime.allocator))
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "the runtime is already running, with another allocator");
  if (status == RAWHAL_OK && holders == 0)
    status = start(options, &allocator, error);
  if (status == RAWHAL_OK) {
    ++holders;
    *result = &runtime;
    softgpu_options_keep(mark);
  } else {
    softgpu_options_undo(&libraries.softgpu, mark);
  }
  leave();
  return status;
}

void runtime_hold(void)
{
  enter();
  ++holders;
  leave();
}

const debug_softgpu_t *runtime_softgpu(void)
{
  return &libraries.softgpu.tells;
}

void *runtime_allocate(size_t size)
{
  return allocate(&runtime.allocator, size);
}

void runtime_free(void *memory)
{
  allocate_free(&runtime.allocator, memory);
}

void runtime_release(void)
{
  if (runtime_check(NULL) != RAWHAL_OK)
    return;
  enter();
  if (--holders == 0) {
    shut_down();
    softgpu_options_undo(&libraries.softgpu, 0);
  }
  leave();
}
