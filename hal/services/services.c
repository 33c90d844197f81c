#include "hal/services/services.h"
#include "hal/runtime.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/thread.h"
#include "hal/executable.h"
#include "hal/services/hostcall.h"
#include "hal/services/printf.h"

#include <string.h>

enum {
  ALL_PARTS = RAWHAL_SERVICES_PRINTF | RAWHAL_SERVICES_HOSTCALL | RAWHAL_SERVICES_HEAP,
  MAX_PACKETS = 1 << 20,
  PRINTF_HEAD = 8, /* dwords: where the next record goes, after this head; how many bytes fit */
  DEFAULT_PRINTF_BYTES = 1 << 20,
  MIN_PRINTF_BYTES = 64,
  MAX_PRINTF_BYTES = 1 << 30,
  DEFAULT_HEAP_BYTES = 64 << 20,
  HEAP_HEAD_BYTES = 128 << 10, /* of the device library's tables */
};

struct rawhal_services {
  rawhal_device_t *device;
  const allocator_t *allocator;      /* the runtime's */
  rawhal_services_options_t options; /* as they are used */
  rawhal_queue_services_t queue;
  services_output_t output;
  pthread_mutex_t flush_lock;
  rawhal_buffer_t *printf_buffer, *hostcall_buffer, *heap_head, *heap_memory;
  services_heap_t heap;
  hostcall_t hostcall;
  hsa_signal_t doorbell; /* kernels add to it */
  pthread_t thread;
  bool started;
  atomic_bool closing;
};

/* ---- Options ---- */

/* A packet for each wave that can be under way: waves do not look whether there is one. */
static rawhal_status_t packets_choose(rawhal_services_t *services, rawhal_error_t *error)
{
  const rawhal_device_t *device = services->device;
  const hsa_table_t *hsa = &device->runtime->hsa;
  uint64_t wanted = services->options.hostcall_packets, packets = 2;
  uint32_t waves = 0;
  if (wanted == 0) {
    hsa_status_t result = hsa->hsa_agent_get_info(
        device->queue.agent, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU, &waves);
    if (result != HSA_STATUS_SUCCESS)
      return hsa_fail(hsa, result, error, "asking for the waves of a compute unit");
    wanted = (uint64_t)waves * device->info.compute_units;
  }
  if (wanted > MAX_PACKETS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%llu hostcall packets, at most %d",
                       (unsigned long long)wanted, MAX_PACKETS);
  while (packets < wanted)
    packets *= 2;
  services->options.hostcall_packets = (uint32_t)packets;
  return RAWHAL_OK;
}

static rawhal_status_t options_complete(rawhal_services_t *services, rawhal_error_t *error)
{
  rawhal_services_options_t *options = &services->options;
  if (options->parts & ~(uint32_t)ALL_PARTS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "parts is 0x%x; known bits are 0x%x",
                       options->parts, (unsigned)ALL_PARTS);
  if (options->parts == 0)
    options->parts = ALL_PARTS;
  if (options->parts & RAWHAL_SERVICES_HEAP && !(options->parts & RAWHAL_SERVICES_HOSTCALL))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the heap requires hostcalls");
  if (options->printf_bytes == 0)
    options->printf_bytes = DEFAULT_PRINTF_BYTES;
  if (options->printf_bytes < MIN_PRINTF_BYTES || options->printf_bytes > MAX_PRINTF_BYTES)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "printf_bytes is %llu; it must be %d to %d",
                       (unsigned long long)options->printf_bytes, MIN_PRINTF_BYTES,
                       MAX_PRINTF_BYTES);
  if (options->heap_bytes == 0)
    options->heap_bytes = DEFAULT_HEAP_BYTES;
  if (options->heap_bytes % HEAP_SLAB)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "heap_bytes is %llu, which is not a multiple of %llu",
                       (unsigned long long)options->heap_bytes, (unsigned long long)HEAP_SLAB);
  if (options->heap_bytes > services->device->info.memory_bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "heap_bytes is %llu; the device has %llu in total",
                       (unsigned long long)options->heap_bytes,
                       (unsigned long long)services->device->info.memory_bytes);
  return packets_choose(services, error);
}

/* ---- printf() ---- */

static _Atomic uint32_t *printf_head(const rawhal_services_t *services)
{
  return rawhal_buffer_host(services->printf_buffer);
}

static rawhal_status_t printf_open(rawhal_services_t *services, rawhal_error_t *error)
{
  if (!(services->options.parts & RAWHAL_SERVICES_PRINTF))
    return RAWHAL_OK;
  rawhal_status_t status =
      rawhal_buffer_allocate(services->device, RAWHAL_MEMORY_HOST, services->options.printf_bytes,
                             &services->printf_buffer, error);
  if (status != RAWHAL_OK)
    return status;
  atomic_init(&printf_head(services)[0], 0);
  atomic_init(&printf_head(services)[1], (uint32_t)services->options.printf_bytes - PRINTF_HEAD);
  services->queue.printf_buffer = rawhal_buffer_address(services->printf_buffer);
  return RAWHAL_OK;
}

