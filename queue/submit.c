/* Submission: check everything, reserve everything at once, write images and packet bodies, publish
 * headers, ring the doorbell. Nothing can fail after the reservation, and no slot stays invalid. */
#include "queue/graph/capture.h"
#include "queue/label.h"

#include "base/error.h"
#include "debug/door/ticket.h"
#include "kernarg/layout.h"

rawhal_status_t image_write(const rawhal_launch_t *common, const rawhal_dispatch_t *dispatch,
                            void *image, rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  rawhal_launch_t values;
  const rawhal_launch_t *launch = NULL;
  if (kernel->info.layout->hidden.field_count) {
    values = launch_of(common, dispatch);
    launch = &values;
  }
  if (!dispatch->arguments)
    return image_write_checked(kernel->info.layout, dispatch->blob, dispatch->blob_size,
                               kernarg_flags(dispatch), launch, image, error);
  return rawhal_kernarg_write_pointers(kernel->info.layout, dispatch->arguments,
                                       dispatch->argument_count, launch, image,
                                       (size_t)kernel->block_count * KERNARG_BLOCK_BYTES, error);
}

static uint64_t kernel_object_of(const submission_t *submission)
{
  return submission->kernel ? submission->kernel->info.kernel_object : 0;
}

__attribute__((noinline, cold)) static void tell_labelled(const rawhal_queue_t *queue,
                                                          const ring_reservation_t *reserved,
                                                          const submission_t *submission)
{
  char label[RAWHAL_LABEL_BYTES];
  label_find(queue, reserved->packet, label);
  tell_event((rawhal_event_t){
      .type = RAWHAL_EVENT_SUBMIT,
      .queue_id = queue->id,
      .ticket = reserved->ticket,
      .packet = reserved->packet,
      .packets = submission->packets,
      .kernel_object = kernel_object_of(submission),
      .text = rawhal_string(label),
  });
}

__attribute__((noinline, cold)) static void tell_submission(const rawhal_queue_t *queue,
                                                            const ring_reservation_t *reserved,
                                                            const submission_t *submission)
{
  if (label_is_any(queue))
    tell_labelled(queue, reserved, submission);
  else
    tell_ticket(RAWHAL_EVENT_SUBMIT, queue->id, reserved->ticket, reserved->packet,
                submission->packets, kernel_object_of(submission));
}

hsa_signal_t submit_begin(rawhal_queue_t *queue, const ring_reservation_t *reserved,
                          const submission_t *submission)
{
  if (__builtin_expect(!queue->shared, 1))
    queue->device->hsa->hsa_queue_add_write_index_screlease(queue->hsa_queue, submission->packets);
  queue_slot_t *slot = queue_slot(queue, reserved->ticket);
  atomic_store_explicit(&slot->packet, reserved->packet, memory_order_relaxed);
  atomic_store_explicit(&slot->packets, submission->packets, memory_order_relaxed);
  atomic_store_explicit(&slot->blocks, submission->blocks, memory_order_relaxed);
  atomic_store_explicit(&slot->kernel, submission->kernel, memory_order_relaxed);
  atomic_store_explicit(&slot->traits, submission->traits | reserved->part, memory_order_relaxed);
  int64_t target = atomic_load_explicit(&slot->target, memory_order_relaxed) - submission->signals;
  /* Release: a thread that sees this target sees that the slot's former ticket had finished. */
  atomic_store_explicit(&slot->target, target, memory_order_release);
  atomic_store_explicit(&slot->ticket, reserved->ticket, memory_order_release);
  if (tell_wants(RAWHAL_EVENT_SUBMIT))
    tell_submission(queue, reserved, submission);
  return slot->signal;
}

void submit_ring(rawhal_queue_t *queue, const ring_reservation_t *reserved, uint32_t packets)
{
  queue->device->hsa->hsa_signal_store_screlease(
      queue->doorbell, (hsa_signal_value_t)(reserved->packet + packets - 1));
}

size_t submit_first_signaller(const batch_t *batch)
{
  size_t first = batch->count - 1;
  while (first > 0 && batch_at(batch, first)->flags & RAWHAL_DISPATCH_OVERLAP)
    --first;
  return first;
}

/* Image and packet of one dispatch; `block` moves on. The packet is published, whatever this
 * returns. */
static rawhal_status_t dispatch_write(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatch,
                                      uint64_t packet, uint32_t *block, hsa_signal_t completion,
                                      rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  void *slot = packet_slot(queue, packet);
  uint32_t at = (*block + kernel->alignment - 1) & ~(kernel->alignment - 1);
  *block += kernel->block_count + kernel->spare_blocks;
  unsigned char *image = kernarg_slot(queue, at);
  rawhal_status_t status = image_write(&queue->launch, dispatch, image, error);
  if (__builtin_expect(status != RAWHAL_OK, 0)) {
    /* It passed the checks, so the caller changed it meanwhile. The packet is ours already and must
     * not stay invalid, or the queue would stop here. */
    packet_put_barrier(slot, completion);
    return status;
  }
  packet_put_dispatch(slot, dispatch, image, completion);
  return RAWHAL_OK;
}

hsa_signal_t batch_begin(rawhal_queue_t *queue, const ring_reservation_t *reserved, uint32_t count,
                         uint32_t blocks, uint32_t signaller, const rawhal_device_kernel_t *first)
{
  uint32_t closing = closing_packets(queue);
  submission_t submission = {.packets = count + closing,
                             .blocks = blocks,
                             .signals = closing ? 1 : count - signaller,
                             .kernel = first,
                             .traits = closing         ? TRAIT_TIMED
                                       : signaller > 0 ? TRAIT_BEGINS
                                                       : 0};
  if (__builtin_expect(closing, 0))
    packet_name(queue, reserved->packet + count, NULL);
  hsa_signal_t signal = submit_begin(queue, reserved, &submission);
  if (__builtin_expect(closing, 0))
    packet_put_barrier(packet_slot(queue, reserved->packet + count), signal);
  return signal;
}

