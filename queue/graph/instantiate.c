/* Making graphs that can be launched: all that a launch copies, in one place. */
#include "queue/graph/exec.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "queue/fault.h"

#include <string.h>

/* Of the graph as a whole. */
static void note_shape(rawhal_graph_exec_t *exec, const rawhal_dispatch_t *dispatch)
{
  const uint32_t bytes = dispatch->kernel->info.private_segment_size;
  const limit_shape_t one = dispatch_shape(dispatch);
  gate_whole_add(&exec->shape, &one);
  exec->lane_bytes = bytes > exec->lane_bytes ? bytes : exec->lane_bytes;
  exec->cooperative |= (dispatch->flags & RAWHAL_DISPATCH_COOPERATIVE) != 0;
}

/* A node without what is the graph's; `*block` moves on. */
static rawhal_status_t take_node(rawhal_graph_exec_t *exec, uint32_t i, const graph_node_t *node,
                                 uint64_t *block, rawhal_error_t *error)
{
  const rawhal_device_kernel_t *kernel = node->dispatch.kernel;
  exec_node_t *taken = &exec->nodes[i];
  taken->node = *node;
  taken->node.after = NULL;
  taken->node.image = NULL;
  taken->node.transfers = NULL;
  taken->node.points = NULL;
  exec->labelled |= *node->label != '\0';
  if (!kernel)
    return RAWHAL_OK;
  *block = (*block + kernel->alignment - 1) & ~(uint64_t)(kernel->alignment - 1);
  const uint64_t at = *block * KERNARG_BLOCK_BYTES;
  *block += kernel->block_count;
  if (*block * KERNARG_BLOCK_BYTES > UINT32_MAX)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "the arguments of nodes 0 to %u take more than 4 GiB", i);
  taken->image = (uint32_t)at;
  exec->alignment = kernel->alignment > exec->alignment ? kernel->alignment : exec->alignment;
  exec->kernels[i] = kernel;
  ++kernel->owner->pins;
  note_shape(exec, &node->dispatch);
  return RAWHAL_OK;
}

static rawhal_status_t take_nodes(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph,
                                  rawhal_error_t *error)
{
  uint64_t block = 0;
  exec->alignment = 1;
  for (uint32_t i = 0; i < graph->count; ++i) {
    rawhal_status_t status = take_node(exec, i, &graph->nodes[i], &block, error);
    if (status != RAWHAL_OK)
      return status;
  }
  exec->image_bytes = (size_t)block * KERNARG_BLOCK_BYTES;
  exec->blocks = (uint32_t)block + (block ? exec->alignment - 1 : 0);
  return RAWHAL_OK;
}

/* Images and bodies of packets. */
static void write_nodes(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph)
{
  memset(exec->own_images, 0, exec->image_bytes);
  for (uint32_t i = 0; i < graph->count; ++i) {
    const graph_node_t *node = &graph->nodes[i];
    exec_node_t *taken = &exec->nodes[i];
    hsa_kernel_dispatch_packet_t *packet = &exec->packets[i];
    if (!node->dispatch.kernel) {
      packet_write_barrier(packet, (hsa_signal_t){0});
      continue;
    }
    unsigned char *image = exec->own_images + taken->image;
    memcpy(image, node->image, (size_t)node->dispatch.kernel->block_count * KERNARG_BLOCK_BYTES);
    taken->node.dispatch.blob = image; /* only ever as something that is not NULL */
    packet_write_dispatch(packet, &node->dispatch, (void *)(uintptr_t)taken->image,
                          (hsa_signal_t){0});
  }
}

static uint32_t argument_count(const graph_node_t *node)
{
  const rawhal_device_kernel_t *kernel = node->dispatch.kernel;
  return kernel ? kernel->info.layout->info.visible_count + kernel->info.layout->info.hidden_count
                : 0;
}

/* What bindings may name. */
static rawhal_status_t list_arguments(rawhal_graph_exec_t *exec, rawhal_error_t *error)
{
  uint64_t all = 0;
  for (uint32_t i = 0; i < exec->count; ++i)
    all += argument_count(&exec->nodes[i].node);
  exec->own_spans = allocate_zeroed(&exec->allocator, exec->count, sizeof(*exec->own_spans));
  if (all < UINT32_MAX)
    exec->own_arguments = allocate_zeroed(&exec->allocator, all + 1, sizeof(*exec->own_arguments));
  if (!exec->own_spans || !exec->own_arguments)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %llu arguments of a graph",
                       (unsigned long long)all);
  uint32_t next = 0;
  for (uint32_t i = 0; i < exec->count; ++i) {
    const exec_node_t *node = &exec->nodes[i];
    exec->own_spans[i] = (exec_span_t){next, argument_count(&node->node)};
    for (uint32_t k = 0; k < exec->own_spans[i].count; ++k, ++next) {
      const rawhal_kernarg_argument_t *argument =
          &node->node.dispatch.kernel->info.layout->arguments[k];
      exec->own_arguments[next] =
          (exec_argument_t){node->image + argument->offset, argument->hidden ? 0 : argument->size};
    }
  }
  exec->spans = exec->own_spans;
  exec->arguments = exec->own_arguments;
  return RAWHAL_OK;
}

