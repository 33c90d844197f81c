/* Bindings: what a launch has instead of what its nodes were made with. Checked first, all of them,
 * as nothing can fail when a launch has its place in the queue. */
#include "queue/graph/exec.h"
#include "queue/timeline/timeline.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"

#include <string.h>

/* ---- Checking ---- */

static rawhal_status_t check_argument(const exec_node_t *node,
                                      const rawhal_graph_binding_t *binding, rawhal_error_t *error)
{
  const rawhal_kernarg_argument_t *argument;
  return argument_check(node->node.dispatch.kernel->info.layout, binding->index, binding->bytes,
                        &argument, error);
}

static rawhal_status_t check_blob(const exec_node_t *node, const rawhal_graph_binding_t *binding,
                                  rawhal_error_t *error)
{
  if (!node->node.takes_blob)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the node was made with an array of arguments, or some lie after hidden "
                       "ones");
  if (binding->bytes != node->node.dispatch.blob_size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a blob of %u bytes, the node was made with %zu", binding->bytes,
                       node->node.dispatch.blob_size);
  return RAWHAL_OK;
}

static rawhal_dispatch_t with_grid(const exec_node_t *node, const rawhal_graph_grid_t *grid)
{
  rawhal_dispatch_t dispatch = node->node.dispatch;
  memcpy(dispatch.work_items, grid->work_items, sizeof(dispatch.work_items));
  memcpy(dispatch.workgroup, grid->workgroup, sizeof(dispatch.workgroup));
  memcpy(dispatch.global_offset, grid->global_offset, sizeof(dispatch.global_offset));
  dispatch.dynamic_lds = grid->dynamic_lds;
  return dispatch;
}

/* One that has been checked. False: it is of no grid. */
static bool grid_of(const bindings_t *bindings, const rawhal_graph_binding_t *binding,
                    rawhal_graph_grid_t *grid)
{
  if (binding->kind == RAWHAL_GRAPH_GRID)
    memcpy(grid, binding->value, sizeof(*grid));
  const indirect_grids_t *indirect = bindings->indirect;
  for (uint32_t i = 0; binding->kind == RAWHAL_GRAPH_INDIRECT && i < indirect->count; ++i)
    if (indirect->of[i] == binding) {
      *grid = indirect->grids[i];
      return true;
    }
  return binding->kind == RAWHAL_GRAPH_GRID;
}

static rawhal_status_t check_grid(const exec_node_t *node, const rawhal_graph_binding_t *binding,
                                  const dispatch_place_t *place, rawhal_error_t *error)
{
  rawhal_graph_grid_t grid;
  if (binding->bytes != sizeof(grid))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a rawhal_graph_grid_t has %zu bytes, %u given", sizeof(grid),
                       binding->bytes);
  memcpy(&grid, binding->value, sizeof(grid));
  if (grid.reserved || grid.reserved2)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED, "reserved members of the grid are not 0");
  const rawhal_dispatch_t dispatch = with_grid(node, &grid);
  return dispatch_check(place, &dispatch, error);
}

/* Reads them, so many work-groups of the node's own size, and keeps what it has read. */
static rawhal_status_t take_indirect(const exec_node_t *node, const rawhal_graph_binding_t *binding,
                                     const dispatch_place_t *place, indirect_grids_t *indirect,
                                     rawhal_error_t *error)
{
  uint32_t groups[3];
  if (binding->bytes != sizeof(groups))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "three numbers of work-groups have %zu bytes, %u given", sizeof(groups),
                       binding->bytes);
  if ((uintptr_t)binding->value % _Alignof(uint32_t))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "numbers of work-groups are aligned to 4");
  if (indirect->count == RAWHAL_GRAPH_MAX_INDIRECT)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "more than %d grids from memory",
                       RAWHAL_GRAPH_MAX_INDIRECT);
  const rawhal_dispatch_t *made = &node->node.dispatch;
  rawhal_graph_grid_t grid = {.dynamic_lds = made->dynamic_lds};
  memcpy(grid.workgroup, made->workgroup, sizeof(grid.workgroup));
  memcpy(grid.global_offset, made->global_offset, sizeof(grid.global_offset));
  for (int d = 0; d < 3; ++d) {
    groups[d] = __atomic_load_n((const uint32_t *)binding->value + d, __ATOMIC_ACQUIRE);
    if (__builtin_mul_overflow(groups[d], (uint32_t)made->workgroup[d], &grid.work_items[d]))
      return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                         "%u work-groups %c, of %u work-items each, are more than 2^32 - 1",
                         groups[d], 'x' + d, made->workgroup[d]);
  }
  const rawhal_dispatch_t dispatch = with_grid(node, &grid);
  rawhal_status_t status = dispatch_check(place, &dispatch, error);
  if (status != RAWHAL_OK)
    return status;
  indirect->of[indirect->count] = binding;
  indirect->grids[indirect->count++] = grid;
  return RAWHAL_OK;
}

