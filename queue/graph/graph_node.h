/* Nodes of graphs. Internal. */
#ifndef RAWHAL_QUEUE_GRAPH_GRAPH_NODE_H
#define RAWHAL_QUEUE_GRAPH_GRAPH_NODE_H

#include "queue/graph/graph.h"
#include "queue/label.h"

typedef struct graph_node {
  rawhal_graph_node_kind_t kind;
  /* Of a kernel node, with the flags that count here; its blob is the image, of the size that the
   * blob had. Without a kernel: zeros. */
  rawhal_dispatch_t dispatch;
  char label[RAWHAL_LABEL_BYTES];
  unsigned char *image;    /* hidden arguments that hold what queues have are zeros in it */
  bool takes_blob;         /* a blob of that size may replace the first blob_bytes of the image */
  size_t blob_bytes, kept; /* kept: bytes in which hidden arguments are the blob's */
  /* It runs after all nodes from `from` to below `prefix`, and after these. */
  uint32_t from, prefix;
  uint32_t after_count;
  rawhal_graph_node_t *after;
} graph_node_t;

/* A graph that is being made. */
struct rawhal_graph {
  const queue_device_t *device;
  graph_node_t *nodes;
  uint32_t count, capacity;
  uint32_t fence; /* the last that was added after all before it: see batches */
};

/* The launch of no queue. */
extern const rawhal_launch_t graph_no_launch;

/* The first number after those that the node is ordered after by itself. */
static inline uint32_t graph_node_latest(const graph_node_t *node)
{
  uint32_t latest = node->prefix > node->from ? node->prefix : 0;
  for (uint32_t i = 0; i < node->after_count; ++i)
    latest = node->after[i] >= latest ? node->after[i] + 1 : latest;
  return latest;
}

/* ---- graph.c: adding ---- */

/* Room for so many nodes more. */
RAWHAL_CHECKED rawhal_status_t graph_make_room(rawhal_graph_t *graph, size_t more,
                                               rawhal_error_t *error);
/* What a node comes after, as the caller says it. */
RAWHAL_CHECKED rawhal_status_t graph_take_after(const rawhal_graph_t *graph,
                                                const rawhal_graph_node_t *after, size_t count,
                                                graph_node_t *node, rawhal_error_t *error);
/* There is room, and what the node has is the graph's from then on. */
void graph_append(rawhal_graph_t *graph, const graph_node_t *node);
/* Of what has not been appended. Returns `status`. */
rawhal_status_t graph_give_up(const rawhal_graph_t *graph, const graph_node_t *node,
                              rawhal_status_t status);
/* Takes back all nodes from `first` on; `fence` is the graph's of before. Returns `status`. */
rawhal_status_t graph_undo(rawhal_graph_t *graph, uint32_t first, uint32_t fence,
                           rawhal_status_t status);

/* rawhal_graph_create() for the device of a rawhal_device_t. */
RAWHAL_CHECKED rawhal_status_t graph_create(const queue_device_t *device, rawhal_graph_t **graph,
                                            rawhal_error_t *error);

#endif
