/* What nodes have that run no kernel: their transfers and timepoints, and what these name. */
#include "queue/graph/graph_node.h"

#include "base/checked.h"
#include "queue/timeline/timeline.h"

#include <string.h>

/* ---- Transfers ---- */

graph_transfers_t *graph_transfers_make(const queue_device_t *device, uint64_t count,
                                        uint64_t bytes)
{
  const uint64_t one = sizeof(queue_transfer_t) + sizeof(graph_buffers_t);
  uint64_t size;
  if (!checked_mul_u64(count, one, &size) || !checked_add_u64(size, bytes, &size) ||
      !checked_add_u64(size, sizeof(graph_transfers_t), &size) || size > SIZE_MAX)
    return NULL;
  graph_transfers_t *made = allocate_zeroed(device->allocator, 1, (size_t)size);
  if (!made)
    return NULL;
  made->each = (void *)(made + 1);
  made->buffers = (void *)(made->each + count);
  made->bytes = bytes ? (void *)(made->buffers + count) : NULL;
  return made;
}

/* That are written, and copied for it. */
static uint64_t bytes_of(const queue_transfer_t *transfer)
{
  return transfer->staged == TRANSFER_WRITES ? transfer->host.bytes * transfer->host.rows : 0;
}

void graph_buffers_keep(const queue_device_t *device, const graph_buffers_t *buffers)
{
  for (int i = 0; i < 2; ++i)
    if (buffers->of[i])
      device->buffers->keep(buffers->of[i]);
}

void graph_buffers_let(const queue_device_t *device, const graph_buffers_t *buffers)
{
  for (int i = 0; i < 2; ++i)
    if (buffers->of[i])
      device->buffers->let(buffers->of[i]);
}

void graph_transfers_add(const queue_device_t *device, graph_transfers_t *to,
                         const queue_transfer_t *transfer, const graph_buffers_t *buffers)
{
  queue_transfer_t *taken = &to->each[to->count];
  *taken = *transfer;
  to->buffers[to->count++] = *buffers;
  graph_buffers_keep(device, buffers);
  if (!to->bytes || taken->staged != TRANSFER_WRITES)
    return;
  taken->host.at = to->bytes;
  taken->host.pitch = taken->host.bytes;
  rows_copy(&taken->host, &transfer->host);
  to->bytes += bytes_of(transfer);
}

graph_transfers_t *graph_transfers_copy(const queue_device_t *device, const graph_transfers_t *from)
{
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < from->count; ++i)
    if (!checked_add_u64(bytes, bytes_of(&from->each[i]), &bytes))
      return NULL;
  graph_transfers_t *made = graph_transfers_make(device, from->count, bytes);
  for (uint32_t i = 0; made && i < from->count; ++i)
    graph_transfers_add(device, made, &from->each[i], &from->buffers[i]);
  return made;
}

void graph_transfers_free(const queue_device_t *device, graph_transfers_t *transfers)
{
  for (uint32_t i = 0; transfers && i < transfers->count; ++i)
    graph_buffers_let(device, &transfers->buffers[i]);
  allocate_free(device->allocator, transfers);
}

/* ---- Timepoints ---- */

graph_points_t *graph_points_make(const queue_device_t *device, const rawhal_timepoint_t *waits,
                                  uint32_t wait_count, const rawhal_timepoint_t *signals,
                                  uint32_t signal_count)
{
  const uint32_t count = wait_count + signal_count; /* RAWHAL_MAX_TIMEPOINTS of each */
  graph_points_t *made =
      allocate_zeroed(device->allocator, 1, sizeof(*made) + count * sizeof(*made->each));
  if (!made)
    return NULL;
  made->waits = wait_count;
  made->signals = signal_count;
  for (uint32_t i = 0; i < count; ++i) {
    made->each[i] = i < wait_count ? waits[i] : signals[i - wait_count];
    semaphore_keep(made->each[i].semaphore);
  }
  return made;
}

graph_points_t *graph_points_copy(const queue_device_t *device, const graph_points_t *from)
{
  return graph_points_make(device, from->each, from->waits, from->each + from->waits,
                           from->signals);
}

void graph_points_free(const queue_device_t *device, graph_points_t *points)
{
  for (uint32_t i = 0; points && i < points->waits + points->signals; ++i)
    semaphore_let(points->each[i].semaphore);
  allocate_free(device->allocator, points);
}
