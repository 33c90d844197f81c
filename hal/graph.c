/* Graphs of a device's. */
#include "hal/internal.h"
#include "hal/runtime.h"
#include "queue/graph/graph_node.h"

#include "base/cancel.h"
#include "base/error.h"

rawhal_status_t rawhal_graph_create(rawhal_device_t *device, rawhal_graph_t **graph,
                                    rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!graph)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "graph is NULL");
  *graph = NULL;
  if (!device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "device is NULL");
  rawhal_status_t status = runtime_check(error);
  return status == RAWHAL_OK ? graph_create(&device->queue, graph, error) : status;
}
