#include "queue/transfer.h"

#include "queue/submit.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { PACKETS = 2 };

static transfer_t *transfer_of(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  return &queue->transfers.of_slot[slot - queue->slots];
}

/* ---- Staging memory ---- */

enum { SPARE_BYTES = 64 << 10 };

static void *take_spare(rawhal_queue_t *queue)
{
  queue_transfers_t *transfers = &queue->transfers;
  pthread_mutex_lock(&transfers->spare_lock);
  void *spare = transfers->spare_count ? transfers->spares[--transfers->spare_count] : NULL;
  pthread_mutex_unlock(&transfers->spare_lock);
  return spare;
}

static bool keep_spare(rawhal_queue_t *queue, void *memory)
{
  queue_transfers_t *transfers = &queue->transfers;
  pthread_mutex_lock(&transfers->spare_lock);
  bool kept = transfers->spare_count < TRANSFER_SPARES;
  if (kept)
    transfers->spares[transfers->spare_count++] = memory;
  pthread_mutex_unlock(&transfers->spare_lock);
  return kept;
}

rawhal_status_t transfer_stage(rawhal_queue_t *queue, size_t size, transfer_staging_t *staging,
                               rawhal_error_t *error)
{
  const queue_device_t *device = queue->device;
  const hsa_table_t *hsa = device->hsa;
  bool small = size <= SPARE_BYTES;
  *staging = (transfer_staging_t){.size = small ? SPARE_BYTES : size};
  if (small && (staging->memory = take_spare(queue)))
    return RAWHAL_OK;
  hsa_status_t result =
      hsa->hsa_amd_memory_pool_allocate(device->kernarg_pool, staging->size, 0, &staging->memory);
  if (result != HSA_STATUS_SUCCESS) {
    staging->memory = NULL;
    return hsa_fail(hsa, result, error, "allocating staging memory for a copy");
  }
  result = hsa->hsa_amd_agents_allow_access(1, &device->agent, NULL, staging->memory);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  (void)hsa->hsa_amd_memory_pool_free(staging->memory);
  staging->memory = NULL;
  return hsa_fail(hsa, result, error, "giving the device access to staging memory");
}

static void give_back(rawhal_queue_t *queue, transfer_staging_t *staging)
{
  if (staging->memory && !(staging->size == SPARE_BYTES && keep_spare(queue, staging->memory)))
    (void)queue->device->hsa->hsa_amd_memory_pool_free(staging->memory);
  if (staging->deliver)
    atomic_fetch_sub(&queue->transfers.undelivered, 1);
  *staging = (transfer_staging_t){0};
}

/* ---- Submitting ---- */

/* Copies reach the engines in the order in which they took their places in queues: an engine works
 * in order, and a copy that waits for an earlier one, be it by way of other queues, must not be
 * ahead of it there. No thread waits for room while it is held. */
static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;

static hsa_status_t make_signals(const rawhal_queue_t *queue, transfer_t *transfer)
{
  const hsa_table_t *hsa = queue->device->hsa;
  hsa_signal_t *const signals[] = {&transfer->ready, &transfer->done};
  for (int i = 0; i < 2; ++i) {
    if (signals[i]->handle)
      continue;
    hsa_status_t result = hsa->hsa_signal_create(0, 0, NULL, signals[i]);
    if (result != HSA_STATUS_SUCCESS) {
      signals[i]->handle = 0;
      return result;
    }
  }
  return HSA_STATUS_SUCCESS;
}

