/* Child graphs: their nodes are included, so that a launch stays one submission. */
#include "queue/graph/graph_node.h"

#include "base/error.h"

#include <string.h>

/* A copy of memory that belongs to a node; of nothing, NULL. */
static bool copy_of(const allocator_t *allocator, const void *from, size_t bytes, void **copy)
{
  *copy = from ? allocate_zeroed(allocator, bytes ? bytes : 1, 1) : NULL;
  if (*copy)
    memcpy(*copy, from, bytes);
  return *copy || !from;
}

static bool is_root(const graph_node_t *node)
{
  return node->prefix <= node->from && !node->after_count;
}

/* A node of the child's, as one of the graph's: numbers count from `first`, and roots come after
 * what the child does. On failure what has been made is there, to be given up. */
static rawhal_status_t include(const rawhal_graph_t *graph, const graph_node_t *node,
                               const graph_node_t *entry, uint32_t first, graph_node_t *made,
                               rawhal_error_t *error)
{
  const allocator_t *allocator = graph->device->allocator;
  const rawhal_device_kernel_t *kernel = node->dispatch.kernel;
  const size_t image = kernel ? (size_t)kernel->block_count * KERNARG_BLOCK_BYTES : 0;
  const bool root = is_root(node);
  const graph_node_t *order = root ? entry : node;
  void *copied_image = NULL, *copied_after = NULL;
  *made = *node;
  bool all = copy_of(allocator, node->image, image, &copied_image);
  all &=
      copy_of(allocator, order->after, order->after_count * sizeof(*order->after), &copied_after);
  made->transfers = NULL;
  made->points = NULL;
  if (node->transfers)
    all &= (made->transfers = graph_transfers_copy(graph->device, node->transfers)) != NULL;
  if (node->points)
    all &= (made->points = graph_points_copy(graph->device, node->points)) != NULL;
  made->image = copied_image;
  made->dispatch.blob = copied_image;
  made->after = copied_after;
  made->after_count = order->after_count;
  made->from = order->from + (root ? 0 : first);
  made->prefix = order->prefix + (root ? 0 : first);
  if (!all)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a node of a child graph");
  for (uint32_t i = 0; !root && i < made->after_count; ++i)
    made->after[i] += first;
  return RAWHAL_OK;
}

static rawhal_status_t check(const rawhal_graph_t *graph, const rawhal_graph_t *child,
                             rawhal_error_t *error)
{
  if (!graph || !child)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", graph ? "child" : "graph");
  if (child->device != graph->device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the child is a graph of another device");
  return child->count ? RAWHAL_OK
                      : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a child without nodes");
}

rawhal_status_t rawhal_graph_add_child(rawhal_graph_t *graph, const rawhal_graph_t *child,
                                       const char *label, const rawhal_graph_node_t *after,
                                       size_t count, rawhal_graph_node_t *first,
                                       rawhal_graph_node_t *last, rawhal_error_t *error)
{
  rawhal_status_t status = check(graph, child, error);
  if (status != RAWHAL_OK)
    return status;
  const uint32_t nodes = child->count, begin = graph->count, fence = graph->fence;
  graph_node_t entry = {0}, made = {0}; /* the graph itself may be the child: it has room first */
  status = graph_make_room(graph, (size_t)nodes + 1, error);
  if (status == RAWHAL_OK)
    status = graph_take_after(graph, after, count, &entry, error);
  for (uint32_t i = 0; status == RAWHAL_OK && i < nodes; ++i) {
    status = include(graph, &child->nodes[i], &entry, begin, &made, error);
    if (status == RAWHAL_OK)
      graph_append(graph, &made);
    else
      status = graph_undo(graph, begin, fence, graph_give_up(graph, &made, status));
  }
  if (status != RAWHAL_OK)
    return graph_give_up(graph, &entry, status);
  made = (graph_node_t){.kind = RAWHAL_GRAPH_BARRIER, .from = begin, .prefix = begin + nodes};
  label_copy(made.label, rawhal_string(label));
  graph_append(graph, &made);
  if (first)
    *first = begin;
  if (last)
    *last = begin + nodes;
  return graph_give_up(graph, &entry, RAWHAL_OK);
}
