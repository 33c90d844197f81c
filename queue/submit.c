/* Submission: check everything, reserve everything at once, write images and packet bodies, publish
 * headers, ring the doorbell. Nothing can fail after the reservation, and no slot stays invalid. */
#include "queue/limited.h"

#include "base/error.h"

#include <stdlib.h>

enum { REHEARSAL_BYTES = 4096 };

static const uint32_t known_flags = RAWHAL_DISPATCH_CLAMP | RAWHAL_DISPATCH_KEEP_HIDDEN |
                                    RAWHAL_DISPATCH_OVERLAP | RAWHAL_DISPATCH_AGENT_SCOPE;

static uint32_t kernarg_flags(const rawhal_dispatch_t *dispatch)
{
  return (dispatch->flags & RAWHAL_DISPATCH_CLAMP ? RAWHAL_KERNARG_CLAMP : 0u) |
         (dispatch->flags & RAWHAL_DISPATCH_KEEP_HIDDEN ? RAWHAL_KERNARG_KEEP_HIDDEN : 0u);
}

rawhal_status_t image_write(const rawhal_dispatch_t *dispatch, const rawhal_launch_t *launch,
                            void *image, rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  size_t size = (size_t)kernel->block_count * BLOCK_BYTES;
  if (dispatch->arguments)
    return rawhal_kernarg_write_pointers(kernel->info.layout, dispatch->arguments,
                                         dispatch->argument_count, launch, image, size, error);
  return rawhal_kernarg_write_blob(kernel->info.layout, dispatch->blob, dispatch->blob_size,
                                   kernarg_flags(dispatch), launch, image, size, error);
}

/* Writes the image where nobody looks: the only full check there is for pointer arrays and for
 * hidden arguments that may not hold this launch's values. */
static rawhal_status_t image_rehearse(const rawhal_dispatch_t *dispatch,
                                      const rawhal_launch_t *launch, rawhal_error_t *error)
{
  _Alignas(16) unsigned char small[REHEARSAL_BYTES];
  size_t size = (size_t)dispatch->kernel->block_count * BLOCK_BYTES;
  void *image = size <= sizeof(small) ? small : aligned_alloc(BLOCK_BYTES, size);
  if (!image)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a kernarg image of %zu bytes",
                       size);
  rawhal_status_t status = image_write(dispatch, launch, image, error);
  if (image != small)
    free(image);
  return status;
}

static rawhal_status_t check_device(const queue_device_t *device, const rawhal_dispatch_t *dispatch,
                                    rawhal_error_t *error)
{
  uint64_t flat = 1;
  for (int d = 0; d < 3; ++d) {
    flat *= dispatch->workgroup[d];
    if (dispatch->workgroup[d] > device->max_workgroup_dim[d])
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "work-group size %c is %u, the device allows %u", "xyz"[d],
                         dispatch -> workgroup[d], device -> max_workgroup_dim[d]);
    if (dispatch->grid[d] > device->max_grid_dim[d])
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "grid size %c is %u, the device allows %u",
                         "xyz"[d], dispatch -> grid[d], device -> max_grid_dim[d]);
  }
  if (flat > device->max_workgroup_size)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a work-group of %llu work-items, the device allows %u",
                       (unsigned long long)flat, device->max_workgroup_size);
  uint64_t lds = (uint64_t)dispatch->kernel->info.group_segment_size + dispatch->dynamic_lds;
  if (lds > device->lds_bytes)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%llu bytes of LDS (%u of the kernel + %u dynamic), the device has %u",
                       (unsigned long long)lds, dispatch->kernel->info.group_segment_size,
                       dispatch->dynamic_lds, device->lds_bytes);
  return RAWHAL_OK;
}

