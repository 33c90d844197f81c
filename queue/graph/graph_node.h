/* Nodes of graphs. Internal. */
#ifndef RAWHAL_QUEUE_GRAPH_GRAPH_NODE_H
#define RAWHAL_QUEUE_GRAPH_GRAPH_NODE_H

#include "queue/graph/graph.h"
#include "queue/label.h"
#include "queue/timeline/semaphore.h"
#include "queue/transfer.h"

/* Whose bytes a transfer moves, to and from; NULL: no buffer's. They are kept while a node names
 * them. */
typedef struct graph_buffers {
  void *of[2];
} graph_buffers_t;

/* Transfers of a node, or of all nodes together: one allocation, added to until it is full. */
typedef struct graph_transfers {
  uint32_t count;
  queue_transfer_t *each;
  graph_buffers_t *buffers;
  unsigned char *bytes; /* for what is written, from here on; NULL: it stays the caller's */
} graph_transfers_t;

/* Timepoints of a node, those waited for first. Their semaphores are kept. */
typedef struct graph_points {
  uint32_t waits, signals;
  rawhal_timepoint_t each[];
} graph_points_t;

typedef struct graph_node {
  rawhal_graph_node_kind_t kind;
  /* Of a kernel node, with the flags that count here; its blob is the image, of the size that the
   * blob had. Without a kernel: zeros. */
  rawhal_dispatch_t dispatch;
  char label[RAWHAL_LABEL_BYTES];
  unsigned char *image;    /* hidden arguments that hold what queues have are zeros in it */
  bool takes_blob;         /* a blob of that size may replace the first blob_bytes of the image */
  size_t blob_bytes, kept; /* kept: bytes in which hidden arguments are the blob's */
  graph_transfers_t *transfers; /* of transfer nodes */
  graph_points_t *points;       /* of timeline nodes */
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
  /* What was added after all before it, last: if it is a kernel its number, as what comes after the
   * same may run beside it, else the next one. See batches. */
  uint32_t fence;
};

/* The launch of no queue. */
extern const rawhal_launch_t graph_no_launch;

/* Of these each comes after all before it, and all behind it come after it. */
static inline bool graph_node_is_part(const graph_node_t *node)
{
  return node->kind == RAWHAL_GRAPH_TRANSFERS || node->kind == RAWHAL_GRAPH_TIMELINE;
}

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

/* ---- named.c: what nodes name ---- */

/* NULL: no memory. `bytes` of what is written are copied; 0: none are. */
graph_transfers_t *graph_transfers_make(const queue_device_t *device, uint64_t count,
                                        uint64_t bytes);
void graph_transfers_add(const queue_device_t *device, graph_transfers_t *to,
                         const queue_transfer_t *transfer, const graph_buffers_t *buffers);
graph_transfers_t *graph_transfers_copy(const queue_device_t *device,
                                        const graph_transfers_t *from);
void graph_transfers_free(const queue_device_t *device, graph_transfers_t *transfers);
void graph_buffers_keep(const queue_device_t *device, const graph_buffers_t *buffers);
void graph_buffers_let(const queue_device_t *device, const graph_buffers_t *buffers);

/* NULL: no memory. */
graph_points_t *graph_points_make(const queue_device_t *device, const rawhal_timepoint_t *waits,
                                  uint32_t wait_count, const rawhal_timepoint_t *signals,
                                  uint32_t signal_count);
graph_points_t *graph_points_copy(const queue_device_t *device, const graph_points_t *from);
void graph_points_free(const queue_device_t *device, graph_points_t *points);

/* Adds a node that has copies of these, at least one, of which none is read: for hal/, which knows
 * buffers. */
RAWHAL_CHECKED rawhal_status_t graph_add_transfers(rawhal_graph_t *graph,
                                                   const graph_transfers_t *transfers,
                                                   const char *label,
                                                   const rawhal_graph_node_t *after, size_t count,
                                                   rawhal_graph_node_t *node,
                                                   rawhal_error_t *error);
/* Frees what launches had of graphs that are gone; without locks. */
void graphs_reap(void);
const queue_device_t *graph_device(const rawhal_graph_t *graph);

/* rawhal_graph_create() for the device of a rawhal_device_t. */
RAWHAL_CHECKED rawhal_status_t graph_create(const queue_device_t *device, rawhal_graph_t **graph,
                                            rawhal_error_t *error);

#endif
