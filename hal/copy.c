/* Copies through the runtime's DMA engines. Host memory goes through a staging buffer, because the
 * device reaches only what the runtime allocated. */
#include "hal/copy.h"

#include "hal/log.h"
#include "queue/wait.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

enum { STAGING_BYTES = 4 << 20 };

void copy_engine_init(copy_engine_t *engine)
{
  pthread_mutex_init(&engine->lock, NULL);
}

/* When the transfer ran; of several copies the runtime tells only the last one's. One that was told
 * not to look leaves in the signal what it had of the transfer before. */
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
  return engine->started == 1 ? gate_span_ns(ran, runtime->timestamp_hz) : (gate_span_t){0};
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

static rawhal_status_t engine_wait_for(rawhal_device_t *device, const queue_transfer_t *transfer,
                                       uint64_t started, rawhal_error_t *error)
{
  hsa_signal_value_t value;
  device->copies.started = started;
  rawhal_status_t status = engine_wait(device, device->runtime->copy_timeout_ns, &value, error);
  if (status == RAWHAL_OK && value < 0)
    status = rawhal_fail(error, RAWHAL_DEVICE_LOST, "the device failed to copy %llu bytes",
                         (unsigned long long)(transfer->bytes * transfer->rows));
  return status;
}

/* One transfer by DMA, to its end. */
static rawhal_status_t engine_copy(rawhal_device_t *device, queue_transfer_t *transfer,
                                   rawhal_error_t *error)
{
  const hsa_table_t *hsa = &device->runtime->hsa;
  copy_engine_t *engine = &device->copies;
  hsa_signal_t signal = engine->signal;
  engine->turn = (copies_turn_t){.bytes = transfer->bytes * transfer->rows};
  rawhal_status_t status = copies_await(&engine->turns, &engine->turn, NULL, error);
  if (status != RAWHAL_OK)
    return status;
  transfer_cut(hsa, transfer);
  uint64_t announced = transfer_pieces(transfer), started = 0;
  hsa->hsa_signal_store_screlease(signal, (hsa_signal_value_t)announced);
  hsa_status_t result =
      transfer_start(hsa, device->queue.agent, transfer, NULL, signal, &announced, &started);
  if (result == HSA_STATUS_SUCCESS)
    return engine_wait_for(device, transfer, started, error);
  /* Those that have begun use the memory still. */
  hsa->hsa_signal_subtract_screlease(signal, (hsa_signal_value_t)(announced - started));
  if (started == 0)
    copies_cancel(&engine->turns, &engine->turn);
  else
    status = engine_wait_for(device, transfer, started, error);
  return status == RAWHAL_OK ? hsa_fail(hsa, result, error, "starting a copy") : status;
}

rawhal_status_t copy_between(rawhal_device_t *device, const transfer_rows_t *to,
                             const transfer_rows_t *from, rawhal_error_t *error)
{
  hsa_agent_t gpu = device->queue.agent;
  queue_transfer_t transfer = {.to = {to->at, to->pitch, gpu},
                               .from = {from->at, from->pitch, gpu},
                               .bytes = to->bytes,
                               .rows = to->rows};
  pthread_mutex_lock(&device->copies.lock);
  rawhal_status_t status = engine_start(device, error);
  if (status == RAWHAL_OK)
    status = engine_copy(device, &transfer, error);
  pthread_mutex_unlock(&device->copies.lock);
  return status;
}

/* ---- By way of the staging buffer ---- */

/* Rows that follow one another are one. */
static transfer_rows_t joined(const transfer_rows_t *rows)
{
  return (transfer_rows_t){rows->at, 0, rows->bytes * rows->rows, 1};
}

/* A part of rows that the staging buffer has room for, and where it lies there. */
typedef struct chunk {
  transfer_rows_t there, here;
  transfer_rows_t staged;
} chunk_t;

/* How much of rows at once, and how far apart they are in the buffer. */
typedef struct cut {
  uint64_t width, height, pitch;
} cut_t;

