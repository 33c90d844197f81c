/* Graphs that are being made: lists of nodes that have been checked and packed. */
#include "queue/graph/graph_node.h"
#include "queue/timeline/place.h"

#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

const rawhal_launch_t graph_no_launch;

rawhal_status_t graph_create(const queue_device_t *device, rawhal_graph_t **result,
                             rawhal_error_t *error)
{
  rawhal_graph_t *graph = allocate_zeroed(device->allocator, 1, sizeof(*graph));
  if (!graph)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a graph");
  graph->device = device;
  device->hold();
  *result = graph;
  return RAWHAL_OK;
}

/* Of one that is the graph's, or has not become that. */
static void node_empty(const queue_device_t *device, const graph_node_t *node)
{
  allocate_free(device->allocator, node->image);
  allocate_free(device->allocator, node->after);
  graph_transfers_free(device, node->transfers);
  graph_points_free(device, node->points);
}

static void node_free(const queue_device_t *device, graph_node_t *node)
{
  if (node->dispatch.kernel)
    --node->dispatch.kernel->owner->pins;
  node_empty(device, node);
}

const queue_device_t *graph_device(const rawhal_graph_t *graph)
{
  return graph->device;
}

void rawhal_graph_destroy(rawhal_graph_t *graph)
{
  WITHOUT_CANCELLATION();
  if (!graph)
    return;
  const queue_device_t *device = graph->device;
  for (uint32_t i = 0; i < graph->count; ++i)
    node_free(device, &graph->nodes[i]);
  allocate_free(device->allocator, graph->nodes);
  allocate_free(device->allocator, graph);
  device->unpinned();
  device->release(); /* last: it may end the runtime */
}

/* ---- Adding ---- */

enum { FIRST_CAPACITY = 16, MAX_NODES = 1 << 24 }; /* more than any ring has packets */

rawhal_status_t graph_make_room(rawhal_graph_t *graph, size_t more, rawhal_error_t *error)
{
  if (more > MAX_NODES - graph->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "%zu nodes more than %u, at most there may be %d", more, graph->count,
                       MAX_NODES);
  const size_t needed = graph->count + more;
  size_t capacity = graph->capacity ? graph->capacity : FIRST_CAPACITY;
  while (capacity < needed)
    capacity *= 2;
  if (capacity == graph->capacity)
    return RAWHAL_OK;
  graph_node_t *nodes = allocate_more(graph->device->allocator, graph->nodes,
                                      graph->count * sizeof(*nodes), capacity * sizeof(*nodes));
  if (!nodes)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu nodes of a graph", needed);
  graph->nodes = nodes;
  graph->capacity = (uint32_t)capacity;
  return RAWHAL_OK;
}

rawhal_status_t graph_take_after(const rawhal_graph_t *graph, const rawhal_graph_node_t *after,
                                 size_t count, graph_node_t *node, rawhal_error_t *error)
{
  if (count == RAWHAL_GRAPH_ALL) {
    node->prefix = graph->count;
    return RAWHAL_OK;
  }
  if (!after && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "after is NULL");
  if (count > graph->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "after %zu nodes of a graph that has %u", count,
                       graph->count);
  for (size_t i = 0; i < count; ++i)
    if (after[i] >= graph->count)
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "after node %u of a graph that has %u",
                         after[i], graph->count);
  if (!count)
    return RAWHAL_OK;
  node->after = allocate_zeroed(graph->device->allocator, count, sizeof(*after));
  if (!node->after)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %zu dependencies", count);
  memcpy(node->after, after, count * sizeof(*after));
  node->after_count = (uint32_t)count;
  return RAWHAL_OK;
}

static void take_label(graph_node_t *node, const char *label)
{
  label_copy(node->label, rawhal_string(label));
}

/* What of a blob another may replace: what comes before hidden arguments, which are the node's. */
static void note_blob(graph_node_t *node)
{
  rawhal_dispatch_t *dispatch = &node->dispatch;
  const rawhal_kernarg_layout_t *layout = dispatch->kernel->info.layout;
  if (dispatch->arguments) { /* from here on, as if a blob had them all */
    dispatch->blob_size = layout->blob_max;
    dispatch->flags &= ~(uint32_t)(RAWHAL_DISPATCH_KEEP_HIDDEN | RAWHAL_DISPATCH_CLAMP);
  } else {
    node->takes_blob =
        image_blob_bytes(layout, dispatch->blob_size, kernarg_flags(dispatch), &node->blob_bytes);
  }
  if (dispatch->flags & RAWHAL_DISPATCH_KEEP_HIDDEN)
    node->kept = dispatch->blob_size < layout->blob_max ? dispatch->blob_size : layout->blob_max;
  dispatch->arguments = NULL;
  dispatch->argument_count = 0;
  dispatch->label = NULL;
  dispatch->blob = node->image;
}

