/* Command buffers upon graphs. Dispatches become nodes, each after the last barrier's; a barrier
 * is a node after all others. A transfer ends a graph, and is submitted in queue order behind its
 * launch. What is in a slot of a binding table is bound when a graph is launched. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 64, MOST_PATCHES = 256 };

/* A graph, or a transfer between two. */
typedef struct item {
  enum { GRAPH, COPY, FILL, UPDATE } kind;
  rawhal_graph_exec_t *exec;
  size_t first, count; /* of its patches */
  drv_buffer_ref_t to, from;
  uint32_t pattern;
  void *data; /* its own */
} item_t;

/* What a launch binds: the address of a slot's buffer to an argument, or the grid in a buffer. */
typedef struct patch {
  drv_buffer_ref_t ref;
  uint64_t address;
  rawhal_graph_grid_t grid;
} patch_t;

struct drv_command_buffer {
  drv_mode_t mode;
  rawhal_device_t *device;
  rawhal_graph_t *graph; /* that is being made; NULL: none */
  rawhal_graph_node_t barrier;
  size_t after; /* 1: the last barrier's node */
  size_t items_made, patches_made, first_patch;
  item_t items[MOST_ITEMS];
  patch_t patches[MOST_PATCHES];
  rawhal_graph_binding_t bindings[MOST_PATCHES]; /* one for each */
};

drv_command_buffer_t *drv_command_buffer_begin(drv_device_t *device, drv_mode_t mode)
{
  drv_command_buffer_t *commands = drv_allocate(1, sizeof(*commands));
  commands->mode = mode;
  commands->device = device->device;
  return commands;
}

/* A transfer comes behind the graph that is being made. */
static void add_item(drv_command_buffer_t *commands, const item_t *item)
{
  if (item->kind != GRAPH)
    drv_command_buffer_end(commands);
  if (commands->items_made == MOST_ITEMS)
    drv_die("too many commands");
  commands->items[commands->items_made++] = *item;
}

/* Of the graph, if one is being made. */
void drv_command_buffer_end(drv_command_buffer_t *commands)
{
  item_t item = {.first = commands->first_patch,
                 .count = commands->patches_made - commands->first_patch};
  if (!commands->graph)
    return;
  DRV_CHECK(rawhal_graph_instantiate(commands->graph, NULL, &item.exec, &drv_error));
  rawhal_graph_destroy(commands->graph);
  commands->graph = NULL;
  commands->after = 0;
  commands->first_patch = commands->patches_made;
  add_item(commands, &item);
}

void drv_barrier(drv_command_buffer_t *commands)
{
  if (commands->graph) { /* transfers are ordered */
    DRV_CHECK(rawhal_graph_add_barrier(commands->graph, NULL, NULL, RAWHAL_GRAPH_ALL,
                                       &commands->barrier, &drv_error));
    commands->after = 1;
  }
}

static patch_t *add_patch(drv_command_buffer_t *commands, const drv_buffer_ref_t *ref,
                          uint32_t kind, rawhal_graph_node_t node, uint32_t index)
{
  if (commands->patches_made == MOST_PATCHES)
    drv_die("too many uses of slots");
  patch_t *patch = &commands->patches[commands->patches_made];
  const bool grid = kind == RAWHAL_GRAPH_GRID;
  patch->ref = *ref;
  commands->bindings[commands->patches_made++] = (rawhal_graph_binding_t){
      kind, node, index, grid ? sizeof(patch->grid) : sizeof(patch->address),
      grid ? (const void *)&patch->grid : &patch->address};
  return patch;
}

void drv_dispatch(drv_command_buffer_t *commands, const drv_work_t *work)
{
  unsigned char blob[DRV_MOST_BYTES];
  rawhal_graph_node_t node;
  rawhal_dispatch_t dispatch = work->executable->dispatch;
  if (!commands->graph)
    DRV_CHECK(rawhal_graph_create(commands->device, &commands->graph, &drv_error));
  dispatch.blob_size = drv_pack(work, blob);
  dispatch.blob = blob;
  for (int d = 0; d < 3; ++d)
    dispatch.work_items[d] = (work->groups_in ? 1 : work->groups[d]) * dispatch.workgroup[d];
  DRV_CHECK(rawhal_graph_add_kernel(commands->graph, &dispatch, &commands->barrier, commands->after,
                                    &node, &drv_error));
  for (size_t i = 0; i < work->buffer_count; ++i)
    if (!work->buffers[i].buffer)
      add_patch(commands, &work->buffers[i], RAWHAL_GRAPH_ARGUMENT, node,
                rawhal_bindings_binding(work->executable->layout, i)->argument);
  if (work->groups_in)
    add_patch(commands, work->groups_in, RAWHAL_GRAPH_GRID, node, 0)->grid = (rawhal_graph_grid_t){
        .workgroup = {dispatch.workgroup[0], dispatch.workgroup[1], dispatch.workgroup[2]},
        .dynamic_lds = dispatch.dynamic_lds};
}

