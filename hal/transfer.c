/* Copies, fills and the host's reads and writes, in queue order and in graphs. */
#include "hal/buffer.h"
#include "hal/import.h"
#include "hal/peer.h"
#include "hal/transfer_check.h"
#include "queue/graph/capture.h"
#include "queue/graph/graph_node.h"
#include "queue/staging.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

enum { FEW = 4 }; /* that need no memory */

static const rawhal_device_t *device_of(const queue_device_t *device)
{
  return (const void *)((const char *)device - offsetof(rawhal_device_t, queue));
}

/* The device must reach the buffer: it is its own, or it was given access. */
static rawhal_status_t check_reach(const queue_device_t *device, const rawhal_buffer_t *buffer,
                                   rawhal_error_t *error)
{
  if (peer_reaches(device_of(device), buffer))
    return RAWHAL_OK;
  return rawhal_fail(
      error, RAWHAL_INVALID_ARGUMENT,
      "the buffer belongs to a device other than the queue's, which has no access to it");
}

/* The agent that the runtime is told has a buffer's bytes. The runtime has a thread of its own copy
 * what is the host's on both sides, by addresses of the host: one of the agents must always be the
 * device. */
static hsa_agent_t owner(const queue_device_t *device, const rawhal_buffer_t *buffer)
{
  return buffer->kind == RAWHAL_MEMORY_DEVICE ? device->agent : buffer->device->runtime->host_agent;
}

static transfer_side_t side_of(const queue_device_t *device, const rawhal_buffer_t *buffer,
                               uint64_t offset, uint64_t pitch)
{
  return (transfer_side_t){buffer->memory + offset, pitch, owner(device, buffer)};
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
static void describe(const queue_device_t *of, const rawhal_transfer_t *t, queue_transfer_t *made)
{
  const rawhal_device_t *device = (t->to ? t->to : t->from)->device;
  *made = (queue_transfer_t){.bytes = t->bytes, .rows = t->rows};
  if (t->to)
    made->to = side_of(of, t->to, t->to_offset, t->to_pitch);
  else
    made->to = host_side(t, device, t->to_host, t->to_pitch, made);
  if (t->from) {
    made->from = side_of(of, t->from, t->from_offset, t->from_pitch);
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
    (t->to ? &made->to : &made->from)->agent = of->agent;
  transfer_cut(of->hsa, made);
}

/* Checked, and of 0 bytes where there is nothing to do. */
static rawhal_status_t take_one(const queue_device_t *device, const rawhal_transfer_t *given,
                                queue_transfer_t *made, graph_buffers_t *buffers,
                                rawhal_error_t *error)
{
  rawhal_transfer_t t;
  rawhal_status_t status = transfer_take(given, &t, error);
  if (status == RAWHAL_OK && t.to)
    status = check_reach(device, t.to, error);
  if (status == RAWHAL_OK && t.from)
    status = check_reach(device, t.from, error);
  if (status != RAWHAL_OK)
    return status;
  if (buffers)
    *buffers = (graph_buffers_t){{t.to, (rawhal_buffer_t *)(uintptr_t)t.from}};
  if (t.bytes)
    describe(device, &t, made);
  else
    made->bytes = 0;
  return RAWHAL_OK;
}

typedef struct given {
  const rawhal_transfer_t *first;
  size_t stride, count;
} given_t;

/* All are checked; `*kept` of them have something to do. `buffers` NULL: nobody asks which. */
static rawhal_status_t take_all(const queue_device_t *device, const given_t *given,
                                queue_transfer_t *made, graph_buffers_t *buffers, size_t *kept,
                                rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  *kept = 0;
  for (size_t i = 0; i < given->count; ++i) {
    const void *one = (const char *)given->first + i * given->stride;
    status = take_one(device, one, &made[*kept], buffers ? &buffers[*kept] : NULL, error);
    if (status != RAWHAL_OK)
      return given->count == 1
                 ? status
                 : rawhal_fail_of(error, status, "transfer %zu of %zu", i, given->count);
    *kept += made[*kept].bytes != 0;
  }
  return RAWHAL_OK;
}

static rawhal_status_t check_given(const void *where, const char *what, const given_t *given,
                                   rawhal_error_t *error)
{
  if (!where || !given->first || given->count == 0)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is %s",
                       !where         ? what
                       : given->count ? "transfers"
                                      : "count",
                       where && !given->count ? "0" : "NULL");
  return sized_array(given->first, given->stride, given->count, sizeof(*given->first), "transfers",
                     error);
}

static rawhal_status_t no_memory(size_t count, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu transfers", count);
}

/* ---- In queue order ---- */

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
  rawhal_status_t status = check_given(queue, "queue", &given, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_graph_t *captured = queue_captured(queue);
  if (captured)
    return rawhal_graph_add_transfers_sized(captured, transfers, transfer_size, count, NULL, NULL,
                                            RAWHAL_GRAPH_ALL, NULL, error);
  if (count > FEW)
    made = allocate_zeroed(queue->device->allocator, count, sizeof(*made));
  if (!made)
    return no_memory(count, error);
  status = take_all(queue->device, &given, made, NULL, &kept, error);
  if (status == RAWHAL_OK)
    status = submit_all(queue, made, kept, deadline, ticket, error);
  if (made != few)
    allocate_free(queue->device->allocator, made);
  return status;
}

/* ---- As nodes of graphs ---- */

static rawhal_status_t bind_one(const queue_device_t *device, const void *given,
                                queue_transfer_t *made, void *buffers[2], rawhal_error_t *error)
{
  graph_buffers_t named;
  rawhal_status_t status = take_one(device, given, made, &named, error);
  if (status == RAWHAL_OK)
    memcpy(buffers, named.of, sizeof(named.of));
  return status;
}

const queue_buffers_t transfer_buffers = {buffer_keep, buffer_let, sizeof(rawhal_transfer_t),
                                          bind_one};

/* A graph has no end at which a read would be delivered. */
static rawhal_status_t check_reads(const queue_transfer_t *made, size_t count,
                                   rawhal_error_t *error)
{
  for (size_t i = 0; i < count; ++i)
    if (made[i].staged == TRANSFER_READS)
      return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                         "a node can read only into memory that the device reaches: a "
                         "RAWHAL_MEMORY_HOST buffer's, or what was imported");
  return RAWHAL_OK;
}