/* Checked and packed as for a queue that has nothing of its own. */
static rawhal_status_t take_dispatch(const rawhal_graph_t *graph, const rawhal_dispatch_t *given,
                                     size_t size, graph_node_t *node, rawhal_error_t *error)
{
  const dispatch_place_t place = {graph->device, &graph_no_launch, UINT32_MAX};
  const batch_t batch = {given, size, 1};
  rawhal_status_t status = batch_check(&batch, error);
  if (status == RAWHAL_OK)
    status = dispatch_check(&place, given, error);
  if (status != RAWHAL_OK)
    return status;
  const bool labelled = label_is_given(&batch, given);
  memcpy(&node->dispatch, given, offsetof(rawhal_dispatch_t, label));
  node->dispatch.flags &= ~(uint32_t)RAWHAL_DISPATCH_OVERLAP;
  take_label(node, labelled ? given->label : NULL);
  node->kind = RAWHAL_GRAPH_KERNEL;
  const size_t bytes = (size_t)given->kernel->block_count * KERNARG_BLOCK_BYTES;
  /* At least a byte: a blob of nothing is not NULL. */
  node->image = allocate_zeroed(graph->device->allocator, bytes ? bytes : 1, 1);
  if (!node->image)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the arguments of a node");
  status = image_write(&graph_no_launch, &node->dispatch, node->image, error);
  if (status == RAWHAL_OK)
    note_blob(node);
  return status;
}

void graph_append(rawhal_graph_t *graph, const graph_node_t *node)
{
  if (node->dispatch.kernel)
    ++node->dispatch.kernel->owner->pins;
  if (graph_node_is_part(node))
    graph->fence = graph->count + 1;
  else if (node->from == 0 && node->prefix == graph->count)
    graph->fence = graph->count;
  graph->nodes[graph->count++] = *node;
}

rawhal_status_t graph_give_up(const rawhal_graph_t *graph, const graph_node_t *node,
                              rawhal_status_t status)
{
  node_empty(graph->device, node);
  return status;
}

static rawhal_status_t check_graph(const rawhal_graph_t *graph, rawhal_error_t *error)
{
  return graph ? RAWHAL_OK : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "graph is NULL");
}

rawhal_status_t rawhal_graph_add_kernel_sized(rawhal_graph_t *graph,
                                              const rawhal_dispatch_t *dispatch,
                                              size_t dispatch_size,
                                              const rawhal_graph_node_t *after, size_t count,
                                              rawhal_graph_node_t *node, rawhal_error_t *error)
{
  graph_node_t made = {0};
  rawhal_status_t status = check_graph(graph, error);
  if (status != RAWHAL_OK)
    return status;
  status = graph_make_room(graph, 1, error);
  if (status == RAWHAL_OK)
    status = graph_take_after(graph, after, count, &made, error);
  if (status == RAWHAL_OK)
    status = take_dispatch(graph, dispatch, dispatch_size, &made, error);
  if (status != RAWHAL_OK)
    return graph_give_up(graph, &made, status);
  if (node)
    *node = graph->count;
  graph_append(graph, &made);
  return RAWHAL_OK;
}

rawhal_status_t graph_undo(rawhal_graph_t *graph, uint32_t first, uint32_t fence,
                           rawhal_status_t status)
{
  while (graph->count > first)
    node_free(graph->device, &graph->nodes[--graph->count]);
  graph->fence = fence;
  return status;
}

rawhal_status_t rawhal_graph_add_batch_sized(rawhal_graph_t *graph,
                                             const rawhal_dispatch_t *dispatches,
                                             size_t dispatch_size, size_t count,
                                             rawhal_graph_node_t *first, rawhal_error_t *error)
{
  const batch_t batch = {dispatches, dispatch_size, count};
  rawhal_status_t status = check_graph(graph, error);
  if (status == RAWHAL_OK)
    status = batch_check(&batch, error);
  if (status == RAWHAL_OK)
    status = graph_make_room(graph, count, error);
  if (status != RAWHAL_OK)
    return status;
  const uint32_t begin = graph->count, fence = graph->fence;
  for (size_t i = 0; i < count; ++i) {
    const rawhal_dispatch_t *dispatch = batch_at(&batch, i);
    const bool overlaps = dispatch->flags & RAWHAL_DISPATCH_OVERLAP;
    graph_node_t made = {.prefix = overlaps ? graph->fence : graph->count};
    status = take_dispatch(graph, dispatch, dispatch_size, &made, error);
    if (count > 1)
      status = rawhal_fail_of(error, status, "dispatch %zu", i);
    if (status != RAWHAL_OK)
      return graph_undo(graph, begin, fence, graph_give_up(graph, &made, status));
    graph_append(graph, &made);
  }
  if (first)
    *first = begin;
  return RAWHAL_OK;
}

