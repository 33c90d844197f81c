/* How far a launch came. A queue stops at one packet: what that packet had waited for has finished,
 * and what waits for it has not begun. */
#include "queue/graph/exec.h"

#include "base/error.h"
#include "base/sized.h"
#include "queue/wait.h"

#include <string.h>

/* The part that has a node; of an exec without parts the whole is one. */
static exec_part_t part_at(const rawhal_graph_exec_t *exec, uint32_t which)
{
  return exec->parts ? exec->parts->each[which]
                     : (exec_part_t){.count = exec->count, .packets = exec->count};
}

static uint32_t part_count(const rawhal_graph_exec_t *exec)
{
  return exec->parts ? exec->parts->count : 1;
}

/* The launch stopped at this node, or at one of the part's, which has been asked for by name. */
static void stopped_at(const rawhal_graph_exec_t *exec, uint32_t node,
                       rawhal_graph_failure_t *failure)
{
  failure->failed = node;
  memcpy(failure->label, exec->nodes[node].node.label, sizeof(failure->label));
  failure->finished = node;
  while (failure->finished > 0 && !exec_waits(exec, failure->finished))
    --failure->finished;
  failure->begun = node + 1;
  while (failure->begun < exec->count && !exec_waits(exec, failure->begun))
    ++failure->begun;
}

/* It stopped in a part that runs no kernels, whose nodes cannot be told apart. */
static void stopped_in(const exec_part_t *part, rawhal_graph_failure_t *failure)
{
  failure->finished = part->first;
  failure->begun = part->first + part->count;
}

/* Its queue has died. */
static rawhal_graph_failure_t failure_of(const rawhal_graph_exec_t *exec,
                                         const rawhal_fault_t *fault, rawhal_ticket_t ticket)
{
  rawhal_graph_failure_t failure = {.begun = exec->count, .failed = UINT32_MAX};
  const uint32_t parts = part_count(exec);
  const uint64_t first = ticket - parts + 1;
  if (!(fault->known & RAWHAL_FAULT_KNOWS_DISPATCH))
    return failure;
  if (fault->ticket < first) {
    failure.begun = exec_waits(exec, 0) ? 0 : failure.begun;
  } else if (fault->ticket <= ticket) {
    const exec_part_t part = part_at(exec, (uint32_t)(fault->ticket - first));
    if (part.kind != EXEC_KERNELS)
      stopped_in(&part, &failure);
    else if (fault->dispatch < part.count)
      stopped_at(exec, part.first + fault->dispatch, &failure);
  }
  return failure;
}

rawhal_status_t rawhal_graph_exec_ticket(const rawhal_graph_exec_t *exec, rawhal_ticket_t ticket,
                                         rawhal_graph_node_t node, rawhal_ticket_t *node_ticket,
                                         uint32_t *dispatch, rawhal_error_t *error)
{
  if (!exec || !node_ticket || !dispatch)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !exec          ? "exec"
                       : !node_ticket ? "node_ticket"
                                      : "dispatch");
  *node_ticket = 0;
  *dispatch = 0;
  const uint32_t parts = part_count(exec);
  if (ticket < parts)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "ticket %llu is not that of a launch, which takes %u",
                       (unsigned long long)ticket, parts);
  if (node >= exec->count)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "node %u of a graph that has %u", node,
                       exec->count);
  uint32_t which = 0;
  while (node - part_at(exec, which).first >= part_at(exec, which).count)
    ++which;
  const exec_part_t part = part_at(exec, which);
  *node_ticket = ticket - parts + 1 + which;
  *dispatch = part.kind == EXEC_KERNELS ? node - part.first : 0;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_graph_failure(const rawhal_graph_exec_t *exec, rawhal_queue_t *queue,
                                     rawhal_ticket_t ticket, rawhal_graph_failure_t *result,
                                     rawhal_error_t *error)
{
  if (!exec || !queue || !result)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !exec    ? "exec"
                       : !queue ? "queue"
                                : "failure");
  const rawhal_graph_failure_t none = {.failed = UINT32_MAX};
  sized_give(result, sizeof(none), &none, sizeof(none));
  rawhal_status_t status = queue_check_ticket(queue, ticket, error);
  if (status != RAWHAL_OK)
    return status;
  if (queue_check(queue, NULL) == RAWHAL_OK)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "the queue is alive");
  int64_t target;
  if (queue_progress(queue, ticket, &target, NULL) == QUEUE_FINISHED)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "ticket %llu had finished",
                       (unsigned long long)ticket);
  const rawhal_graph_failure_t failure = failure_of(exec, &queue->fault, ticket);
  sized_give(result, sizeof(failure), &failure, sizeof(failure));
  return RAWHAL_OK;
}
