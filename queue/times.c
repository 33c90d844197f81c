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
  if ((queue_traits(slot) & TRAIT_TRANSFERS)) {
    hsa_amd_profiling_async_copy_time_t copy = {0};
    hsa_status_t status = transfer_times(queue, slot, &copy);
    *times = (gate_span_t){copy.start, copy.end};
    return status;
  }
  if ((queue_traits(slot) & TRAIT_TIMED))
    return timed_span(queue, slot, times);
  hsa_status_t result =
      device->hsa->hsa_amd_profiling_get_dispatch_time(device->agent, slot->signal, &last);
  if (result == HSA_STATUS_SUCCESS && (queue_traits(slot) & TRAIT_BEGINS)) {
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
  if (slot->packets > 1 && !(queue_traits(slot) & TRAIT_BEGINS) &&
      !(queue_traits(slot) & TRAIT_TIMED) && !transfer_is_one_copy(queue, slot))
    times.start = 0; /* is that of one of them, which may have begun last */
  return times;
}

/* ---- Charging ---- */

/* As long as the parts of a launch together, up to where the last of them ended. Each is asked for
 * once, in their order. Of one that is not known it is not known when the whole began. */
static gate_span_t span_of_parts(rawhal_queue_t *queue, const queue_slot_t *slot)
{
  const uint32_t traits = queue_traits(slot);
  const gate_span_t ran = span_of(queue, slot);
  if (__builtin_expect(!parts_before(traits) && !parts_after(traits), 1))
    return ran;
  uint64_t *ticks = &queue->parts_ticks;
  if (parts_before(traits) == 0)
    *ticks = 0;
  if (!(traits & TRAIT_IDLE) &&
      (!ran.start || __builtin_add_overflow(*ticks, ran.end - ran.start, ticks)))
    *ticks = UINT64_MAX;
  return (gate_span_t){*ticks < ran.end ? ran.end - *ticks : 0, ran.end};
}

void charge_finished(rawhal_queue_t *queue, uint64_t first, uint64_t end)
{
  const uint64_t hz = queue->device->timestamp_hz;
  limit_completion_t all[CHARGE_AT_ONCE];
  size_t count = 0;
  for (uint64_t ticket = first; ticket < end; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    queue_grant_t *kept = charge_grant(queue, ticket);
    uint64_t holder = ticket;
    if (!atomic_compare_exchange_strong(&kept->ticket, &holder, 0)) {
      if (parts_after(queue_traits(slot)))
        (void)span_of_parts(queue, slot);
      continue; /* a barrier's ticket has no grant */
    }
    const gate_span_t ran = span_of_parts(queue, slot);
    all[count++] = (limit_completion_t){&kept->grant, gate_ns(ran.start, hz), gate_ns(ran.end, hz)};
  }
  limit_complete_all(queue->gate.lease, all, count);
}

/* What has come of the tickets before. */
typedef struct rest {
  bool held;      /* by a barrier */
  bool had_begun; /* parts of the launch that the next grant is for */
} rest_t;

/* One that has no grant: a barrier, or a part of a launch. */
static void pass(rawhal_queue_t *queue, uint64_t ticket, uint32_t traits, rest_t *rest)
{
  int64_t target;
  if (parts_after(traits) && !(traits & TRAIT_IDLE))
    rest->had_begun |= !rest->held;
  else
    rest->held |= queue_progress(queue, ticket, &target, NULL) != QUEUE_FINISHED;
}

void charge_rest(rawhal_queue_t *queue, uint64_t at)
{
  const uint64_t last = ring_last_ticket(&queue->ring);
  rest_t rest = {0};
  for (uint64_t ticket = ring_finished(&queue->ring) + 1; ticket <= last; ++ticket) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    queue_grant_t *kept = charge_grant(queue, ticket);
    uint64_t holder = ticket;
    const bool granted = atomic_compare_exchange_strong(&kept->ticket, &holder, 0);
    const bool there = atomic_load(&slot->ticket) == ticket;
    const uint32_t traits = there ? queue_traits(slot) : 0;
    if (parts_before(traits) == 0)
      rest.had_begun = false;
    else if (ticket == ring_finished(&queue->ring) + 1) /* others of its launch have finished */
      rest.had_begun = queue->parts_ticks != 0;
    if (granted)
      gate_end(&queue->gate, &kept->grant, rest.had_begun || (!rest.held && !(traits & TRAIT_IDLE)),
               at);
    if (there && (!granted || traits & TRAIT_IDLE))
      pass(queue, ticket, traits, &rest);
  }
}

/* ---- Telling the program ---- */

/* From when the first of its parts began to when the last one ended. */
static hsa_status_t launch_times(const rawhal_queue_t *queue, const queue_slot_t *slot,
                                 uint64_t first, gate_span_t *times)
{
  const queue_slot_t *begin = queue_slot(queue, first);
  hsa_status_t result = slot_times(queue, slot, times);
  gate_span_t began = *times;
  if (result == HSA_STATUS_SUCCESS && begin != slot)
    result = slot_times(queue, begin, &began);
  times->start = began.start && began.start < times->start ? began.start : times->start;
  return result;
}

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
  size_t dispatches = (queue_traits(slot) & TRAIT_TIMED) ? slot->packets - 1 : 0;
  const uint64_t first = dispatch == WHOLE ? ticket - parts_before(queue_traits(slot)) : ticket;
  if (dispatch == WHOLE) {
    result = launch_times(queue, slot, first, &time);
  } else if (dispatch < dispatches) {
    hsa_amd_profiling_dispatch_time_t one = {0};
    result = dispatch_times(queue, slot->packet + dispatch, &one);
    time = (gate_span_t){one.start, one.end};
  }
  /* The device overwrites the times only after a later submission took the slot. */
  if (!queue_slot_kept(queue, first))
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
