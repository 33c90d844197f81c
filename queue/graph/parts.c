/* Graphs with transfers and steps of timelines, cut into the parts that a queue carries out one
 * after the other. */
#include "queue/graph/exec.h"

#include "base/error.h"
#include "queue/parts.h"
#include "queue/staging.h"
#include "queue/timeline/timeline.h"

#include <string.h>

static exec_part_kind_t kind_of(const graph_node_t *node)
{
  return node->kind == RAWHAL_GRAPH_TRANSFERS  ? EXEC_TRANSFERS
         : node->kind == RAWHAL_GRAPH_TIMELINE ? EXEC_TIMELINE
                                               : EXEC_KERNELS;
}

static uint32_t transfers_of(const graph_node_t *node)
{
  return node->transfers ? node->transfers->count : 0;
}

/* Transfers that do not wait for each other go together. */
static bool joins(const graph_node_t *node, exec_part_kind_t kind, const exec_part_t *last)
{
  if (!last->count || last->kind != kind || kind == EXEC_TIMELINE)
    return false;
  return kind == EXEC_KERNELS || graph_node_latest(node) <= last->first;
}

static uint32_t packets_of(const graph_node_t *node, const exec_part_t *part)
{
  switch (part->kind) {
  case EXEC_KERNELS:
    return part->count;
  case EXEC_TRANSFERS:
    return TRANSFER_PACKETS;
  case EXEC_TIMELINE:
    break;
  }
  return timeline_packets(node->points->waits, node->points->signals);
}

/* Goes through the nodes; `each` NULL: only counts the parts. */
static uint32_t cut(const rawhal_graph_exec_t *exec, const rawhal_graph_t *graph, exec_part_t *each)
{
  uint32_t count = 0, transfers = 0;
  exec_part_t last = {0};
  for (uint32_t i = 0; i < graph->count; ++i) {
    const graph_node_t *node = &graph->nodes[i];
    const exec_part_kind_t kind = kind_of(node);
    if (!joins(node, kind, &last)) {
      last = (exec_part_t){.kind = kind, .first = i, .item = transfers};
      ++count;
    }
    ++last.count;
    last.item_count += transfers_of(node);
    transfers += transfers_of(node);
    last.packets = packets_of(node, &last);
    if (kind == EXEC_KERNELS && exec_waits(exec, i))
      last.signaller = i - last.first;
    if (each)
      each[count - 1] = last;
  }
  return count;
}

/* ---- What the nodes have, of all together ---- */

static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static exec_transfers_t *ended; /* that nobody uses any more */

/* Whoever comes here may have locks of a queue, with which no buffer is freed. */
static void end(transfer_owner_t *owner)
{
  exec_transfers_t *transfers = (exec_transfers_t *)owner;
  pthread_mutex_lock(&ended_lock);
  transfers->next = ended;
  ended = transfers;
  pthread_mutex_unlock(&ended_lock);
}

static exec_transfers_t *take_ended(void)
{
  pthread_mutex_lock(&ended_lock);
  exec_transfers_t *all = ended;
  ended = NULL;
  pthread_mutex_unlock(&ended_lock);
  return all;
}

void graphs_reap(void)
{
  for (exec_transfers_t *transfers = take_ended(), *next; transfers; transfers = next) {
    const queue_device_t *device = transfers->device;
    next = transfers->next;
    if (transfers->staged)
      (void)device->hsa->hsa_amd_memory_pool_free(transfers->staged);
    graph_transfers_free(device, transfers->of);
    allocate_free(device->allocator, transfers);
  }
}

static rawhal_status_t take_transfers(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph,
                                      rawhal_error_t *error)
{
  const queue_device_t *device = exec->device;
  uint64_t count = 0;
  for (uint32_t i = 0; i < graph->count; ++i)
    count += transfers_of(&graph->nodes[i]);
  if (count == 0)
    return RAWHAL_OK;
  exec_transfers_t *made = allocate_zeroed(device->allocator, 1, sizeof(*made));
  exec->parts->transfers = made;
  if (made)
    *made = (exec_transfers_t){.owner = {.uses = 1, .end = end}, .device = device};
  if (made && count <= UINT32_MAX)
    made->of = graph_transfers_make(device, count, 0);
  if (!made || !made->of)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %llu transfers of a graph",
                       (unsigned long long)count);
  for (uint32_t i = 0; i < graph->count; ++i) {
    const graph_transfers_t *of = graph->nodes[i].transfers;
    exec->nodes[i].first = made->of->count;
    exec->nodes[i].count = transfers_of(&graph->nodes[i]);
    for (uint32_t k = 0; of && k < of->count; ++k)
      graph_transfers_add(device, made->of, &of->each[k], &of->buffers[k]);
  }
  return staging_keep(device, made->of->each, count, &made->staged, error);
}