/* The first packet comes last: the device, which reads in order, sees nothing of the batch before
 * all of it is there. */
static rawhal_status_t batch_write(rawhal_queue_t *queue, const batch_t *batch, uint32_t blocks,
                                   const ring_reservation_t *reserved, rawhal_error_t *error)
{
  uint32_t count = (uint32_t)batch->count, signaller = (uint32_t)submit_first_signaller(batch);
  for (uint32_t i = 0; count + closing_packets(queue) > 1 && i < count; ++i)
    packet_name(queue, reserved->packet + i, batch_at(batch, i)->kernel);
  if (__builtin_expect(label_is_given(batch, batch->first), 0))
    label_keep(queue, reserved->packet, batch->first->label); /* is told with the submission */
  hsa_signal_t signal =
      batch_begin(queue, reserved, count, blocks, signaller, batch->first->kernel);
  rawhal_status_t status = RAWHAL_OK;
  uint32_t block = reserved->block;
  for (uint32_t i = count; i-- > 0;) {
    hsa_signal_t completion = submit_signal(queue, reserved, signal, i, signaller);
    const rawhal_dispatch_t *dispatch = batch_at(batch, i);
    if (i && __builtin_expect(label_is_given(batch, dispatch), 0))
      label_keep(queue, reserved->packet + i, dispatch->label);
    rawhal_status_t written =
        dispatch_write(queue, dispatch, reserved->packet + i, &block, completion, error);
    if (__builtin_expect(written != RAWHAL_OK, 0)) {
      status = written;
      atomic_fetch_and(&queue_slot(queue, reserved->ticket)->traits,
                       ~TRAIT_BEGINS); /* a barrier may have no times */
    }
  }
  submit_ring(queue, reserved, count + closing_packets(queue));
  return status;
}

rawhal_status_t submit_reserve_admitted(rawhal_queue_t *queue, const limit_grant_t *grant,
                                        uint32_t packets, uint32_t blocks, uint64_t deadline,
                                        ring_reservation_t *reserved, rawhal_error_t *error)
{
  rawhal_status_t status = submit_reserve(queue, packets, blocks, deadline, reserved, error);
  if (status == RAWHAL_OK && queue->gate.lease)
    charge_keep(queue, grant, reserved->ticket);
  return status;
}

limit_shape_t dispatch_shape(const rawhal_dispatch_t *dispatch)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  return gate_dispatch(kernel->info.kernel_object, dispatch->work_items, dispatch->workgroup,
                       (uint64_t)kernel->block_count * KERNARG_BLOCK_BYTES);
}

static rawhal_status_t admit(rawhal_queue_t *queue, const batch_t *batch, uint64_t deadline,
                             limit_grant_t *grant, rawhal_error_t *error)
{
  uint32_t lane_bytes = batch->first->kernel->info.private_segment_size;
  if (batch->count == 1) {
    const limit_shape_t shape = dispatch_shape(batch->first);
    return gate_admit_one(&queue->gate, &shape, lane_bytes, deadline, grant, error);
  }
  limit_cost_t all = {0};
  for (size_t i = 0; i < batch->count; ++i) {
    const rawhal_dispatch_t *dispatch = batch_at(batch, i);
    const uint32_t bytes = dispatch->kernel->info.private_segment_size;
    const limit_shape_t shape = dispatch_shape(dispatch);
    limit_cost_add(&all, &shape, gate_expects(&queue->gate, &shape));
    lane_bytes = bytes > lane_bytes ? bytes : lane_bytes;
  }
  return gate_admit(&queue->gate, &all, lane_bytes, deadline, grant, error);
}

/* Admission, then room for what has passed the checks. */
static rawhal_status_t reserve_limited(rawhal_queue_t *queue, const batch_t *batch, uint32_t blocks,
                                       uint64_t deadline, ring_reservation_t *reserved,
                                       rawhal_error_t *error)
{
  limit_grant_t grant;
  rawhal_status_t status = admit(queue, batch, deadline, &grant, error);
  if (status != RAWHAL_OK)
    return status;
  status = submit_reserve_admitted(queue, &grant, (uint32_t)batch->count + closing_packets(queue),
                                   blocks, deadline, reserved, error);
  if (status != RAWHAL_OK)
    limit_cancel(queue->gate.lease, &grant);
  return status;
}

rawhal_status_t rawhal_queue_submit_sized(rawhal_queue_t *queue,
                                          const rawhal_dispatch_t *dispatches, size_t dispatch_size,
                                          size_t count, uint64_t deadline, rawhal_ticket_t *ticket,
                                          rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  rawhal_graph_t *captured = queue_captured(queue);
  if (__builtin_expect(captured != NULL, 0))
    return rawhal_graph_add_batch_sized(captured, dispatches, dispatch_size, count, NULL, error);
  batch_t batch = {dispatches, dispatch_size, count};
  uint32_t blocks;
  ring_reservation_t reserved;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = submit_check(queue, &batch, &blocks, error);
  if (status == RAWHAL_OK)
    status = __builtin_expect(queue->gate.lease != NULL, 0)
                 ? reserve_limited(queue, &batch, blocks, deadline, &reserved, error)
                 : submit_reserve(queue, (uint32_t)count + closing_packets(queue), blocks, deadline,
                                  &reserved, error);
  if (status != RAWHAL_OK)
    return status;
  status = batch_write(queue, &batch, blocks, &reserved, error);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket;
  return status;
}