static rawhal_status_t check_dispatch(const rawhal_queue_t *queue,
                                      const rawhal_dispatch_t *dispatch, rawhal_launch_t *launch,
                                      rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  if (!kernel)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "kernel is NULL");
  if (kernel->agent != queue->device->agent.handle)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the kernel is loaded on another device than the queue's");
  if (dispatch->flags & ~known_flags)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown dispatch flags 0x%x",
                       dispatch->flags & ~known_flags);
  if (dispatch->arguments && (dispatch->blob || dispatch->blob_size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "both a blob and an array of arguments are given");
  launch_set(launch, dispatch);
  rawhal_status_t status = rawhal_launch_check(kernel->info.kernel, launch, error);
  if (status == RAWHAL_OK)
    status = check_device(queue->device, dispatch, error);
  if (status != RAWHAL_OK)
    return status;
  if (dispatch->arguments || kernel->rehearse)
    return image_rehearse(dispatch, launch, error);
  return rawhal_kernarg_check(kernel->info.layout, dispatch->blob, dispatch->blob_size,
                              kernarg_flags(dispatch), error);
}

rawhal_status_t submit_check(const rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches,
                             size_t count, rawhal_launch_t *launch, uint32_t *blocks,
                             rawhal_error_t *error)
{
  if (!dispatches || count == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "no dispatches");
  if (count > queue->ring.packets)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a batch of %zu dispatches can never fit a ring of %u packets", count,
                       queue->ring.packets);
  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    rawhal_status_t status = check_dispatch(queue, &dispatches[i], launch, error);
    if (status != RAWHAL_OK && count > 1 && error)
      return rawhal_fail_at(error, status, error->offset, "dispatch %zu: %s", i, error->message);
    if (status != RAWHAL_OK)
      return status;
    total += (uint64_t)dispatches[i].kernel->block_count + dispatches[i].kernel->spare_blocks;
  }
  return rawhal_kernarg_block_count(total * BLOCK_BYTES, queue->ring.blocks, blocks, error);
}

rawhal_status_t submit_reserve(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                               uint64_t deadline, ring_reservation_t *reserved,
                               rawhal_error_t *error)
{
  if (__builtin_expect(ring_reserve(&queue->ring, packets, blocks, reserved), 1))
    return RAWHAL_OK;
  for (;;) {
    queue_drain(queue);
    if (ring_reserve(&queue->ring, packets, blocks, reserved))
      return RAWHAL_OK;
    rawhal_status_t status = queue_check(queue, error);
    if (status != RAWHAL_OK)
      return status;
    if (deadline == 0)
      return rawhal_fail(error, RAWHAL_WOULD_BLOCK,
                         "no room for %u packets and %u kernarg blocks now", packets, blocks);
    if (deadline != RAWHAL_FOREVER && deadline_now() >= deadline)
      return rawhal_fail(error, RAWHAL_TIMED_OUT,
                         "no room for %u packets and %u kernarg blocks before the deadline",
                         packets, blocks);
    queue_wait_for_room(queue, deadline);
  }
}

hsa_signal_t submit_begin(rawhal_queue_t *queue, const ring_reservation_t *reserved,
                          uint32_t packets, uint32_t blocks, uint32_t signals)
{
  queue->device->hsa->hsa_queue_add_write_index_screlease(queue->hsa_queue, packets);
  queue_slot_t *slot = queue_slot(queue, reserved->ticket);
  slot->packet = reserved->packet;
  slot->packets = packets;
  slot->blocks = blocks;
  int64_t target = atomic_load_explicit(&slot->target, memory_order_relaxed) - signals;
  /* Release: whoever sees this target sees that the slot's former ticket had finished. */
  atomic_store_explicit(&slot->target, target, memory_order_release);
  atomic_store_explicit(&slot->ticket, reserved->ticket, memory_order_release);
  return slot->signal;
}

void submit_ring(rawhal_queue_t *queue, const ring_reservation_t *reserved, uint32_t packets)
{
  queue->device->hsa->hsa_signal_store_screlease(
      queue->doorbell, (hsa_signal_value_t)(reserved->packet + packets - 1));
}