static rawhal_status_t table_of(const rawhal_executable_t *executable, printf_table_t *table,
                                rawhal_error_t *error)
{
  const allocator_t *allocator = &executable->device->runtime->allocator;
  const rawhal_hsaco_t *hsaco = executable->source->hsaco;
  size_t count = rawhal_hsaco_info(hsaco)->printf_count;
  rawhal_string_t *formats = allocate_zeroed(allocator, count + 1, sizeof(*formats));
  if (!formats)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu printf formats", count);
  for (size_t i = 0; i < count; ++i)
    formats[i] = rawhal_hsaco_printf(hsaco, i);
  rawhal_status_t status = printf_table_make(table, formats, count, allocator, error);
  allocate_free(allocator, formats);
  return status;
}

/* The records, of `size` bytes: of a copy, which a kernel that prints all the same cannot change
 * between two looks. */
static rawhal_status_t flush(rawhal_services_t *services, const rawhal_executable_t *executable,
                             size_t size, rawhal_error_t *error)
{
  printf_table_t table;
  rawhal_status_t status = table_of(executable, &table, error);
  if (status != RAWHAL_OK)
    return status;
  const char *shared = rawhal_buffer_host(services->printf_buffer);
  unsigned char *records = allocate(services->allocator, size);
  if (records)
    memcpy(records, shared + PRINTF_HEAD, size);
  status =
      records ? printf_records(&table, records, size, &services->output, error)
              : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu bytes of printf", size);
  allocate_free(services->allocator, records);
  printf_table_free(&table);
  return status;
}

rawhal_status_t rawhal_services_flush(rawhal_services_t *services,
                                      const rawhal_executable_t *executable, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!services || !executable)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       services ? "executable" : "services");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  if (executable->device != services->device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the executable and the services belong to different devices");
  if (!services->printf_buffer)
    return RAWHAL_OK;
  pthread_mutex_lock(&services->flush_lock);
  size_t size = atomic_load(&printf_head(services)[0]), most = services->options.printf_bytes;
  if (size > most - PRINTF_HEAD)
    size = most - PRINTF_HEAD;
  if (size)
    status = flush(services, executable, size, error);
  if (status != RAWHAL_OUT_OF_MEMORY)
    atomic_store(&printf_head(services)[0], 0);
  pthread_mutex_unlock(&services->flush_lock);
  return status;
}

/* ---- malloc() ---- */

/* The tables are right when they are all zeros: then the library asks for its first slabs, too. */
static rawhal_status_t heap_make(rawhal_services_t *services, rawhal_error_t *error)
{
  if (!(services->options.parts & RAWHAL_SERVICES_HEAP))
    return RAWHAL_OK;
  uint64_t size = services->options.heap_bytes, base = 0;
  rawhal_status_t status = rawhal_buffer_allocate(services->device, RAWHAL_MEMORY_DEVICE,
                                                  HEAP_HEAD_BYTES, &services->heap_head, error);
  if (status == RAWHAL_OK)
    status = rawhal_buffer_fill(services->heap_head, 0, 0, HEAP_HEAD_BYTES, error);
  if (status == RAWHAL_OK)
    status = rawhal_buffer_allocate(services->device, RAWHAL_MEMORY_DEVICE, size + HEAP_SLAB,
                                    &services->heap_memory, error);
  if (status != RAWHAL_OK)
    return status;
  (void)checked_align_u64(rawhal_buffer_address(services->heap_memory), HEAP_SLAB, &base);
  status = heap_open(&services->heap, base, size, services->allocator, error);
  if (status != RAWHAL_OK)
    return status;
  services->queue.heap = rawhal_buffer_address(services->heap_head);
  services->hostcall.heap = &services->heap;
  return RAWHAL_OK;
}

/* ---- Hostcalls ---- */