/* ---- Transfers ---- */

void drv_copy(drv_command_buffer_t *commands, const drv_buffer_ref_t *to,
              const drv_buffer_ref_t *from)
{
  add_item(commands, &(item_t){.kind = COPY, .to = *to, .from = *from});
}

void drv_fill(drv_command_buffer_t *commands, const drv_buffer_ref_t *to, uint32_t pattern)
{
  add_item(commands, &(item_t){.kind = FILL, .to = *to, .pattern = pattern});
}

void drv_update(drv_command_buffer_t *commands, const drv_buffer_ref_t *to, const void *data)
{
  item_t item = {.kind = UPDATE, .to = *to, .data = drv_allocate(1, to->bytes)};
  memcpy(item.data, data, to->bytes);
  add_item(commands, &item);
}

/* ---- Executing ---- */

static void launch(rawhal_queue_t *queue, drv_command_buffer_t *commands, size_t number,
                   drv_table_t table)
{
  const item_t *item = &commands->items[number];
  for (size_t i = item->first; i < item->first + item->count; ++i) {
    patch_t *patch = &commands->patches[i];
    const rawhal_pool_allocation_t *memory = drv_memory(&patch->ref, table);
    patch->address = memory->address + patch->ref.offset;
    if (commands->bindings[i].kind != RAWHAL_GRAPH_GRID)
      continue;
    const uint32_t *groups = (const void *)((const char *)memory->host + patch->ref.offset);
    for (int d = 0; d < 3; ++d)
      patch->grid.work_items[d] = groups[d] * patch->grid.workgroup[d];
  }
  DRV_CHECK(rawhal_graph_launch(queue, item->exec, commands->bindings + item->first, item->count,
                                RAWHAL_FOREVER, NULL, &drv_error));
}

static void transfer(rawhal_queue_t *queue, drv_command_buffer_t *commands, size_t number,
                     drv_table_t table)
{
  const item_t *item = &commands->items[number];
  const rawhal_pool_allocation_t *to = drv_memory(&item->to, table);
  const uint64_t to_offset = to->offset + item->to.offset;
  if (item->kind == FILL)
    DRV_CHECK(rawhal_queue_fill(queue, to->buffer, to_offset, item->pattern, item->to.bytes,
                                RAWHAL_FOREVER, NULL, &drv_error));
  if (item->kind == UPDATE)
    DRV_CHECK(rawhal_queue_write(queue, to->buffer, to_offset, item->data, item->to.bytes,
                                 RAWHAL_FOREVER, NULL, &drv_error));
  if (item->kind == COPY) {
    const rawhal_pool_allocation_t *from = drv_memory(&item->from, table);
    const rawhal_copy_t copy = {.to = to->buffer,
                                .to_offset = to_offset,
                                .from = from->buffer,
                                .from_offset = from->offset + item->from.offset,
                                .bytes = item->to.bytes};
    DRV_CHECK(rawhal_queue_copy(queue, &copy, RAWHAL_FOREVER, NULL, &drv_error));
  }
}

void drv_command_buffer_launch(rawhal_queue_t *queue, drv_command_buffer_t *commands,
                               drv_table_t table)
{
  for (size_t i = 0; i < commands->items_made; ++i)
    (commands->items[i].kind == GRAPH ? launch : transfer)(queue, commands, i, table);
  if (commands->mode == DRV_ONE_SHOT)
    drv_command_buffer_destroy(commands); /* what was launched goes on */
}

void drv_command_buffer_destroy(drv_command_buffer_t *commands)
{
  for (size_t i = 0; commands && i < commands->items_made; ++i) {
    rawhal_graph_exec_destroy(commands->items[i].exec);
    free(commands->items[i].data);
  }
  rawhal_graph_destroy(commands ? commands->graph : NULL);
  free(commands);
}
