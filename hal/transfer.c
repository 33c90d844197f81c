/* Copies, fills and the host's reads and writes, in queue order. */
#include "queue/transfer.h"
#include "hal/buffer.h"
#include "hal/import.h"
#include "hal/peer.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

enum { PATTERN_BYTES = 512 << 10 };

static const rawhal_device_t *device_of(const rawhal_queue_t *queue)
{
  return (const void *)((const char *)queue->device - offsetof(rawhal_device_t, queue));
}

/* The queue's device must reach the buffer: it is its own, or it was given access. */
static rawhal_status_t check_reach(const rawhal_queue_t *queue, const rawhal_buffer_t *buffer,
                                   rawhal_error_t *error)
{
  if (peer_reaches(device_of(queue), buffer))
    return RAWHAL_OK;
  return rawhal_fail(
      error, RAWHAL_INVALID_ARGUMENT,
      "the buffer belongs to a device other than the queue's, which has no access to it");
}

/* The agent that the runtime is told has a buffer's bytes. The runtime has a thread of its own copy
 * what is the host's on both sides, by addresses of the host: one of the agents must always be the
 * device. */
static hsa_agent_t owner(const rawhal_queue_t *queue, const rawhal_buffer_t *buffer)
{
  return buffer->kind == RAWHAL_MEMORY_DEVICE ? queue->device->agent
                                              : buffer->device->runtime->host_agent;
}

/* Nothing to do, in its place all the same. */
static rawhal_status_t submit_nothing(rawhal_queue_t *queue, uint64_t deadline,
                                      rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  return rawhal_queue_barrier(queue, NULL, 0, deadline, ticket, error);
}

rawhal_status_t rawhal_queue_copy(rawhal_queue_t *queue, const rawhal_copy_t *copy,
                                  uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (ticket)
    *ticket = 0;
  if (!queue || !copy)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", queue ? "copy" : "queue");
  rawhal_copy_t c;
  rawhal_status_t status = SIZED_TAKE(&c, copy, bytes, error);
  if (status == RAWHAL_OK)
    status = buffer_check_copy(c.to, c.to_offset, c.from, c.from_offset, c.bytes, error);
  if (status == RAWHAL_OK)
    status = check_reach(queue, c.to, error);
  if (status == RAWHAL_OK)
    status = check_reach(queue, c.from, error);
  if (status != RAWHAL_OK || c.bytes == 0)
    return status == RAWHAL_OK ? submit_nothing(queue, deadline, ticket, error) : status;
  queue_transfer_t transfer = {.to = c.to->memory + c.to_offset,
                               .from = c.from->memory + c.from_offset,
                               .to_agent = owner(queue, c.to),
                               .from_agent = owner(queue, c.from),
                               .size = c.bytes,
                               .period = c.bytes};
  if (c.to->kind == RAWHAL_MEMORY_HOST && c.from->kind == RAWHAL_MEMORY_HOST)
    transfer.to_agent = queue->device->agent;
  return queue_transfer(queue, &transfer, deadline, ticket, error);
}

rawhal_status_t rawhal_queue_fill(rawhal_queue_t *queue, rawhal_buffer_t *buffer, uint64_t offset,
                                  uint32_t value, size_t size, uint64_t deadline,
                                  rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (ticket)
    *ticket = 0;
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  rawhal_status_t status = buffer_check_fill(buffer, offset, size, error);
  if (status == RAWHAL_OK)
    status = check_reach(queue, buffer, error);
  if (status != RAWHAL_OK || size == 0)
    return status == RAWHAL_OK ? submit_nothing(queue, deadline, ticket, error) : status;
  size_t period = size < PATTERN_BYTES ? size : PATTERN_BYTES;
  queue_transfer_t transfer = {.to = buffer->memory + offset,
                               .to_agent = queue->device->agent,
                               .from_agent = buffer->device->runtime->host_agent,
                               .size = size,
                               .period = period};
  status = transfer_stage(queue, period, &transfer.staging, error);
  if (status != RAWHAL_OK)
    return status;
  for (size_t i = 0; i < period / sizeof(value); ++i)
    ((uint32_t *)transfer.staging.memory)[i] = value;
  transfer.from = transfer.staging.memory;
  return queue_transfer(queue, &transfer, deadline, ticket, error);
}

/* What writing and reading check alike. */
static rawhal_status_t check_host_transfer(const rawhal_queue_t *queue,
                                           const rawhal_buffer_t *buffer, uint64_t offset,
                                           const void *data, size_t size, rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  rawhal_status_t status = buffer_check_host(buffer, offset, data, size, error);
  return status == RAWHAL_OK ? check_reach(queue, buffer, error) : status;
}

rawhal_status_t rawhal_queue_write(rawhal_queue_t *queue, rawhal_buffer_t *buffer, uint64_t offset,
                                   const void *data, size_t size, uint64_t deadline,
                                   rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (ticket)
    *ticket = 0;
  rawhal_status_t status = check_host_transfer(queue, buffer, offset, data, size, error);
  if (status != RAWHAL_OK || size == 0)
    return status == RAWHAL_OK ? submit_nothing(queue, deadline, ticket, error) : status;
  queue_transfer_t transfer = {.to = buffer->memory + offset,
                               .to_agent = queue->device->agent,
                               .from_agent = buffer->device->runtime->host_agent,
                               .size = size,
                               .period = size};
  void *memory;
  if (!import_reachable(buffer->device, data, size, &memory)) {
    status = transfer_stage(queue, size, &transfer.staging, error);
    if (status != RAWHAL_OK)
      return status;
    memory = memcpy(transfer.staging.memory, data, size);
  }
  transfer.from = memory;
  return queue_transfer(queue, &transfer, deadline, ticket, error);
}

rawhal_status_t rawhal_queue_read(rawhal_queue_t *queue, const rawhal_buffer_t *buffer,
                                  uint64_t offset, void *data, size_t size, uint64_t deadline,
                                  rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (ticket)
    *ticket = 0;
  rawhal_status_t status = check_host_transfer(queue, buffer, offset, data, size, error);
  if (status != RAWHAL_OK || size == 0)
    return status == RAWHAL_OK ? submit_nothing(queue, deadline, ticket, error) : status;
  queue_transfer_t transfer = {.from = buffer->memory + offset,
                               .to_agent = buffer->device->runtime->host_agent,
                               .from_agent = queue->device->agent,
                               .size = size,
                               .period = size};
  if (!import_reachable(buffer->device, data, size, &transfer.to)) {
    status = transfer_stage(queue, size, &transfer.staging, error);
    if (status != RAWHAL_OK)
      return status;
    transfer.to = transfer.staging.memory;
    transfer.staging.deliver = data;
  }
  return queue_transfer(queue, &transfer, deadline, ticket, error);
}