/* A submission whose signals are 0 has nothing to wait for. */
static void publish(rawhal_queue_t *queue, const ring_reservation_t *reserved, hsa_signal_t ready,
                    hsa_signal_t done)
{
  void *second = packet_slot(queue, reserved->packet + 1);
  for (uint32_t i = 0; i < PACKETS; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  hsa_signal_t completion = submit_begin(
      queue, reserved,
      &(submission_t){.packets = PACKETS, .signals = 1, .transfers = done.handle != 0});
  if (done.handle) {
    packet_write_barrier_value(second, done, 0, completion);
    packet_publish(second, packet_header_barrier_value());
  } else {
    packet_put_barrier(second, completion);
  }
  packet_put_barrier(packet_slot(queue, reserved->packet), ready);
  submit_ring(queue, reserved, PACKETS);
}

/* What is missing then is never delivered. */
static void give_up(rawhal_queue_t *queue, transfer_t *transfer, uint64_t copies)
{
  if (transfer->staging.deliver)
    atomic_fetch_sub(&queue->transfers.undelivered, 1);
  transfer->staging.deliver = NULL;
  queue->device->hsa->hsa_signal_subtract_screlease(transfer->done, (hsa_signal_value_t)copies);
}

/* After the packets: while the engine's own ring is full, what it waits for can happen. */
static hsa_status_t start_copies(rawhal_queue_t *queue, const queue_transfer_t *wanted,
                                 transfer_t *transfer, uint64_t copies)
{
  const hsa_table_t *hsa = queue->device->hsa;
  for (uint64_t i = 0; i < copies; ++i) {
    uint64_t at = i * wanted->period, left = wanted->size - at;
    hsa_status_t result = hsa->hsa_amd_memory_async_copy(
        (char *)wanted->to + at, wanted->to_agent, wanted->from, wanted->from_agent,
        left < wanted->period ? left : wanted->period, 1, &transfer->ready, transfer->done);
    if (result != HSA_STATUS_SUCCESS) {
      give_up(queue, transfer, copies - i);
      return result;
    }
  }
  return HSA_STATUS_SUCCESS;
}

/* In the place that was reserved. The caller holds the engines' lock. */
static rawhal_status_t submit(rawhal_queue_t *queue, const queue_transfer_t *wanted,
                              const ring_reservation_t *reserved, rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  transfer_staging_t staging = wanted->staging;
  transfer_t *transfer = transfer_of(queue, queue_slot(queue, reserved->ticket));
  hsa_status_t result = make_signals(queue, transfer);
  if (result != HSA_STATUS_SUCCESS) { /* the packets are ours already */
    publish(queue, reserved, (hsa_signal_t){0}, (hsa_signal_t){0});
    give_back(queue, &staging);
    return hsa_fail(hsa, result, error, "creating signals for a transfer");
  }
  uint64_t copies = (wanted->size + wanted->period - 1) / wanted->period;
  transfer->staging = staging;
  transfer->size = wanted->size;
  transfer->copies = copies;
  hsa->hsa_signal_store_screlease(transfer->ready, 1);
  hsa->hsa_signal_store_screlease(transfer->done, (hsa_signal_value_t)copies);
  publish(queue, reserved, transfer->ready, transfer->done);
  result = start_copies(queue, wanted, transfer, copies);
  if (queue_check(queue, NULL) != RAWHAL_OK) /* it may have died before these were there */
    transfers_release(queue);
  return result == HSA_STATUS_SUCCESS ? RAWHAL_OK : hsa_fail(hsa, result, error, "starting a copy");
}

/* Takes a place in the queue, and in the engine at once. `*placed`: it has, even if this fails. */
static rawhal_status_t place(rawhal_queue_t *queue, const queue_transfer_t *wanted,
                             const limit_grant_t *grant, ring_reservation_t *reserved, bool *placed,
                             rawhal_error_t *error)
{
  pthread_mutex_lock(&engine_lock);
  rawhal_status_t status = submit_reserve_admitted(queue, grant, PACKETS, 0, 0, reserved, error);
  *placed = status == RAWHAL_OK;
  if (*placed)
    status = submit(queue, wanted, reserved, error);
  pthread_mutex_unlock(&engine_lock);
  return status;
}

static rawhal_status_t place_until(rawhal_queue_t *queue, const queue_transfer_t *wanted,
                                   const limit_grant_t *grant, uint64_t deadline,
                                   ring_reservation_t *reserved, bool *placed,
                                   rawhal_error_t *error)
{
  for (;;) {
    rawhal_status_t status = place(queue, wanted, grant, reserved, placed, error);
    if (*placed || status != RAWHAL_WOULD_BLOCK || deadline == 0)
      return status;
    if (deadline != RAWHAL_FOREVER && clock_now() >= deadline)
      return rawhal_fail(error, RAWHAL_TIMED_OUT, "no room for a copy before the deadline");
    submit_wait_for_room(queue, deadline);
  }
}

rawhal_status_t queue_transfer(rawhal_queue_t *queue, const queue_transfer_t *transfer,
                               uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  bool placed = false;
  ring_reservation_t reserved;
  limit_grant_t grant = {0};
  transfer_staging_t staging = transfer->staging;
  const limit_shape_t shape = gate_copy(transfer->size);
  if (ticket)
    *ticket = 0;
  if (staging.deliver)
    atomic_fetch_add(&queue->transfers.undelivered, 1);
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK && queue->gate.lease)
    status = gate_admit_one(&queue->gate, &shape, 0, deadline, &grant, error);
  if (status == RAWHAL_OK) {
    status = place_until(queue, transfer, &grant, deadline, &reserved, &placed, error);
    if (!placed && queue->gate.lease)
      limit_cancel(queue->gate.lease, &grant);
  }
  if (!placed)
    give_back(queue, &staging);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket;
  return status;
}