/* ---- Transfers and timepoints ---- */

/* A fill has its source from when it was made. */
static rawhal_status_t take_source(const queue_transfer_t *made, queue_transfer_t *is,
                                   rawhal_error_t *error)
{
  if (is->staged == TRANSFER_DIRECT)
    return RAWHAL_OK;
  if (is->staged != TRANSFER_FILLS)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "host memory that the device does not reach would be staged anew");
  if (made->staged != TRANSFER_FILLS || is->bytes != made->bytes || is->rows != made->rows ||
      is->pattern_bytes != made->pattern_bytes ||
      memcmp(is->pattern, made->pattern, is->pattern_bytes) != 0)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "a fill of another pattern or size than the node was made with");
  is->from = made->from;
  is->piece_bytes = made->piece_bytes;
  is->piece_rows = least_u64(is->piece_rows, made->piece_rows);
  return RAWHAL_OK;
}

static rawhal_status_t take_transfer(const rawhal_graph_exec_t *exec, const exec_node_t *node,
                                     const rawhal_graph_binding_t *binding, bound_parts_t *bound,
                                     rawhal_error_t *error)
{
  const queue_buffers_t *buffers = exec->device->buffers;
  struct bound_transfer *next = &bound->transfers[bound->transfer_count];
  if (binding->index >= node->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "transfer %u of a node that has %u",
                       binding->index, node->count);
  if (binding->bytes != buffers->transfer_bytes)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a rawhal_transfer_t has %zu bytes, %u given", buffers->transfer_bytes,
                       binding->bytes);
  if (bound->transfer_count == RAWHAL_GRAPH_MAX_TRANSFERS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "more than %d transfers",
                       RAWHAL_GRAPH_MAX_TRANSFERS);
  next->item = node->first + binding->index;
  rawhal_status_t status =
      buffers->transfer(exec->device, binding->value, &next->is, next->buffers.of, error);
  if (status == RAWHAL_OK && !next->is.bytes)
    status = rawhal_fail(error, RAWHAL_UNSUPPORTED, "a transfer of 0 bytes");
  if (status == RAWHAL_OK)
    status = take_source(&exec->parts->transfers->of->each[next->item], &next->is, error);
  bound->transfer_count += status == RAWHAL_OK;
  return status;
}

static rawhal_status_t take_point(const rawhal_graph_exec_t *exec, const exec_node_t *node,
                                  const rawhal_graph_binding_t *binding, bound_parts_t *bound,
                                  rawhal_error_t *error)
{
  const timeline_part_t *has = &exec->parts->timeline[node->count];
  struct bound_point *next = &bound->points[bound->point_count];
  if (binding->index >= has->waits + has->signals)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "timepoint %u of a node that has %u",
                       binding->index, has->waits + has->signals);
  if (binding->bytes != sizeof(next->is))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a rawhal_timepoint_t has %zu bytes, %u given", sizeof(next->is),
                       binding->bytes);
  if (bound->point_count == 2 * RAWHAL_MAX_TIMEPOINTS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "more than %d timepoints",
                       2 * RAWHAL_MAX_TIMEPOINTS);
  memcpy(&next->is, binding->value, sizeof(next->is));
  next->item = binding->index < has->waits
                   ? node->first + binding->index
                   : exec->parts->points->waits + node->first_signal + binding->index - has->waits;
  rawhal_status_t status = timeline_check_points(&next->is, 1, "timepoint", error);
  bound->point_count += status == RAWHAL_OK;
  return status;
}