/* One that runs no kernel; what it has otherwise is taken over, whatever this returns. */
static rawhal_status_t add_other(rawhal_graph_t *graph, graph_node_t *made, const char *label,
                                 const rawhal_graph_node_t *after, size_t count,
                                 rawhal_graph_node_t *node, rawhal_error_t *error)
{
  rawhal_status_t status = graph_make_room(graph, 1, error);
  if (status == RAWHAL_OK)
    status = graph_take_after(graph, after, count, made, error);
  if (status != RAWHAL_OK)
    return graph_give_up(graph, made, status);
  take_label(made, label);
  if (node)
    *node = graph->count;
  graph_append(graph, made);
  return RAWHAL_OK;
}

rawhal_status_t rawhal_graph_add_barrier(rawhal_graph_t *graph, const char *label,
                                         const rawhal_graph_node_t *after, size_t count,
                                         rawhal_graph_node_t *node, rawhal_error_t *error)
{
  graph_node_t made = {.kind = RAWHAL_GRAPH_BARRIER};
  rawhal_status_t status = check_graph(graph, error);
  return status == RAWHAL_OK ? add_other(graph, &made, label, after, count, node, error) : status;
}

rawhal_status_t graph_add_transfers(rawhal_graph_t *graph, const graph_transfers_t *transfers,
                                    const char *label, const rawhal_graph_node_t *after,
                                    size_t count, rawhal_graph_node_t *node, rawhal_error_t *error)
{
  graph_node_t made = {.kind = RAWHAL_GRAPH_TRANSFERS};
  made.transfers = graph_transfers_copy(graph->device, transfers);
  if (!made.transfers)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %u transfers of a node",
                       transfers->count);
  return add_other(graph, &made, label, after, count, node, error);
}

rawhal_status_t rawhal_graph_add_timeline(rawhal_graph_t *graph, const rawhal_timepoint_t *waits,
                                          size_t wait_count, const rawhal_timepoint_t *signals,
                                          size_t signal_count, const char *label,
                                          const rawhal_graph_node_t *after, size_t count,
                                          rawhal_graph_node_t *node, rawhal_error_t *error)
{
  graph_node_t made = {.kind = RAWHAL_GRAPH_TIMELINE};
  rawhal_status_t status = check_graph(graph, error);
  if (status == RAWHAL_OK)
    status = timeline_check_points(waits, wait_count, "wait", error);
  if (status == RAWHAL_OK)
    status = timeline_check_points(signals, signal_count, "signal", error);
  if (status == RAWHAL_OK && !wait_count && !signal_count)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "neither a wait nor a signal");
  if (status != RAWHAL_OK)
    return status;
  made.points = graph_points_make(graph->device, waits, (uint32_t)wait_count, signals,
                                  (uint32_t)signal_count);
  if (!made.points)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the timepoints of a node");
  return add_other(graph, &made, label, after, count, node, error);
}

/* ---- Looking ---- */

size_t rawhal_graph_node_count(const rawhal_graph_t *graph)
{
  return graph ? graph->count : 0;
}

rawhal_status_t rawhal_graph_node(const rawhal_graph_t *graph, rawhal_graph_node_t node,
                                  rawhal_graph_node_info_t *info, rawhal_graph_node_t *after,
                                  size_t capacity, rawhal_error_t *error)
{
  if (!graph || !info)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", graph ? "info" : "graph");
  if (node >= graph->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "node %u of a graph that has %u", node,
                       graph->count);
  const graph_node_t *found = &graph->nodes[node];
  rawhal_graph_node_info_t is = {.kind = found->kind,
                                 .kernel = found->dispatch.kernel,
                                 .dynamic_lds = found->dispatch.dynamic_lds,
                                 .flags = found->dispatch.flags,
                                 .from = found->from,
                                 .prefix = found->prefix,
                                 .after_count = found->after_count,
                                 .transfers = found->transfers ? found->transfers->count : 0,
                                 .waits = found->points ? found->points->waits : 0,
                                 .signals = found->points ? found->points->signals : 0};
  memcpy(is.work_items, found->dispatch.work_items, sizeof(is.work_items));
  memcpy(is.workgroup, found->dispatch.workgroup, sizeof(is.workgroup));
  memcpy(is.label, found->label, sizeof(is.label));
  sized_give(info, sizeof(is), &is, sizeof(is));
  for (uint32_t i = 0; after && i < found->after_count && i < capacity; ++i)
    after[i] = found->after[i];
  return RAWHAL_OK;
}
