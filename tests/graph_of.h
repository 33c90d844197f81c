// A graph of one batch, which can be launched.
#ifndef RAWHAL_TESTS_GRAPH_OF_H
#define RAWHAL_TESTS_GRAPH_OF_H

#include <rawhal/rawhal.h>

// `size`: of a dispatch, as the caller's header has it.
inline rawhal_status_t graph_of_sized(rawhal_device_t *device, rawhal_queue_t *home,
                                      const rawhal_dispatch_t *dispatches, size_t size,
                                      size_t count, rawhal_graph_exec_t **exec,
                                      rawhal_error_t *error)
{
  rawhal_graph_t *graph = nullptr;
  rawhal_graph_options_t options = {};
  options.size = sizeof(options);
  options.queue = home;
  *exec = nullptr;
  rawhal_status_t status = rawhal_graph_create(device, &graph, error);
  if (status == RAWHAL_OK)
    status = rawhal_graph_add_batch_sized(graph, dispatches, size, count, nullptr, error);
  if (status == RAWHAL_OK)
    status = rawhal_graph_instantiate(graph, &options, exec, error);
  rawhal_graph_destroy(graph);
  return status;
}

inline rawhal_status_t graph_of(rawhal_device_t *device, rawhal_queue_t *home,
                                const rawhal_dispatch_t *dispatches, size_t count,
                                rawhal_graph_exec_t **exec, rawhal_error_t *error)
{
  return graph_of_sized(device, home, dispatches, sizeof(*dispatches), count, exec, error);
}

#endif