static void *serve(void *data)
{
  rawhal_services_t *services = data;
  const hsa_table_t *hsa = &services->device->runtime->hsa;
  hsa_signal_value_t seen = 0;
  while (!atomic_load(&services->closing)) {
    hostcall_serve(&services->hostcall);
    seen = hsa->hsa_signal_wait_scacquire(services->doorbell, HSA_SIGNAL_CONDITION_NE, seen,
                                          UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  }
  return NULL;
}

static rawhal_status_t service_start(rawhal_services_t *services, rawhal_error_t *error)
{
  if (thread_start(&services->thread, serve, services))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no thread for hostcalls");
  services->started = true;
  return RAWHAL_OK;
}

static rawhal_status_t hostcall_open(rawhal_services_t *services, rawhal_error_t *error)
{
  if (!(services->options.parts & RAWHAL_SERVICES_HOSTCALL))
    return RAWHAL_OK;
  const hsa_table_t *hsa = &services->device->runtime->hsa;
  hostcall_t *hostcall = &services->hostcall;
  hostcall->packets = services->options.hostcall_packets;
  hostcall->output = &services->output;
  hostcall->allocator = services->allocator;
  rawhal_status_t status =
      rawhal_buffer_allocate(services->device, RAWHAL_MEMORY_HOST,
                             hostcall_bytes(hostcall->packets), &services->hostcall_buffer, error);
  if (status != RAWHAL_OK)
    return status;
  hsa_status_t result = hsa->hsa_signal_create(0, 0, NULL, &services->doorbell);
  if (result != HSA_STATUS_SUCCESS) {
    services->doorbell.handle = 0;
    return hsa_fail(hsa, result, error, "creating a signal for hostcalls");
  }
  hostcall->memory = rawhal_buffer_host(services->hostcall_buffer);
  services->queue.hostcall_buffer = rawhal_buffer_address(services->hostcall_buffer);
  hostcall_layout(hostcall, services->queue.hostcall_buffer, services->doorbell.handle);
  return service_start(services, error);
}

static void hostcall_stop(rawhal_services_t *services)
{
  const hsa_table_t *hsa = &services->device->runtime->hsa;
  if (services->started) {
    atomic_store(&services->closing, true);
    hsa->hsa_signal_store_screlease(services->doorbell, INT64_MIN); /* no sum of ones */
    (void)pthread_join(services->thread, NULL);
  }
  if (services->doorbell.handle)
    (void)hsa->hsa_signal_destroy(services->doorbell);
  hostcall_close(&services->hostcall);
}

/* ---- All of it ---- */

/* The output first, as it is what the others need; the thread last, which needs all. */
static rawhal_status_t open_parts(rawhal_services_t *services, rawhal_error_t *error)
{
  const rawhal_services_options_t *options = &services->options;
  rawhal_status_t status = options_complete(services, error);
  if (status == RAWHAL_OK)
    status = output_open(&services->output, options->output, options->context, services->allocator,
                         error);
  if (status == RAWHAL_OK)
    status = printf_open(services, error);
  if (status == RAWHAL_OK)
    status = heap_make(services, error);
  if (status == RAWHAL_OK)
    status = hostcall_open(services, error);
  return status;
}

rawhal_status_t rawhal_services_create(rawhal_device_t *device,
                                       const rawhal_services_options_t *options,
                                       rawhal_services_t **result, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "services is NULL");
  *result = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = runtime_check(error);
  if (status != RAWHAL_OK)
    return status;
  const allocator_t *allocator = &device->runtime->allocator;
  rawhal_services_t *services = allocate_zeroed(allocator, 1, sizeof(*services));
  if (!services)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for services");
  pthread_mutex_init(&services->flush_lock, NULL);
  services->device = device;
  services->allocator = allocator;
  services->queue.size = sizeof(services->queue);
  runtime_hold();
  status = SIZED_TAKE(&services->options, options, context, error);
  if (status == RAWHAL_OK)
    status = open_parts(services, error);
  if (status == RAWHAL_OK)
    *result = services;
  else
    rawhal_services_destroy(services);
  return status;
}

const rawhal_queue_services_t *rawhal_services_queue(const rawhal_services_t *services)
{
  return services ? &services->queue : NULL;
}

void rawhal_services_info(const rawhal_services_t *services, rawhal_services_info_t *info)
{
  if (!info)
    return;
  rawhal_services_info_t ours = {.size = sizeof(ours)};
  if (services) {
    ours.packets = __atomic_load_n(&services->hostcall.served, __ATOMIC_RELAXED);
    ours.refused = __atomic_load_n(&services->hostcall.refused, __ATOMIC_RELAXED);
    ours.heap_used = __atomic_load_n(&services->heap.used, __ATOMIC_RELAXED);
    ours.heap_full = __atomic_load_n(&services->heap.full, __ATOMIC_RELAXED);
  }
  sized_give(info, sizeof(ours), &ours, sizeof(ours));
}

void rawhal_services_destroy(rawhal_services_t *services)
{
  WITHOUT_CANCELLATION();
  if (!services || runtime_check(NULL) != RAWHAL_OK)
    return;
  hostcall_stop(services);
  heap_close(&services->heap);
  rawhal_buffer_free(services->printf_buffer);
  rawhal_buffer_free(services->hostcall_buffer);
  rawhal_buffer_free(services->heap_head);
  rawhal_buffer_free(services->heap_memory);
  output_close(&services->output);
  pthread_mutex_destroy(&services->flush_lock);
  allocate_free(services->allocator, services);
  runtime_release();
}