/* ---- Whatever it is ---- */

/* Which nodes have what a binding replaces. */
static rawhal_status_t check_kind(const exec_node_t *node, const rawhal_graph_binding_t *binding,
                                  rawhal_error_t *error)
{
  static const struct {
    rawhal_graph_node_kind_t of;
    const char *lacks;
  } kinds[] = {
      [RAWHAL_GRAPH_ARGUMENT] = {RAWHAL_GRAPH_KERNEL, "runs no kernel"},
      [RAWHAL_GRAPH_BLOB] = {RAWHAL_GRAPH_KERNEL, "runs no kernel"},
      [RAWHAL_GRAPH_GRID] = {RAWHAL_GRAPH_KERNEL, "runs no kernel"},
      [RAWHAL_GRAPH_INDIRECT] = {RAWHAL_GRAPH_KERNEL, "runs no kernel"},
      [RAWHAL_GRAPH_TRANSFER] = {RAWHAL_GRAPH_TRANSFERS, "has no transfers"},
      [RAWHAL_GRAPH_TIMEPOINT] = {RAWHAL_GRAPH_TIMELINE, "has no timepoints"},
  };
  if (binding->kind == 0 || binding->kind >= sizeof(kinds) / sizeof(*kinds))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%u is no kind of binding", binding->kind);
  if (node->node.kind != kinds[binding->kind].of)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "node %u %s", binding->node,
                       kinds[binding->kind].lacks);
  return RAWHAL_OK;
}

static rawhal_status_t check_one(const rawhal_graph_exec_t *exec,
                                 const rawhal_graph_binding_t *binding,
                                 const dispatch_place_t *place, bindings_t *all,
                                 rawhal_error_t *error)
{
  if (binding->node >= exec->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "node %u of a graph that has %u", binding->node,
                       exec->count);
  const exec_node_t *node = &exec->nodes[binding->node];
  rawhal_status_t status = check_kind(node, binding, error);
  if (status != RAWHAL_OK)
    return status;
  if (!binding->value && binding->bytes)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value is NULL");
  switch (binding->kind) {
  case RAWHAL_GRAPH_ARGUMENT:
    return check_argument(node, binding, error);
  case RAWHAL_GRAPH_BLOB:
    return check_blob(node, binding, error);
  case RAWHAL_GRAPH_GRID:
    all->grids = true;
    return check_grid(node, binding, place, error);
  case RAWHAL_GRAPH_INDIRECT:
    all->grids = true;
    return take_indirect(node, binding, place, all->indirect, error);
  case RAWHAL_GRAPH_TRANSFER:
    return take_transfer(exec, node, binding, all->bound, error);
  default:
    return take_point(exec, node, binding, all->bound, error);
  }
}

/* With the words for what is wrong. */
__attribute__((noinline)) static rawhal_status_t check_closely(const rawhal_graph_exec_t *exec,
                                                               bindings_t *bindings, size_t i,
                                                               const dispatch_place_t *place,
                                                               rawhal_error_t *error)
{
  const rawhal_graph_binding_t *binding = bindings_at(bindings, i);
  rawhal_status_t status = check_one(exec, binding, place, bindings, error);
  const char *label = binding->node < exec->count ? exec->nodes[binding->node].node.label : "";
  return rawhal_fail_of(error, status,
                        *label ? "binding %zu, node %u '%s'" : "binding %zu, node %u", i,
                        binding->node, label);
}

static inline const rawhal_graph_binding_t *next_binding(const rawhal_graph_binding_t *binding,
                                                         size_t stride)
{
  return (const void *)((const char *)binding + stride);
}

/* Nearly all are arguments, and right: so many of the first. Counted instructions are why tables
 * are at hand here, and again in write_arguments(). */
