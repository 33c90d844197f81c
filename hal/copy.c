/* Copies through the runtime's DMA engines. Host memory goes through a staging buffer, because the
 * device reaches only what the runtime allocated. */
#include "hal/copy.h"

#include "hal/log.h"
#include "queue/wait.h"

#include "base/error.h"

#include <string.h>

enum { STAGING_BYTES = 4 << 20 };

void copy_engine_init(copy_engine_t *engine)
{
  pthread_mutex_init(&engine->lock, NULL);
}

/* Waits until the signal of a transfer is below 1: 0, or negative when it failed. */
static rawhal_status_t engine_wait(rawhal_device_t *device, uint64_t timeout_ns,
                                   hsa_signal_value_t *value, rawhal_error_t *error)
{
  copy_engine_t *engine = &device->copies;
  const hal_runtime_t *runtime = device->runtime;
  uint64_t deadline = rawhal_deadline_after(timeout_ns);
  uint64_t ticks = deadline_ticks(timeout_ns, runtime->timestamp_hz);
  do
    *value = runtime->hsa.hsa_signal_wait_scacquire(engine->signal, HSA_SIGNAL_CONDITION_LT, 1,
                                                    ticks, HSA_WAIT_STATE_BLOCKED);
  while (*value >= 1 && (deadline == RAWHAL_FOREVER || clock_now() < deadline));
  bool was_stuck = engine->stuck;
  engine->stuck = *value >= 1;
  if (engine->stuck && !was_stuck)
    hal_log(RAWHAL_SEVERITY_WARNING,
            "device %s did not complete a copy within %llu ms: the copy is abandoned, and its "
            "memory is kept",
            device->info.name, (unsigned long long)(timeout_ns / 1000000));
  if (engine->stuck)
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "the device did not complete a copy within %llu ms",
                       (unsigned long long)(timeout_ns / 1000000));
  return RAWHAL_OK;
}

bool copy_engine_settle(rawhal_device_t *device)
{
  copy_engine_t *engine = &device->copies;
  if (!atomic_load(&engine->stuck))
    return true;
  hsa_signal_value_t ignored;
  pthread_mutex_lock(&engine->lock);
  if (engine->stuck)
    (void)!engine_wait(device, CLOCK_SECOND, &ignored, NULL);
  bool settled = !engine->stuck;
  pthread_mutex_unlock(&engine->lock);
  return settled;
}

void copy_engine_free(rawhal_device_t *device)
{
  copy_engine_t *engine = &device->copies;
  const hsa_table_t *hsa = &device->runtime->hsa;
  bool settled = copy_engine_settle(device); /* else all of it goes down with the runtime */
  if (engine->staging && settled)
    (void)hsa->hsa_amd_memory_pool_free(engine->staging);
  if (engine->signal.handle && settled)
    (void)hsa->hsa_signal_destroy(engine->signal);
  pthread_mutex_destroy(&engine->lock);
  memset(engine, 0, sizeof(*engine));
}

/* Signal and staging buffer exist afterwards and are free to use. The caller holds the engine's
 * lock. */
static rawhal_status_t engine_start(rawhal_device_t *device, rawhal_error_t *error)
{
  copy_engine_t *engine = &device->copies;
  const hal_runtime_t *runtime = device->runtime;
  const hsa_table_t *hsa = &runtime->hsa;
  hsa_status_t result;
  if (!engine->signal.handle) {
    result = hsa->hsa_signal_create(0, 0, NULL, &engine->signal);
    if (result != HSA_STATUS_SUCCESS) {
      engine->signal.handle = 0;
      return hsa_fail(hsa, result, error, "creating a signal for copies");
    }
  }
  hsa_signal_value_t ignored;
  if (engine->stuck)
    return engine_wait(device, runtime->copy_timeout_ns, &ignored, error);
  if (engine->staging)
    return RAWHAL_OK;
  void *memory = NULL;
  result = hsa->hsa_amd_memory_pool_allocate(runtime->host_pool, STAGING_BYTES, 0, &memory);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(hsa, result, error, "allocating a staging buffer");
  result = hsa->hsa_amd_agents_allow_access(1, &device->queue.agent, NULL, memory);
  if (result != HSA_STATUS_SUCCESS) {
    (void)hsa->hsa_amd_memory_pool_free(memory);
    return hsa_fail(hsa, result, error, "giving the device access to the staging buffer");
  }
  engine->staging = memory;
  return RAWHAL_OK;
}

