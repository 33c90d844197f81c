/* Copies, fills and the host's reads and writes, in queue order. */
#include "hal/import.h"
#include "hal/peer.h"
#include "hal/transfer_check.h"
#include "queue/staging.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

enum { FEW = 4 }; /* that need no memory */

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

static transfer_side_t side_of(const rawhal_queue_t *queue, const rawhal_buffer_t *buffer,
                               uint64_t offset, uint64_t pitch)
{
  return (transfer_side_t){buffer->memory + offset, pitch, owner(queue, buffer)};
}

/* The program's memory: as it is where the device reaches it, or to be staged. */
static transfer_side_t host_side(const rawhal_transfer_t *t, const rawhal_device_t *device,
                                 const void *data, uint64_t pitch, queue_transfer_t *made)
{
  transfer_side_t side = {NULL, pitch, device->runtime->host_agent};
  const uint64_t size = (t->rows - 1) * pitch + t->bytes;
  void *memory;
  if (import_reachable(device, data, size, &memory))
    side.at = memory;
  else
    made->host = (transfer_rows_t){(void *)(uintptr_t)data, pitch, t->bytes, t->rows};
  return side;
}

/* What the queue is to do. */
static void describe(const rawhal_queue_t *queue, const rawhal_transfer_t *t,
                     queue_transfer_t *made)
{
  const rawhal_device_t *device = (t->to ? t->to : t->from)->device;
  *made = (queue_transfer_t){.bytes = t->bytes, .rows = t->rows};
  if (t->to)
    made->to = side_of(queue, t->to, t->to_offset, t->to_pitch);
  else
    made->to = host_side(t, device, t->to_host, t->to_pitch, made);
  if (t->from) {
    made->from = side_of(queue, t->from, t->from_offset, t->from_pitch);
  } else if (t->from_host) {
    made->from = host_side(t, device, t->from_host, t->from_pitch, made);
  } else {
    made->staged = TRANSFER_FILLS;
    made->from.agent = device->runtime->host_agent;
    made->pattern_bytes = t->pattern_bytes;
    memcpy(made->pattern, t->pattern, sizeof(made->pattern));
  }
  if (made->host.rows)
    made->staged = t->to ? TRANSFER_WRITES : TRANSFER_READS;
  const hsa_agent_t host = device->runtime->host_agent;
  if (made->to.agent.handle == host.handle && made->from.agent.handle == host.handle)
    (t->to ? &made->to : &made->from)->agent = queue->device->agent;
  transfer_cut(queue->device->hsa, made);
}

/* Checked, and of 0 bytes where there is nothing to do. */
static rawhal_status_t take_one(const rawhal_queue_t *queue, const rawhal_transfer_t *given,
                                queue_transfer_t *made, rawhal_error_t *error)
{
  rawhal_transfer_t t;
  rawhal_status_t status = transfer_take(given, &t, error);
  if (status == RAWHAL_OK && t.to)
    status = check_reach(queue, t.to, error);
  if (status == RAWHAL_OK && t.from)
    status = check_reach(queue, t.from, error);
  if (status != RAWHAL_OK)
    return status;
  if (t.bytes)
    describe(queue, &t, made);
  else
    made->bytes = 0;
  return RAWHAL_OK;
}

typedef struct given {
  const rawhal_transfer_t *first;
  size_t stride, count;
} given_t;

/* All are checked; `*kept` of them have something to do. */
static rawhal_status_t take_all(const rawhal_queue_t *queue, const given_t *given,
                                queue_transfer_t *made, size_t *kept, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  *kept = 0;
  for (size_t i = 0; i < given->count; ++i) {
    const void *one = (const char *)given->first + i * given->stride;
    status = take_one(queue, one, &made[*kept], error);
    if (status != RAWHAL_OK)
      return given->count == 1
                 ? status
                 : rawhal_fail_of(error, status, "transfer %zu of %zu", i, given->count);
    *kept += made[*kept].bytes != 0;
  }
  return RAWHAL_OK;
}

static rawhal_status_t submit_all(rawhal_queue_t *queue, queue_transfer_t *made, size_t count,
                                  uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  transfer_staging_t staging;
  if (count == 0) /* in its place all the same */
    return rawhal_queue_barrier(queue, NULL, 0, deadline, ticket, error);
  rawhal_status_t status = staging_take(queue, made, count, &staging, error);
  return status == RAWHAL_OK
             ? queue_transfers(queue, made, count, &staging, deadline, ticket, error)
             : status;
}

rawhal_status_t rawhal_queue_transfer_sized(rawhal_queue_t *queue,
                                            const rawhal_transfer_t *transfers,
                                            size_t transfer_size, size_t count, uint64_t deadline,
                                            rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  queue_transfer_t few[FEW], *made = few;
  const given_t given = {transfers, transfer_size, count};
  size_t kept;
  if (ticket)
    *ticket = 0;
  if (!queue || !transfers || count == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       !queue   ? "queue is NULL"
                       : !count ? "count is 0"
                                : "transfers is NULL");
  rawhal_status_t status =
      sized_array(transfers, transfer_size, count, sizeof(*transfers), "transfers", error);
  if (status != RAWHAL_OK)
    return status;
  if (count > FEW)
    made = allocate_zeroed(queue->device->allocator, count, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu transfers", count);
  status = take_all(queue, &given, made, &kept, error);
  if (status == RAWHAL_OK)
    status = submit_all(queue, made, kept, deadline, ticket, error);
  if (made != few)
    allocate_free(queue->device->allocator, made);
  return status;
}