static rawhal_status_t take_points(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph,
                                   rawhal_error_t *error)
{
  exec_parts_t *parts = exec->parts;
  rawhal_timepoint_t waits[RAWHAL_MAX_TIMEPOINTS], signals[RAWHAL_MAX_TIMEPOINTS];
  timeline_part_t all = {0, 0};
  for (uint32_t i = 0; i < graph->count; ++i) {
    const graph_points_t *of = graph->nodes[i].points;
    if (!of)
      continue;
    if (of->waits > RAWHAL_MAX_TIMEPOINTS - all.waits ||
        of->signals > RAWHAL_MAX_TIMEPOINTS - all.signals)
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "more than %d waits or %d signals in nodes 0 to %u", RAWHAL_MAX_TIMEPOINTS,
                         RAWHAL_MAX_TIMEPOINTS, i);
    exec->nodes[i].count = parts->timelines;
    exec->nodes[i].first = all.waits;
    exec->nodes[i].first_signal = all.signals;
    memcpy(waits + all.waits, of->each, of->waits * sizeof(*waits));
    memcpy(signals + all.signals, of->each + of->waits, of->signals * sizeof(*signals));
    parts->timeline[parts->timelines++] = (timeline_part_t){of->waits, of->signals};
    all.waits += of->waits;
    all.signals += of->signals;
  }
  if (!parts->timelines)
    return RAWHAL_OK;
  parts->points = graph_points_make(exec->device, waits, all.waits, signals, all.signals);
  return parts->points ? RAWHAL_OK
                       : rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for timepoints");
}

void exec_transfers_shape(const rawhal_graph_exec_t *exec, limit_shape_t *whole)
{
  const exec_transfers_t *transfers = exec->parts->transfers;
  for (uint32_t i = 0; transfers && i < transfers->of->count; ++i) {
    const queue_transfer_t *each = &transfers->of->each[i];
    const limit_shape_t shape = gate_copy(each->bytes * each->rows);
    gate_whole_add(whole, &shape);
  }
}

rawhal_status_t exec_parts_make(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph,
                                rawhal_error_t *error)
{
  bool any = false;
  for (uint32_t i = 0; i < graph->count; ++i)
    any |= graph_node_is_part(&graph->nodes[i]);
  if (!any)
    return RAWHAL_OK;
  const uint32_t count = cut(exec, graph, NULL);
  if (count > PARTS_MOST)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%u transfers and timelines, one after the other, of at most %d", count,
                       PARTS_MOST);
  exec_parts_t *parts = allocate_zeroed(&exec->allocator, 1, sizeof(*parts));
  exec->parts = parts;
  if (parts)
    parts->each = allocate_zeroed(&exec->allocator, count, sizeof(*parts->each));
  if (!parts || !parts->each)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %u parts of a graph", count);
  parts->count = cut(exec, graph, parts->each);
  for (uint32_t i = 0; i < count; ++i) {
    parts->packets += parts->each[i].packets;
    parts->kernels += parts->each[i].kind == EXEC_KERNELS;
  }
  rawhal_status_t status = take_transfers(exec, graph, error);
  if (status == RAWHAL_OK)
    status = take_points(exec, graph, error);
  if (status == RAWHAL_OK)
    exec_transfers_shape(exec, &exec->shape);
  return status;
}

void exec_parts_free(rawhal_graph_exec_t *exec)
{
  exec_parts_t *parts = exec->parts;
  const allocator_t allocator = exec->allocator;
  if (!parts)
    return;
  if (parts->transfers)
    transfer_owner_let(&parts->transfers->owner);
  graph_points_free(exec->device, parts->points);
  allocate_free(&allocator, parts->each);
  allocate_free(&allocator, parts);
}