/* One DMA copy, to its end. */
static rawhal_status_t engine_copy(rawhal_device_t *device, void *to, hsa_agent_t to_agent,
                                   const void *from, hsa_agent_t from_agent, size_t size,
                                   rawhal_error_t *error)
{
  const hsa_table_t *hsa = &device->runtime->hsa;
  hsa_signal_t signal = device->copies.signal;
  copies_turn_t turn = {.bytes = size};
  hsa_signal_value_t value;
  rawhal_status_t status = copies_await(&device->copies.turns, &turn, NULL, error);
  if (status != RAWHAL_OK)
    return status;
  hsa->hsa_signal_store_screlease(signal, 1);
  hsa_status_t result =
      hsa->hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, NULL, signal);
  if (result != HSA_STATUS_SUCCESS) {
    copies_charge(&device->copies.turns, &turn, (gate_span_t){0});
    return hsa_fail(hsa, result, error, "starting a copy");
  }
  status = engine_wait(device, device->runtime->copy_timeout_ns, &value, error);
  copies_charge(&device->copies.turns, &turn, (gate_span_t){0});
  if (status != RAWHAL_OK)
    return status;
  if (value < 0)
    return rawhal_fail(error, RAWHAL_DEVICE_LOST, "the device failed to copy %zu bytes", size);
  return RAWHAL_OK;
}

rawhal_status_t copy_host(rawhal_device_t *device, copy_direction_t direction, void *device_memory,
                          void *host_memory, size_t size, rawhal_error_t *error)
{
  copy_engine_t *engine = &device->copies;
  hsa_agent_t gpu = device->queue.agent, host = device->runtime->host_agent;
  char *at = device_memory, *mine = host_memory;
  pthread_mutex_lock(&engine->lock);
  rawhal_status_t status = engine_start(device, error);
  while (status == RAWHAL_OK && size) {
    size_t chunk = size < STAGING_BYTES ? size : STAGING_BYTES;
    if (direction == COPY_TO_DEVICE) {
      memcpy(engine->staging, mine, chunk);
      status = engine_copy(device, at, gpu, engine->staging, host, chunk, error);
    } else {
      status = engine_copy(device, engine->staging, host, at, gpu, chunk, error);
      if (status == RAWHAL_OK)
        memcpy(mine, engine->staging, chunk);
    }
    at += chunk;
    mine += chunk;
    size -= chunk;
  }
  pthread_mutex_unlock(&engine->lock);
  return status;
}

rawhal_status_t copy_between(rawhal_device_t *device, void *to, const void *from, size_t size,
                             rawhal_error_t *error)
{
  hsa_agent_t gpu = device->queue.agent;
  pthread_mutex_lock(&device->copies.lock);
  rawhal_status_t status = engine_start(device, error);
  if (status == RAWHAL_OK)
    status = engine_copy(device, to, gpu, from, gpu, size, error);
  pthread_mutex_unlock(&device->copies.lock);
  return status;
}

rawhal_status_t copy_fill(rawhal_device_t *device, void *to, uint32_t value, size_t size,
                          rawhal_error_t *error)
{
  copy_engine_t *engine = &device->copies;
  char *at = to;
  pthread_mutex_lock(&engine->lock);
  rawhal_status_t status = engine_start(device, error);
  size_t pattern = size < STAGING_BYTES ? size : STAGING_BYTES;
  for (size_t i = 0; status == RAWHAL_OK && i < pattern / sizeof(value); ++i)
    ((uint32_t *)engine->staging)[i] = value;
  while (status == RAWHAL_OK && size) {
    size_t chunk = size < pattern ? size : pattern;
    status = engine_copy(device, at, device->queue.agent, engine->staging,
                         device->runtime->host_agent, chunk, error);
    at += chunk;
    size -= chunk;
  }
  pthread_mutex_unlock(&engine->lock);
  return status;
}
