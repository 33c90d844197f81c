#include "queue/transfer.h"

#include "queue/staging.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/cancel.h"
#include "base/error.h"

static transfer_t *transfer_of(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  return &queue->transfers.of_slot[slot - queue->slots];
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
  for (uint32_t i = 0; i < TRANSFER_PACKETS; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  hsa_signal_t completion = submit_begin(
      queue, reserved,
      &(submission_t){
          .packets = TRANSFER_PACKETS, .signals = 1, .traits = done.handle ? TRAIT_TRANSFERS : 0});
  if (done.handle) {
    packet_write_barrier_value(second, done, 0, completion);
    packet_publish(second, packet_header_barrier_value());
  } else {
    packet_put_barrier(second, completion);
  }
  packet_put_barrier(packet_slot(queue, reserved->packet), ready);
  submit_ring(queue, reserved, TRANSFER_PACKETS);
}

static void tell_refused(const transfers_t *wanted, const rawhal_error_t *cause)
{
  if (wanted->refused)
    wanted->refused(wanted->context, cause);
}

/* What is missing is never delivered. */
static void give_up(rawhal_queue_t *queue, transfer_t *transfer, uint64_t copies)
{
  staging_undeliver(queue, &transfer->staging);
  queue->device->hsa->hsa_signal_subtract_screlease(transfer->done, (hsa_signal_value_t)copies);
}

/* After the packets: while the engine's own ring is full, what it waits for can happen. */
static rawhal_status_t start_copies(rawhal_queue_t *queue, const transfers_t *wanted,
                                    transfer_t *transfer, rawhal_error_t *error)
{
  const queue_device_t *device = queue->device;
  uint64_t started = 0;
  hsa_status_t result = HSA_STATUS_SUCCESS;
  size_t i = 0;
  for (; i < wanted->count && result == HSA_STATUS_SUCCESS; ++i)
    result = transfer_start(device->hsa, device->agent, transfers_at(wanted, i), &transfer->ready,
                            transfer->done, &transfer->copies, &started);
  if (result == HSA_STATUS_SUCCESS)
    return RAWHAL_OK;
  rawhal_status_t status = hsa_fail(device->hsa, result, error, "starting a copy");
  if (wanted->count > 1)
    status = rawhal_fail_of(error, status, "transfer %zu of %zu", i - 1, wanted->count);
  tell_refused(wanted, error);
  give_up(queue, transfer, transfer->copies - started);
  return status;
}

static rawhal_status_t submit(rawhal_queue_t *queue, const transfers_t *wanted,
                              transfer_staging_t *staging, const ring_reservation_t *reserved,
                              rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  transfer_t *transfer = transfer_of(queue, queue_slot(queue, reserved->ticket));
  hsa_status_t result = make_signals(queue, transfer);
  if (result != HSA_STATUS_SUCCESS) { /* the packets are ours already */
    const rawhal_status_t status = hsa_fail(hsa, result, error, "creating signals for a transfer");
    tell_refused(wanted, error);
    publish(queue, reserved, (hsa_signal_t){0}, (hsa_signal_t){0});
    staging_give_back(queue, staging);
    return status;
  }
  uint64_t copies = 0;
  for (size_t i = 0; i < wanted->count; ++i)
    copies += transfer_pieces(transfers_at(wanted, i));
  transfer->staging = *staging;
  transfer->copies = copies;
  hsa->hsa_signal_store_screlease(transfer->ready, 1);
  hsa->hsa_signal_store_screlease(transfer->done, (hsa_signal_value_t)copies);
  publish(queue, reserved, transfer->ready, transfer->done);
  rawhal_status_t status = start_copies(queue, wanted, transfer, error);
  if (queue_check(queue, NULL) != RAWHAL_OK) /* it may have died before these were there */
    transfers_release(queue);
  return status;
}

void transfers_enter(void)
{
  pthread_mutex_lock(&engine_lock);
}

void transfers_leave(void)
{
  pthread_mutex_unlock(&engine_lock);
}

rawhal_status_t transfers_submit(rawhal_queue_t *queue, const transfers_t *transfers,
                                 transfer_owner_t *owner, const ring_reservation_t *reserved,
                                 rawhal_error_t *error)
{
  transfer_staging_t staging = {.owner = owner};
  atomic_fetch_add(&owner->uses, 1);
  atomic_fetch_add(&queue->transfers.undelivered, 1);
  return submit(queue, transfers, &staging, reserved, error);
}

/* Takes a place in the queue, and in the engine at once. `*placed`: it has, even if this fails. */
static rawhal_status_t place(rawhal_queue_t *queue, const transfers_t *wanted,
                             transfer_staging_t *staging, const limit_grant_t *grant,
                             ring_reservation_t *reserved, bool *placed, rawhal_error_t *error)
{
  transfers_enter();
  rawhal_status_t status =
      submit_reserve_admitted(queue, grant, TRANSFER_PACKETS, 0, 0, reserved, error);
  *placed = status == RAWHAL_OK;
  if (*placed)
    status = submit(queue, wanted, staging, reserved, error);
  transfers_leave();
  return status;
}

static rawhal_status_t place_until(rawhal_queue_t *queue, const transfers_t *wanted,
                                   transfer_staging_t *staging, const limit_grant_t *grant,
                                   uint64_t deadline, ring_reservation_t *reserved, bool *placed,
                                   rawhal_error_t *error)
{
  for (;;) {
    rawhal_status_t status = place(queue, wanted, staging, grant, reserved, placed, error);
    if (*placed || status != RAWHAL_WOULD_BLOCK)
      return status;
    status = submit_no_room(TRANSFER_PACKETS, 0, deadline, error);
    if (status != RAWHAL_OK)
      return status;
    submit_wait_for_room(queue, deadline);
  }
}

static rawhal_status_t admit(rawhal_queue_t *queue, const transfers_t *wanted, uint64_t deadline,
                             limit_grant_t *grant, rawhal_error_t *error)
{
  limit_cost_t all = {0};
  for (size_t i = 0; i < wanted->count; ++i) {
    const limit_shape_t shape = gate_copy(wanted->each[i].bytes * wanted->each[i].rows);
    if (wanted->count == 1)
      return gate_admit_one(&queue->gate, &shape, 0, deadline, grant, error);
    limit_cost_add(&all, &shape, gate_expects(&queue->gate, &shape));
  }
  return gate_admit(&queue->gate, &all, 0, deadline, grant, error);
}

rawhal_status_t queue_transfers(rawhal_queue_t *queue, const queue_transfer_t *transfers,
                                size_t count, transfer_staging_t *staging, uint64_t deadline,
                                rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  bool placed = false;
  ring_reservation_t reserved;
  limit_grant_t grant = {0};
  const transfers_t wanted = {.count = count, .each = transfers};
  if (ticket)
    *ticket = 0;
  staging_announce(queue, staging);
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK && queue->gate.lease)
    status = admit(queue, &wanted, deadline, &grant, error);
  if (status == RAWHAL_OK) {
    status = place_until(queue, &wanted, staging, &grant, deadline, &reserved, &placed, error);
    if (!placed && queue->gate.lease)
      limit_cancel(queue->gate.lease, &grant);
  }
  if (!placed)
    staging_give_back(queue, staging);
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
  if (transfer->staging.deliveries && !transfer_failed(queue, slot))
    staging_deliver(&transfer->staging);
  staging_give_back(queue, &transfer->staging);
}

bool transfer_is_one_copy(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  return (queue_traits(slot) & TRAIT_TRANSFERS) && transfer_of(queue, slot)->copies == 1;
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
    staging_give_back(queue, &transfer->staging);
    if (transfer->ready.handle)
      (void)hsa->hsa_signal_destroy(transfer->ready);
    if (transfer->done.handle)
      (void)hsa->hsa_signal_destroy(transfer->done);
  }
  staging_free_spares(queue);
  allocate_free(queue->device->allocator, queue->transfers.of_slot);
  pthread_mutex_destroy(&queue->transfers.spare_lock);
}