/* So that launches there need not. */
static rawhal_status_t make_home(rawhal_graph_exec_t *exec, const rawhal_queue_t *queue,
                                 rawhal_error_t *error)
{
  exec->hidden_count = exec_hidden_list(exec, NULL);
  exec->own_hidden = allocate_zeroed(&exec->allocator, exec->hidden_count ? exec->hidden_count : 1,
                                     sizeof(*exec->own_hidden));
  if (!exec->own_hidden)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for %u hidden arguments",
                       exec->hidden_count);
  exec->hidden = exec->own_hidden;
  (void)exec_hidden_list(exec, exec->own_hidden);
  exec->rare = exec->cooperative || exec->hidden_count;
  if (!queue)
    return RAWHAL_OK;
  rawhal_status_t status = exec_hidden_check(exec, &queue->launch, error);
  if (status != RAWHAL_OK)
    return status;
  exec->home = queue->launch_number;
  exec->launch = queue->launch;
  exec_hidden_write(exec, &queue->launch, exec->own_images);
  return RAWHAL_OK;
}

static rawhal_status_t make(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph,
                            const rawhal_graph_options_t *options, rawhal_error_t *error)
{
  const allocator_t *allocator = &exec->allocator;
  exec->nodes = allocate_zeroed(allocator, graph->count, sizeof(*exec->nodes));
  exec->kernels = allocate_zeroed(allocator, graph->count, sizeof(*exec->kernels));
  exec->packets = allocate_aligned(allocator, graph->count * sizeof(*exec->packets), PACKET_BYTES);
  if (!exec->nodes || !exec->kernels || !exec->packets)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a graph of %u nodes",
                       graph->count);
  exec->count = graph->count;
  memset(exec->packets, 0, graph->count * sizeof(*exec->packets));
  rawhal_status_t status = take_nodes(exec, graph, error);
  if (status != RAWHAL_OK)
    return status;
  exec->own_images =
      allocate_aligned(allocator, exec->image_bytes ? exec->image_bytes : 1, KERNARG_BLOCK_BYTES);
  if (!exec->own_images)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY,
                       "no memory for %zu bytes of arguments of a graph", exec->image_bytes);
  exec->images = exec->own_images;
  exec->blob_size =
      graph->count == 1 && graph->nodes->takes_blob ? graph->nodes->dispatch.blob_size : SIZE_MAX;
  write_nodes(exec, graph);
  exec_order(exec, graph, options->overlap);
  status = exec_parts_make(exec, graph, error);
  if (status == RAWHAL_OK)
    status = list_arguments(exec, error);
  return status == RAWHAL_OK ? make_home(exec, options->queue, error) : status;
}

/* The queue that launches are to cost least on. */
static rawhal_status_t check_home(const rawhal_graph_t *graph, rawhal_queue_t *queue,
                                  rawhal_error_t *error)
{
  if (!queue)
    return RAWHAL_OK;
  if (queue->device != graph->device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the graph is for another device than the queue's");
  return queue_check(queue, error);
}

rawhal_status_t rawhal_graph_instantiate(const rawhal_graph_t *graph,
                                         const rawhal_graph_options_t *options,
                                         rawhal_graph_exec_t **result, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "exec is NULL");
  *result = NULL;
  if (!graph)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "graph is NULL");
  rawhal_graph_options_t taken;
  rawhal_status_t status = SIZED_TAKE(&taken, options, overlap, error);
  if (status == RAWHAL_OK)
    status = check_home(graph, taken.queue, error);
  if (status != RAWHAL_OK)
    return status;
  if (!graph->count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "a graph without nodes");
  const allocator_t *allocator = graph->device->allocator;
  rawhal_graph_exec_t *exec = allocate_zeroed(allocator, 1, sizeof(*exec));
  if (!exec)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a graph that can be launched");
  if (allocator)
    exec->allocator = *allocator;
  exec->device = graph->device;
  exec->device->hold();
  status = make(exec, graph, &taken, error);
  if (status != RAWHAL_OK) {
    rawhal_graph_exec_destroy(exec);
    return status;
  }
  *result = exec;
  return RAWHAL_OK;
}

void rawhal_graph_exec_destroy(rawhal_graph_exec_t *exec)
{
  WITHOUT_CANCELLATION();
  if (!exec)
    return;
  for (uint32_t i = 0; i < exec->count; ++i)
    if (exec->kernels[i])
      --exec->kernels[i]->owner->pins;
  const queue_device_t *device = exec->device;
  const allocator_t allocator = exec->allocator;
  exec_parts_free(exec);
  allocate_free(&allocator, exec->own_hidden);
  allocate_free(&allocator, exec->own_spans);
  allocate_free(&allocator, exec->own_arguments);
  allocate_free(&allocator, exec->own_images);
  allocate_free(&allocator, exec->packets);
  allocate_free(&allocator, exec->kernels);
  allocate_free(&allocator, exec->nodes);
  allocate_free(&allocator, exec);
  device->unpinned();
  device->release(); /* last: it may end the runtime */
}

void rawhal_graph_exec_info(const rawhal_graph_exec_t *exec, rawhal_graph_exec_info_t *info)
{
  rawhal_graph_exec_info_t is = {0};
  if (exec)
    is = (rawhal_graph_exec_info_t){.nodes = exec->count,
                                    .packets = exec->parts ? exec->parts->packets : exec->count,
                                    .kernarg_bytes = (uint64_t)exec->blocks * KERNARG_BLOCK_BYTES,
                                    .overlapping = exec->overlapping,
                                    .tickets = exec->parts ? exec->parts->count : 1};
  if (info)
    sized_give(info, sizeof(is), &is, sizeof(is));
}