static cut_t cut_of(const transfer_rows_t *there)
{
  const uint64_t width = least_u64(there->bytes, STAGING_BYTES);
  const uint64_t pitch = there->pitch == width ? width : transfer_pitch(width);
  const uint64_t height = width == there->bytes ? least_u64(STAGING_BYTES / pitch, there->rows) : 1;
  return (cut_t){width, height, pitch};
}

static rawhal_status_t move_chunk(rawhal_device_t *device, copy_direction_t direction,
                                  const chunk_t *chunk, rawhal_error_t *error)
{
  const transfer_side_t there = {chunk->there.at, chunk->there.pitch, device->queue.agent},
                        staged = {chunk->staged.at, chunk->staged.pitch,
                                  device->runtime->host_agent};
  const bool from = direction == COPY_FROM_DEVICE;
  queue_transfer_t transfer = {.to = from ? staged : there,
                               .from = from ? there : staged,
                               .bytes = chunk->there.bytes,
                               .rows = chunk->there.rows};
  if (!from && chunk->here.at)
    rows_copy(&chunk->staged, &chunk->here);
  rawhal_status_t status = engine_copy(device, &transfer, error);
  if (status == RAWHAL_OK && from)
    rows_copy(&chunk->here, &chunk->staged);
  return status;
}

/* `here->at` NULL: what is in the buffer already, which is the same for each row. */
static rawhal_status_t move_all(rawhal_device_t *device, copy_direction_t direction,
                                const transfer_rows_t *there, const transfer_rows_t *here,
                                rawhal_error_t *error)
{
  unsigned char *staging = device->copies.staging;
  const cut_t cut = cut_of(there);
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t row = 0; row < there->rows; row += cut.height) {
    for (uint64_t at = 0; at < there->bytes && status == RAWHAL_OK; at += cut.width) {
      const uint64_t bytes = least_u64(cut.width, there->bytes - at),
                     rows = least_u64(cut.height, there->rows - row);
      const chunk_t chunk = {
          {there->at + row * there->pitch + at, there->pitch, bytes, rows},
          {here->at ? here->at + row * here->pitch + at : NULL, here->pitch, bytes, rows},
          {staging, cut.pitch, bytes, rows}};
      status = move_chunk(device, direction, &chunk, error);
    }
  }
  return status;
}

rawhal_status_t copy_host(rawhal_device_t *device, copy_direction_t direction,
                          const transfer_rows_t *there, const transfer_rows_t *here,
                          rawhal_error_t *error)
{
  const bool one = there->pitch == there->bytes && here->pitch == here->bytes;
  const transfer_rows_t there_joined = joined(there), here_joined = joined(here);
  pthread_mutex_lock(&device->copies.lock);
  rawhal_status_t status = engine_start(device, error);
  if (status == RAWHAL_OK)
    status =
        move_all(device, direction, one ? &there_joined : there, one ? &here_joined : here, error);
  pthread_mutex_unlock(&device->copies.lock);
  return status;
}

rawhal_status_t copy_fill(rawhal_device_t *device, const transfer_rows_t *to, const void *pattern,
                          uint32_t pattern_bytes, rawhal_error_t *error)
{
  const transfer_rows_t whole = to->pitch == to->bytes ? joined(to) : *to, nothing = {0};
  const cut_t cut = cut_of(&whole);
  pthread_mutex_lock(&device->copies.lock);
  rawhal_status_t status = engine_start(device, error);
  for (uint64_t row = 0; row < cut.height && status == RAWHAL_OK; ++row)
    pattern_repeat((unsigned char *)device->copies.staging + row * cut.pitch, cut.width, pattern,
                   pattern_bytes);
  if (status == RAWHAL_OK)
    status = move_all(device, COPY_TO_DEVICE, &whole, &nothing, error);
  pthread_mutex_unlock(&device->copies.lock);
  return status;
}