size_t submit_first_signaller(const rawhal_dispatch_t *dispatches, size_t count)
{
  size_t first = count - 1;
  while (first > 0 && dispatches[first].flags & RAWHAL_DISPATCH_OVERLAP)
    --first;
  return first;
}

/* Image and packet body of one dispatch; `block` moves on. `*header` becomes the first dword,
 * which is valid whatever this returns. */
static rawhal_status_t dispatch_write(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatch,
                                      rawhal_launch_t *launch, uint64_t packet, uint32_t *block,
                                      hsa_signal_t completion, uint32_t *header,
                                      rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  void *slot = packet_slot(queue, packet);
  uint32_t at = (*block + kernel->alignment - 1) & ~(kernel->alignment - 1);
  *block += kernel->block_count + kernel->spare_blocks;
  unsigned char *image = kernarg_slot(queue, at);
  launch_set(launch, dispatch);
  rawhal_status_t status = image_write(dispatch, launch, image, error);
  if (__builtin_expect(status != RAWHAL_OK, 0)) {
    /* It passed the checks, so the caller changed it meanwhile. The packet is ours already and must
     * not stay invalid, or the queue would stop here. */
    packet_name(queue, packet, NULL);
    packet_write_barrier(slot, completion);
    *header = packet_header(HSA_PACKET_TYPE_BARRIER_AND, 0);
    return status;
  }
  packet_dispatch_t body = {
      .launch = launch,
      .private_bytes = kernel->info.private_segment_size,
      .group_bytes = kernel->info.group_segment_size + dispatch->dynamic_lds,
      .kernel_object = kernel->info.kernel_object,
      .kernarg = (uint64_t)(uintptr_t)image,
      .completion = completion,
  };
  packet_write_dispatch(slot, &body);
  packet_name(queue, packet, kernel);
  *header = packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, dispatch->flags);
  return RAWHAL_OK;
}

/* The first header comes last: the device, which reads in order, sees nothing of the batch before
 * all of it is there. */
static rawhal_status_t batch_write(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches,
                                   uint32_t count, uint32_t blocks, rawhal_launch_t *launch,
                                   const ring_reservation_t *reserved, rawhal_error_t *error)
{
  uint32_t signaller = (uint32_t)submit_first_signaller(dispatches, count);
  hsa_signal_t signal = submit_begin(queue, reserved, count, blocks, count - signaller);
  rawhal_status_t status = RAWHAL_OK;
  uint32_t block = reserved->block, first_header = 0;
  for (uint32_t i = 0; i < count; ++i) {
    hsa_signal_t completion = i >= signaller ? signal : (hsa_signal_t){0};
    uint32_t header;
    rawhal_status_t written = dispatch_write(queue, &dispatches[i], launch, reserved->packet + i,
                                             &block, completion, &header, error);
    if (__builtin_expect(written != RAWHAL_OK, 0))
      status = written;
    if (i == 0)
      first_header = header;
    else
      packet_publish(packet_slot(queue, reserved->packet + i), header);
  }
  packet_publish(packet_slot(queue, reserved->packet), first_header);
  submit_ring(queue, reserved, count);
  return status;
}

rawhal_status_t rawhal_queue_submit(rawhal_queue_t *queue, const rawhal_dispatch_t *dispatches,
                                    size_t count, uint64_t deadline, rawhal_ticket_t *ticket,
                                    rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  uint32_t blocks;
  ring_reservation_t reserved;
  rawhal_launch_t launch = launch_begin(queue);
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = submit_check(queue, dispatches, count, &launch, &blocks, error);
  if (status == RAWHAL_OK)
    status = __builtin_expect(queue->lease != NULL, 0)
                 ? limited_reserve(queue, dispatches, count, blocks, deadline, &reserved, error)
                 : submit_reserve(queue, (uint32_t)count, blocks, deadline, &reserved, error);
  if (status == RAWHAL_OK)
    status = batch_write(queue, dispatches, (uint32_t)count, blocks, &launch, &reserved, error);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket;
  return status;
}