static size_t right_arguments(const rawhal_graph_exec_t *exec, const bindings_t *bindings)
{
  const uint32_t nodes = exec->count;
  const exec_span_t *const spans = exec->spans;
  const exec_argument_t *const arguments = exec->arguments;
  const size_t stride = bindings->stride;
  const rawhal_graph_binding_t *binding = bindings->first;
  size_t left = bindings->count;
  for (; left; --left, binding = next_binding(binding, stride)) {
    const uint32_t node = binding->node, index = binding->index;
    if (binding->kind != RAWHAL_GRAPH_ARGUMENT || node >= nodes || index >= spans[node].count)
      break;
    const uint32_t size = arguments[spans[node].first + index].size;
    if (size != binding->bytes || !binding->value)
      break;
  }
  return bindings->count - left;
}

rawhal_status_t bindings_check(const rawhal_graph_exec_t *exec, bindings_t *bindings,
                               const dispatch_place_t *place, rawhal_error_t *error)
{
  bindings->arguments = right_arguments(exec, bindings);
  for (size_t i = bindings->arguments; i < bindings->count; ++i) {
    rawhal_status_t status = check_closely(exec, bindings, i, place, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

/* ---- Writing ---- */

/* Whatever the caller has changed since the check, nothing but arguments is written. */
static void write_arguments(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                            unsigned char *images)
{
  const uint32_t nodes = exec->count;
  const exec_span_t *const spans = exec->spans;
  const exec_argument_t *const arguments = exec->arguments;
  const size_t stride = bindings->stride;
  const rawhal_graph_binding_t *binding = bindings->first;
  for (size_t left = bindings->arguments; left; --left, binding = next_binding(binding, stride)) {
    const uint32_t node = binding->node, index = binding->index;
    if (node >= nodes || index >= spans[node].count)
      continue;
    const exec_argument_t *argument = &arguments[spans[node].first + index];
    if (__builtin_expect(argument->size == 8, 1))
      memcpy(images + argument->at, binding->value, 8);
    else if (argument->size == 4)
      memcpy(images + argument->at, binding->value, 4);
    else
      memcpy(images + argument->at, binding->value, argument->size);
  }
}

/* The hidden arguments of another grid. */
static void write_grid(const exec_node_t *node, const rawhal_graph_grid_t *grid,
                       const rawhal_launch_t *common, unsigned char *images)
{
  const hidden_plan_t *plan = &node->node.dispatch.kernel->info.layout->hidden;
  hidden_values_t values;
  const rawhal_dispatch_t dispatch = with_grid(node, grid);
  const rawhal_launch_t launch = launch_of(common, &dispatch);
  if (plan->field_count && hidden_values_compute(plan, &launch, &values, NULL) == RAWHAL_OK)
    hidden_write(plan, &values, node->node.kept, false, images + node->image);
}

/* One that was looked at closely. */
static void write_other(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                        const rawhal_graph_binding_t *binding, const rawhal_launch_t *common,
                        unsigned char *images)
{
  rawhal_graph_grid_t grid;
  const exec_node_t *node = &exec->nodes[binding->node];
  if (!node->node.dispatch.kernel)
    return;
  if (binding->kind == RAWHAL_GRAPH_BLOB && node->node.takes_blob && node->node.blob_bytes)
    memcpy(images + node->image, binding->value, node->node.blob_bytes);
  else if (grid_of(bindings, binding, &grid))
    write_grid(node, &grid, common, images);
  else if (binding->kind == RAWHAL_GRAPH_ARGUMENT)
    write_arguments(exec, &(bindings_t){.first = binding, .arguments = 1}, images);
}

void bindings_to_images(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                        const rawhal_launch_t *common, unsigned char *images)
{
  write_arguments(exec, bindings, images);
  for (size_t i = bindings->arguments; i < bindings->count; ++i)
    if (bindings_at(bindings, i)->node < exec->count)
      write_other(exec, bindings, bindings_at(bindings, i), common, images);
}

void binding_to_packet(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                       const rawhal_graph_binding_t *binding, hsa_kernel_dispatch_packet_t *packet)
{
  rawhal_graph_grid_t grid;
  if (!exec->kernels[binding->node] || !grid_of(bindings, binding, &grid))
    return;
  const rawhal_dispatch_t dispatch = with_grid(&exec->nodes[binding->node], &grid);
  packet_write_dispatch(packet, &dispatch, packet->kernarg_address, packet->completion_signal);
}

/* ---- Limits ---- */

rawhal_dispatch_t bindings_dispatch(const exec_node_t *node, const bindings_t *bindings,
                                    rawhal_graph_node_t number)
{
  rawhal_graph_grid_t grid;
  for (size_t i = bindings->count; i-- > 0;) {
    const rawhal_graph_binding_t *binding = bindings_at(bindings, i);
    if (binding->node == number && grid_of(bindings, binding, &grid))
      return with_grid(node, &grid);
  }
  return node->node.dispatch;
}

limit_shape_t bindings_shape(const rawhal_graph_exec_t *exec, const bindings_t *bindings)
{
  limit_shape_t whole = {0};
  for (uint32_t i = 0; i < exec->count; ++i) {
    if (!exec->kernels[i])
      continue;
    const rawhal_dispatch_t dispatch = bindings_dispatch(&exec->nodes[i], bindings, i);
    const limit_shape_t one = dispatch_shape(&dispatch);
    gate_whole_add(&whole, &one);
  }
  if (exec->parts)
    exec_transfers_shape(exec, &whole);
  return whole;
}

/* ---- For launches that come ---- */

rawhal_status_t bindings_take(const rawhal_graph_binding_t *first, size_t size, size_t count,
                              indirect_grids_t *indirect, bound_parts_t *bound,
                              bindings_t *bindings, rawhal_error_t *error)
{
  *bindings = (bindings_t){
      .first = first, .stride = size, .count = count, .indirect = indirect, .bound = bound};
  indirect->count = bound->transfer_count = bound->point_count = 0;
  if (!first && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bindings is NULL");
  return __builtin_expect(size == sizeof(*first), 1)
             ? RAWHAL_OK
             : sized_array(first, size, count, sizeof(*first), "rawhal_graph_binding_t", error);
}

/* Of the exec from now on. Nothing of a launch's that is in flight is changed: it has its own. */
static void bind_parts(rawhal_graph_exec_t *exec, const bound_parts_t *bound)
{
  const queue_device_t *device = exec->device;
  for (uint32_t i = 0; i < bound->transfer_count; ++i) {
    const struct bound_transfer *each = &bound->transfers[i];
    graph_buffers_t *buffers = &exec->parts->transfers->of->buffers[each->item], old = *buffers;
    graph_buffers_keep(device, &each->buffers);
    *buffers = each->buffers;
    graph_buffers_let(device, &old);
    exec->parts->transfers->of->each[each->item] = each->is;
  }
  for (uint32_t i = 0; i < bound->point_count; ++i) {
    rawhal_timepoint_t *point = &exec->parts->points->each[bound->points[i].item], old = *point;
    semaphore_keep(bound->points[i].is.semaphore);
    *point = bound->points[i].is;
    semaphore_let(old.semaphore);
  }
}

rawhal_status_t rawhal_graph_exec_bind_sized(rawhal_graph_exec_t *exec,
                                             const rawhal_graph_binding_t *bindings,
                                             size_t binding_size, size_t count,
                                             rawhal_error_t *error)
{
  if (!exec)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "exec is NULL");
  const dispatch_place_t place = {exec->device, &exec->launch, UINT32_MAX};
  bindings_t all;
  indirect_grids_t indirect;
  bound_parts_t bound;
  rawhal_status_t status =
      bindings_take(bindings, binding_size, count, &indirect, &bound, &all, error);
  if (status == RAWHAL_OK)
    status = bindings_check(exec, &all, &place, error);
  if (status != RAWHAL_OK)
    return status;
  bindings_to_images(exec, &all, &exec->launch, exec->own_images);
  for (size_t i = 0; all.grids && i < count; ++i) {
    const rawhal_graph_binding_t *binding = bindings_at(&all, i);
    binding_to_packet(exec, &all, binding, &exec->packets[binding->node]);
    exec->nodes[binding->node].node.dispatch =
        bindings_dispatch(&exec->nodes[binding->node], &all, binding->node);
  }
  if (exec->parts)
    bind_parts(exec, &bound);
  if (all.grids || (exec->parts && bound.transfer_count))
    exec->shape = bindings_shape(exec, &(bindings_t){0});
  return RAWHAL_OK;
}
