/* How far a launch came. A queue stops at one packet: what that packet had waited for has finished,
 * and what waits for it has not begun. */
#include "queue/graph/exec.h"

#include "base/error.h"
#include "base/sized.h"
#include "queue/wait.h"

#include <string.h>

static bool waits(const rawhal_graph_exec_t *exec, uint32_t node)
{
  return exec->packets[node].header >> HSA_PACKET_HEADER_BARRIER & 1;
}

/* The launch stopped at this node. */
static void stopped_at(const rawhal_graph_exec_t *exec, uint32_t node,
                       rawhal_graph_failure_t *failure)
{
  failure->failed = node;
  memcpy(failure->label, exec->nodes[node].node.label, sizeof(failure->label));
  failure->finished = node;
  while (failure->finished > 0 && !waits(exec, failure->finished))
    --failure->finished;
  failure->begun = node + 1;
  while (failure->begun < exec->count && !waits(exec, failure->begun))
    ++failure->begun;
}

/* Its queue has died. */
static rawhal_graph_failure_t failure_of(const rawhal_graph_exec_t *exec,
                                         const rawhal_fault_t *fault, rawhal_ticket_t ticket)
{
  rawhal_graph_failure_t failure = {.begun = exec->count, .failed = UINT32_MAX};
  if (!(fault->known & RAWHAL_FAULT_KNOWS_DISPATCH))
    return failure;
  if (fault->ticket == ticket && fault->dispatch < exec->count)
    stopped_at(exec, fault->dispatch, &failure);
  else if (fault->ticket < ticket && waits(exec, 0))
    failure.begun = 0;
  return failure;
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
