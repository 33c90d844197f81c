#include "queue/times.h"

#include "queue/submit.h"
#include "queue/transfer.h"
#include "queue/wait.h"

#include "base/error.h"

static hsa_status_t dispatch_times(const rawhal_queue_t *queue, uint64_t packet,
                                   hsa_amd_profiling_dispatch_time_t *times)
{
  const queue_device_t *device = queue->device;
  return device->hsa->hsa_amd_profiling_get_dispatch_time(device->agent,
                                                          dispatch_signal(queue, packet), times);
}

/* From the first dispatch that began to the last that ended. */
static hsa_status_t timed_span(const rawhal_queue_t *queue, const queue_slot_t *slot,
                               gate_span_t *times)
{
  *times = GATE_SPAN_OF_NONE;
  for (uint32_t i = 0; i + 1 < slot->packets; ++i) {
    hsa_amd_profiling_dispatch_time_t each = {0};
    hsa_status_t result = dispatch_times(queue, slot->packet + i, &each);
    if (result != HSA_STATUS_SUCCESS)
      return result;
    gate_span_add(times, each.start, each.end);
  }
  return HSA_STATUS_SUCCESS;
}

/* When a finished submission's first packet began and its last one ended, in the device's ticks. */
static hsa_status_t slot_times(const rawhal_queue_t *queue, const queue_slot_t *slot,
                               gate_span_t *times)
{
  const queue_device_t *device = queue->device;
  hsa_amd_profiling_dispatch_time_t last = {0}, first = {0};
  if (slot->transfers) {
    hsa_amd_profiling_async_copy_time_t copy = {0};
    hsa_status_t status = transfer_times(queue, slot, &copy);
    *times = (gate_span_t){copy.start, copy.end};
    return status;
  }
  if (slot->timed)
    return timed_span(queue, slot, times);
  hsa_status_t result =
      device->hsa->hsa_amd_profiling_get_dispatch_time(device->agent, slot->signal, &last);
  if (result == HSA_STATUS_SUCCESS && slot->begins) {
    hsa_signal_t begin = queue->begins[slot - queue->slots];
    result = device->hsa->hsa_amd_profiling_get_dispatch_time(device->agent, begin, &first);
    if (result == HSA_STATUS_SUCCESS && first.start && first.start < last.start)
      last.start = first.start;
  }
  *times = (gate_span_t){last.start, last.end};
  return result;
}

/* When it ran; what is not known is 0. */
static gate_span_t span_of(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  gate_span_t times;
  if (slot_times(queue, slot, &times) != HSA_STATUS_SUCCESS)
    return (gate_span_t){0};
  times = gate_span(times.start, times.end);
  if (slot->packets > 1 && !slot->begins && !slot->timed && !transfer_is_one_copy(queue, slot))
    times.start = 0; /* is that of one of them, which may have begun last */
  return times;
}

/* ---- Charging ---- */

void charge_finished(rawhal_queue_t *queue, uint64_t first, uint64_t end)
{
  const uint64_t hz = queue->device->timestamp_hz;
  limit_completion_t all[CHARGE_AT_ONCE];
  size_t count = 0;
  for (uint64_t ticket = first; ticket < end; ++ticket) {
    queue_grant_t *kept = charge_grant(queue, ticket);
    uint64_t holder = ticket;
    if (!atomic_compare_exchange_strong(&kept->ticket, &holder, 0))
      continue; /* a barrier's ticket has no grant */
    const gate_span_t ran = span_of(queue, queue_slot(queue, ticket));
    all[count++] = (limit_completion_t){&kept->grant, gate_ns(ran.start, hz), gate_ns(ran.end, hz)};
  }
  limit_complete_all(queue->gate.lease, all, count);
}

void charge_rest(rawhal_queue_t *queue, uint64_t at)
{
  const uint64_t last = ring_last_ticket(&queue->ring);
  bool held = false; /* by a barrier */
  for (uint64_t ticket = ring_finished(&queue->ring) + 1; ticket <= last; ++ticket) {
    queue_grant_t *kept = charge_grant(queue, ticket);
    uint64_t holder = ticket;
    int64_t target;
    if (atomic_compare_exchange_strong(&kept->ticket, &holder, 0))
      gate_end(&queue->gate, &kept->grant, !held, at);
    else if (atomic_load(&queue_slot(queue, ticket)->ticket) == ticket)
      held |= queue_progress(queue, ticket, &target, NULL) != QUEUE_FINISHED;
  }
}

/* ---- Telling the program ---- */

#define WHOLE SIZE_MAX

/* One dispatch's times, or with WHOLE the submission's. */
static rawhal_status_t timing(rawhal_queue_t *queue, rawhal_ticket_t ticket, size_t dispatch,
                              uint64_t *start_ns, uint64_t *end_ns, rawhal_error_t *error)
{
  if (!start_ns || !end_ns)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "start_ns or end_ns is NULL");
  *start_ns = *end_ns = 0;
  rawhal_status_t status = rawhal_queue_wait(queue, ticket, 0, error);
  if (status != RAWHAL_OK)
    return status;
  const queue_slot_t *slot = queue_slot(queue, ticket);
  gate_span_t time = {0};
  hsa_status_t result = HSA_STATUS_SUCCESS;
  size_t dispatches = slot->timed ? slot->packets - 1 : 0;
  if (dispatch == WHOLE) {
    result = slot_times(queue, slot, &time);
  } else if (dispatch < dispatches) {
    hsa_amd_profiling_dispatch_time_t one = {0};
    result = dispatch_times(queue, slot->packet + dispatch, &one);
    time = (gate_span_t){one.start, one.end};
  }
  /* The device overwrites the times only after a later submission took the slot. */
  if (!queue_slot_kept(queue, ticket))
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "the times of ticket %llu were overwritten by later submissions",
                       (unsigned long long)ticket);
  if (result != HSA_STATUS_SUCCESS)
    return hsa_fail(queue->device->hsa, result, error, "reading dispatch times");
  if (dispatch != WHOLE && dispatch >= dispatches)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "there is no dispatch %zu: %zu have times",
                       dispatch, dispatches);
  *start_ns = gate_ns(time.start, queue->device->timestamp_hz);
  *end_ns = gate_ns(time.end, queue->device->timestamp_hz);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_timing(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                    uint64_t *start_ns, uint64_t *end_ns, rawhal_error_t *error)
{
  return timing(queue, ticket, WHOLE, start_ns, end_ns, error);
}

rawhal_status_t rawhal_queue_dispatch_timing(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                             size_t dispatch, uint64_t *start_ns, uint64_t *end_ns,
                                             rawhal_error_t *error)
{
  if (dispatch == WHOLE)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "there is no dispatch %zu", dispatch);
  return timing(queue, ticket, dispatch, start_ns, end_ns, error);
}
