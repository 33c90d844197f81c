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

/* When the transfer ran. A runtime that was told not to look leaves in the signal what it had of
 * the one before. */
static gate_span_t engine_times(rawhal_device_t *device)
{
  copy_engine_t *engine = &device->copies;
  const hal_runtime_t *runtime = device->runtime;
  hsa_amd_profiling_async_copy_time_t times = {0};
  if (runtime->hsa.hsa_amd_profiling_get_async_copy_time(engine->signal, &times) !=
          HSA_STATUS_SUCCESS ||
      times.start < engine->last_end)
    return (gate_span_t){0};
  const gate_span_t ran = gate_span(times.start, times.end);
  engine->last_end = ran.end ? ran.end : engine->last_end;
  return gate_span_ns(ran, runtime->timestamp_hz);
}

/* Waits until the signal of a transfer is below 1: 0, or negative when it failed. Only then is it
 * paid for: until it has ended it is under way, whether somebody waits for it or not. */
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
  const bool was_stuck = engine->stuck, is_stuck = *value >= 1;
  if (!is_stuck && engine->turns.lease)
    copies_charge(&engine->turns, &engine->turn, engine_times(device));
  engine->stuck = is_stuck;
  if (is_stuck && !was_stuck)
    hal_log(RAWHAL_SEVERITY_WARNING,
            "device %s did not complete a copy within %llu ms: the copy is abandoned, and its "
            "memory is kept",
            device->info.name, (unsigned long long)(timeout_ns / 1000000));
  if (is_stuck)
    return rawhal_fail(error, RAWHAL_TIMED_OUT, "the device did not complete a copy within %llu ms",
                       (unsigned long long)(timeout_ns / 1000000));
  return RAWHAL_OK;
}

/* The caller holds the engine's lock, which is let go. */
static bool settle_within(rawhal_device_t *device, uint64_t ns)
{
  copy_engine_t *engine = &device->copies;
  hsa_signal_value_t ignored;
  if (engine->stuck)
    (void)!engine_wait(device, ns, &ignored, NULL);
  bool settled = !engine->stuck;
  pthread_mutex_unlock(&engine->lock);
  return settled;
}

bool copy_engine_settle(rawhal_device_t *device)
{
  copy_engine_t *engine = &device->copies;
  if (!atomic_load(&engine->stuck))
    return true;
  pthread_mutex_lock(&engine->lock);
  return settle_within(device, CLOCK_SECOND);
}

/* Whoever holds the lock sees to it, and may be the one who asks the limiter. */
void copy_engine_reap(void *context)
{
  rawhal_device_t *device = context;
  if (atomic_load(&device->copies.stuck) && pthread_mutex_trylock(&device->copies.lock) == 0)
    (void)settle_within(device, 0);
}

void copy_engine_free(rawhal_device_t *device)
{
  copy_engine_t *engine = &device->copies;
  const hsa_table_t *hsa = &device->runtime->hsa;
  /* Else all of it goes down with the runtime, and is paid up to there. */
  bool settled = copy_engine_settle(device);
  if (engine->staging && settled)
    (void)hsa->hsa_amd_memory_pool_free(engine->staging);
  if (engine->signal.handle && settled)
    (void)hsa->hsa_signal_destroy(engine->signal);
  pthread_mutex_destroy(&engine->lock);
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
  copy_engine_t *engine = &device->copies;
  hsa_signal_t signal = engine->signal;
  hsa_signal_value_t value;
  engine->turn = (copies_turn_t){.bytes = size};
  rawhal_status_t status = copies_await(&engine->turns, &engine->turn, NULL, error);
  if (status != RAWHAL_OK)
    return status;
  hsa->hsa_signal_store_screlease(signal, 1);
  hsa_status_t result =
      hsa->hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, NULL, signal);
  if (result != HSA_STATUS_SUCCESS) {
    copies_cancel(&engine->turns, &engine->turn);
    return hsa_fail(hsa, result, error, "starting a copy");
  }
  status = engine_wait(device, device->runtime->copy_timeout_ns, &value, error);
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
