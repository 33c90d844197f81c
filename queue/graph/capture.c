#include "queue/graph/capture.h"
#include "queue/fault.h"
#include "queue/graph/graph_node.h"

#include "base/error.h"

rawhal_status_t capture_refuse(const char *what, rawhal_error_t *error)
{
  return rawhal_fail(error, RAWHAL_UNSUPPORTED, "the queue is being captured: a graph has no %s",
                     what);
}

rawhal_status_t rawhal_queue_capture_begin(rawhal_queue_t *queue, rawhal_graph_t *graph,
                                           rawhal_error_t *error)
{
  if (!queue || !graph)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", queue ? "graph" : "queue");
  rawhal_status_t status = queue_check(queue, error);
  if (status != RAWHAL_OK)
    return status;
  if (graph->device != queue->device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the graph is for another device than the queue's");
  rawhal_graph_t *none = NULL;
  return atomic_compare_exchange_strong(&queue->captured, &none, graph)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "the queue is being captured already");
}

rawhal_status_t rawhal_queue_capture_end(rawhal_queue_t *queue, rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  return atomic_exchange(&queue->captured, NULL)
             ? RAWHAL_OK
             : rawhal_fail(error, RAWHAL_NOT_FOUND, "the queue is not being captured");
}
