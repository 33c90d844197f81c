/* Queues whose submissions become nodes of a graph. Internal. */
#ifndef RAWHAL_QUEUE_GRAPH_CAPTURE_H
#define RAWHAL_QUEUE_GRAPH_CAPTURE_H

#include "queue/graph/graph.h"
#include "queue/internal.h"

/* The graph; NULL: they are submitted. */
static inline rawhal_graph_t *queue_captured(const rawhal_queue_t *queue)
{
  return atomic_load_explicit(&queue->captured, memory_order_acquire);
}

/* Of what no graph has: UNSUPPORTED. */
RAWHAL_CHECKED rawhal_status_t capture_refuse(const char *what, rawhal_error_t *error);

#endif
