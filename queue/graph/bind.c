/* Bindings: what a launch has instead of what its nodes were made with. Checked first, all of them,
 * as nothing can fail when a launch has its place in the queue. */
#include "queue/graph/exec.h"

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

static rawhal_status_t check_one(const rawhal_graph_exec_t *exec,
                                 const rawhal_graph_binding_t *binding,
                                 const dispatch_place_t *place, bindings_t *all,
                                 rawhal_error_t *error)
{
  if (binding->node >= exec->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "node %u of a graph that has %u", binding->node,
                       exec->count);
  const exec_node_t *node = &exec->nodes[binding->node];
  if (!exec->kernels[binding->node])
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "node %u runs no kernel", binding->node);
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
  default:
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%u is no kind of binding", binding->kind);
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
  return whole;
}

/* ---- For launches that come ---- */

rawhal_status_t bindings_take(const rawhal_graph_binding_t *first, size_t size, size_t count,
                              indirect_grids_t *indirect, bindings_t *bindings,
                              rawhal_error_t *error)
{
  *bindings = (bindings_t){.first = first, .stride = size, .count = count, .indirect = indirect};
  indirect->count = 0;
  if (!first && count)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bindings is NULL");
  return __builtin_expect(size == sizeof(*first), 1)
             ? RAWHAL_OK
             : sized_array(first, size, count, sizeof(*first), "rawhal_graph_binding_t", error);
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
  rawhal_status_t status = bindings_take(bindings, binding_size, count, &indirect, &all, error);
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
  if (all.grids)
    exec->shape = bindings_shape(exec, &(bindings_t){0});
  return RAWHAL_OK;
}