rawhal_status_t
rawhal_graph_add_transfers_sized(rawhal_graph_t *graph, const rawhal_transfer_t *transfers,
                                 size_t transfer_size, size_t count, const char *label,
                                 const rawhal_graph_node_t *after, size_t after_count,
                                 rawhal_graph_node_t *node, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  const given_t given = {transfers, transfer_size, count};
  size_t kept = 0;
  rawhal_status_t status = check_given(graph, "graph", &given, error);
  if (status != RAWHAL_OK)
    return status;
  const queue_device_t *device = graph_device(graph);
  if (count > UINT32_MAX)
    return no_memory(count, error);
  queue_transfer_t *made = allocate_zeroed(device->allocator, count, sizeof(*made));
  graph_buffers_t *buffers = allocate_zeroed(device->allocator, count, sizeof(*buffers));
  status = made && buffers ? take_all(device, &given, made, buffers, &kept, error)
                           : no_memory(count, error);
  if (status == RAWHAL_OK)
    status = check_reads(made, kept, error);
  const graph_transfers_t all = {.count = (uint32_t)kept, .each = made, .buffers = buffers};
  if (status == RAWHAL_OK)
    status = kept ? graph_add_transfers(graph, &all, label, after, after_count, node, error)
                  : rawhal_graph_add_barrier(graph, label, after, after_count, node, error);
  allocate_free(device->allocator, made);
  allocate_free(device->allocator, buffers);
  return status;
}
