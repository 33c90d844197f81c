/* Hidden arguments that hold what a queue has, and not what a dispatch is: its own address, its
 * program's services, the device's apertures. */
#include "queue/graph/exec.h"

#include "base/error.h"

#include <string.h>

static bool is_of_queue(const hidden_copy_t *field)
{
  return field->copied && field->source >= offsetof(hidden_values_t, printf_buffer) &&
         field->source != offsetof(hidden_values_t, dynamic_lds);
}

/* Whether they can be copied together. */
static bool continues(const exec_hidden_t *last, const exec_hidden_t *next)
{
  return next->at == last->at + last->copied && next->source == last->source + last->copied &&
         last->copied == last->natural && next->copied == next->natural;
}

/* Of one node: from `count` on. */
static uint32_t list_node(const exec_node_t *node, exec_hidden_t *list, uint32_t count)
{
  const hidden_plan_t *plan = &node->node.dispatch.kernel->info.layout->hidden;
  exec_hidden_t last = {0};
  for (uint32_t i = 0; i < plan->field_count; ++i) {
    const hidden_copy_t *field = &plan->fields[i];
    if (!is_of_queue(field) || (uint64_t)field->offset + field->size <= node->node.kept)
      continue;
    exec_hidden_t next = {node->image + field->offset, field->source, (uint16_t)field->copied,
                          field->natural};
    if (last.copied && continues(&last, &next)) {
      last.copied = last.natural = (uint16_t)(last.copied + next.copied);
      --count;
    } else {
      last = next;
    }
    if (list)
      list[count] = last;
    ++count;
  }
  return count;
}

uint32_t exec_hidden_list(const rawhal_graph_exec_t *exec, exec_hidden_t *list)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < exec->count; ++i)
    if (exec->nodes[i].node.dispatch.kernel)
      count = list_node(&exec->nodes[i], list, count);
  return count;
}

static void values_of(const rawhal_launch_t *launch, hidden_values_t *values)
{
  values->printf_buffer = launch->printf_buffer;
  values->hostcall_buffer = launch->hostcall_buffer;
  values->multigrid_sync = launch->multigrid_sync;
  values->heap = launch->heap;
  values->default_queue = launch->default_queue;
  values->completion_action = launch->completion_action;
  values->private_base = launch->private_base_hi;
  values->shared_base = launch->shared_base_hi;
  values->queue_ptr = launch->queue_ptr;
}

rawhal_status_t exec_hidden_check(const rawhal_graph_exec_t *exec, const rawhal_launch_t *launch,
                                  rawhal_error_t *error)
{
  hidden_values_t values;
  values_of(launch, &values);
  for (uint32_t i = 0; i < exec->hidden_count; ++i) {
    const exec_hidden_t *each = &exec->hidden[i];
    for (uint32_t k = each->copied; k < each->natural; ++k)
      if (((const unsigned char *)&values)[each->source + k])
        return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                           "a hidden argument has %u bytes, too few for what the queue has",
                           each->copied);
  }
  return RAWHAL_OK;
}

void exec_hidden_write(const rawhal_graph_exec_t *exec, const rawhal_launch_t *launch,
                       unsigned char *images)
{
  hidden_values_t values;
  values_of(launch, &values);
  for (uint32_t i = 0; i < exec->hidden_count; ++i) {
    const exec_hidden_t *each = &exec->hidden[i];
    memcpy(images + each->at, (const unsigned char *)&values + each->source, each->copied);
  }
}