/* ---- Finishing ---- */

bool transfer_failed(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  hsa_signal_t done = transfer_of(queue, slot)->done;
  return done.handle && queue->device->hsa->hsa_signal_load_scacquire(done) < 0;
}

void transfer_finish(rawhal_queue_t *queue, const queue_slot_t *slot)
{
  transfer_t *transfer = transfer_of(queue, slot);
  const transfer_staging_t *staging = &transfer->staging;
  if (staging->deliver && !transfer_failed(queue, slot))
    memcpy(staging->deliver, staging->memory, transfer->size);
  give_back(queue, &transfer->staging);
}

bool transfer_is_one_copy(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  return slot->transfers && transfer_of(queue, slot)->copies == 1;
}

hsa_status_t transfer_times(const rawhal_queue_t *queue, const queue_slot_t *slot,
                            hsa_amd_profiling_async_copy_time_t *times)
{
  hsa_signal_t done = transfer_of(queue, slot)->done;
  return queue->device->hsa->hsa_amd_profiling_get_async_copy_time(done, times);
}

void transfers_release(rawhal_queue_t *queue)
{
  const hsa_table_t *hsa = queue->device->hsa;
  for (uint32_t i = 0; i < queue->ring.tickets; ++i)
    if (queue->transfers.of_slot[i].ready.handle)
      hsa->hsa_signal_store_screlease(queue->transfers.of_slot[i].ready, 0);
}

void transfers_end(rawhal_queue_t *queue)
{
  const queue_device_t *device = queue->device;
  uint64_t deadline = rawhal_deadline_after(CLOCK_SECOND);
  transfers_release(queue);
  for (uint32_t i = 0; i < queue->ring.tickets; ++i) {
    transfer_t *transfer = &queue->transfers.of_slot[i];
    uint64_t now = clock_now();
    uint64_t ticks = deadline_ticks(now < deadline ? deadline - now : 0, device->timestamp_hz);
    if (transfer->done.handle &&
        device->hsa->hsa_signal_wait_scacquire(transfer->done, HSA_SIGNAL_CONDITION_LT, 1, ticks,
                                               HSA_WAIT_STATE_BLOCKED) >= 1)
      *transfer = (transfer_t){0};
  }
}

void transfers_free(rawhal_queue_t *queue)
{
  const hsa_table_t *hsa = queue->device->hsa;
  for (uint32_t i = 0; i < queue->ring.tickets; ++i) {
    transfer_t *transfer = &queue->transfers.of_slot[i];
    give_back(queue, &transfer->staging);
    if (transfer->ready.handle)
      (void)hsa->hsa_signal_destroy(transfer->ready);
    if (transfer->done.handle)
      (void)hsa->hsa_signal_destroy(transfer->done);
  }
  for (void *spare; (spare = take_spare(queue));)
    (void)hsa->hsa_amd_memory_pool_free(spare);
  allocate_free(queue->device->allocator, queue->transfers.of_slot);
  pthread_mutex_destroy(&queue->transfers.spare_lock);
}
