/* Graphs that can be launched. Internal. */
#ifndef RAWHAL_QUEUE_GRAPH_EXEC_H
#define RAWHAL_QUEUE_GRAPH_EXEC_H

#include "queue/graph/graph_node.h"
#include "queue/timeline/place.h"

typedef struct exec_node {
  uint32_t image; /* where in the images, in bytes */
  /* Its transfers; or its part of timelines, its first wait and its first signal. */
  uint32_t count, first, first_signal;
  graph_node_t node;
} exec_node_t;

/* What a launch submits with one ticket: see queue/parts.h. Most execs have one, of kernels, and no
 * list of them. */
typedef enum exec_part_kind { EXEC_KERNELS, EXEC_TRANSFERS, EXEC_TIMELINE } exec_part_kind_t;

typedef struct exec_part {
  exec_part_kind_t kind;
  uint32_t first, count;     /* nodes */
  uint32_t packets;          /* without closing ones */
  uint32_t signaller;        /* of the nodes, of kernels: the first that signals */
  uint32_t item, item_count; /* of transfers: which they are */
} exec_part_t;

/* Of all nodes, and what they write and fill with. It is the exec's and that of its launches until
 * they have finished, and is then freed by graphs_reap(). */
typedef struct exec_transfers {
  transfer_owner_t owner; /* the first member */
  struct exec_transfers *next;
  const queue_device_t *device;
  graph_transfers_t *of;
  void *staged;
} exec_transfers_t;

/* What a launch of several parts has besides. */
typedef struct exec_parts {
  uint32_t count, kernels; /* parts; those of kernels */
  uint32_t packets;        /* of all */
  exec_part_t *each;
  exec_transfers_t *transfers; /* NULL: none */
  uint32_t timelines;          /* parts of them */
  timeline_part_t timeline[TIMELINE_PARTS];
  graph_points_t *points; /* of all nodes; NULL: none */
} exec_parts_t;

/* A node's arguments in the table of all, in metadata order. */
typedef struct exec_span {
  uint32_t first, count;
} exec_span_t;

/* Where an argument is in the images, and its size; 0 of hidden ones, so that none can be bound. */
typedef struct exec_argument {
  uint32_t at, size;
} exec_argument_t;

/* Bytes of an image that hold what a queue has. */
typedef struct exec_hidden {
  uint32_t at;                      /* in the images */
  uint16_t source, copied, natural; /* hidden_copy_t */
} exec_hidden_t;

struct rawhal_graph_exec {
  /* What a launch reads, in the order in which it does. */
  const queue_device_t *device;
  uint32_t count, signaller; /* packets; the first that signals */
  uint32_t blocks;           /* to reserve: the images', and what aligning the first may take */
  uint32_t alignment;        /* in blocks: the strictest of the kernels' */
  size_t image_bytes;
  const unsigned char *images;
  /* Lack two things that a launch knows: a kernarg address counts from the first image, and
   * completion signals are 0. */
  hsa_kernel_dispatch_packet_t *packets;
  const rawhal_device_kernel_t **kernels; /* of packets; NULL: it runs none */
  exec_node_t *nodes;                     /* as many as packets */
  uint64_t home;                          /* launch_number of the queue whose the images are */
  const exec_hidden_t *hidden;            /* what is another's on others */
  uint32_t hidden_count;
  const exec_span_t *spans; /* of nodes: what bindings look at */
  const exec_argument_t *arguments;
  size_t blob_size;    /* that may replace the only node's; SIZE_MAX: none may */
  exec_parts_t *parts; /* NULL: the only one is of kernels */
  bool labelled;       /* any node */
  bool rare;           /* cooperative, or there are hidden ones: a launch looks closer */
  bool cooperative;    /* any node */
  uint32_t lane_bytes; /* of scratch, at most */
  limit_shape_t shape; /* what a launch takes */

  rawhal_launch_t launch; /* of the queue whose the images are */
  unsigned char *own_images;
  exec_hidden_t *own_hidden;
  exec_span_t *own_spans;
  exec_argument_t *own_arguments;
  uint32_t overlapping;
  allocator_t allocator;
};

/* Grids that were read from memory, each once: whoever can write there must not change what has
 * been checked. */
typedef struct indirect_grids {
  uint32_t count;
  const rawhal_graph_binding_t *of[RAWHAL_GRAPH_MAX_INDIRECT];
  rawhal_graph_grid_t grids[RAWHAL_GRAPH_MAX_INDIRECT];
} indirect_grids_t;

/* Transfers and timepoints that a launch has instead of its nodes'. */
typedef struct bound_parts {
  uint32_t transfer_count, point_count;
  struct bound_transfer {
    uint32_t item; /* of all transfers */
    queue_transfer_t is;
    graph_buffers_t buffers;
  } transfers[RAWHAL_GRAPH_MAX_TRANSFERS];
  struct bound_point {
    uint32_t item; /* of all points */
    rawhal_timepoint_t is;
  } points[2 * RAWHAL_MAX_TIMEPOINTS];
} bound_parts_t;

/* The caller's bindings. */
typedef struct bindings {
  const rawhal_graph_binding_t *first;
  size_t stride, count;
  size_t arguments;           /* so many of the first are of arguments */
  bool grids;                 /* some are of grids, read from memory or not */
  indirect_grids_t *indirect; /* room for them */
  bound_parts_t *bound;       /* likewise */
} bindings_t;

static inline const rawhal_graph_binding_t *bindings_at(const bindings_t *bindings, size_t i)
{
  return (const void *)((const char *)bindings->first + i * bindings->stride);
}

/* ---- order.c ---- */

/* Which nodes wait for all before them: writes the headers of their packets. */
void exec_order(rawhal_graph_exec_t *exec, const rawhal_graph_t *graph, bool overlap);
static inline bool exec_waits(const rawhal_graph_exec_t *exec, uint32_t node)
{
  return exec->packets[node].header >> HSA_PACKET_HEADER_BARRIER & 1;
}

/* ---- parts.c ---- */

/* When the order is known: cuts it into parts, if need be. */
RAWHAL_CHECKED rawhal_status_t exec_parts_make(rawhal_graph_exec_t *exec,
                                               const rawhal_graph_t *graph, rawhal_error_t *error);
void exec_parts_free(rawhal_graph_exec_t *exec);
/* What the transfers of an exec with parts take. */
void exec_transfers_shape(const rawhal_graph_exec_t *exec, limit_shape_t *whole);
/* Launches it as that. */
RAWHAL_CHECKED rawhal_status_t launch_parts(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                            const bindings_t *bindings, uint64_t deadline,
                                            rawhal_ticket_t *ticket, rawhal_error_t *error);

/* ---- launch.c: for launches of parts ---- */

/* What is checked of each launch but its bindings. */
RAWHAL_CHECKED rawhal_status_t launch_check(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                            const bindings_t *bindings, rawhal_error_t *error);
/* The images of all nodes. */
unsigned char *launch_images(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                             const bindings_t *bindings, const ring_reservation_t *reserved);
/* A part of kernels, where it has been reserved, with what of the kernarg ring is given back with
 * it. */
void launch_kernels(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const exec_part_t *part,
                    const bindings_t *bindings, const unsigned char *images, uint32_t blocks,
                    const ring_reservation_t *reserved);
void launch_labels(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, uint32_t first,
                   uint32_t count, uint64_t packet);

/* ---- hidden.c ---- */

/* Lists what is a queue's in the images; `list` NULL: only counts it. */
uint32_t exec_hidden_list(const rawhal_graph_exec_t *exec, exec_hidden_t *list);
/* OUT_OF_RANGE: what the queue has does not fit where the kernel wants it. */
RAWHAL_CHECKED rawhal_status_t exec_hidden_check(const rawhal_graph_exec_t *exec,
                                                 const rawhal_launch_t *launch,
                                                 rawhal_error_t *error);
void exec_hidden_write(const rawhal_graph_exec_t *exec, const rawhal_launch_t *launch,
                       unsigned char *images);

/* ---- bind.c ---- */

/* The caller's array; `indirect` is filled in by the check. */
RAWHAL_CHECKED rawhal_status_t bindings_take(const rawhal_graph_binding_t *first, size_t size,
                                             size_t count, indirect_grids_t *indirect,
                                             bound_parts_t *bound, bindings_t *bindings,
                                             rawhal_error_t *error);
/* Checks all of them, for launches at `place`, and notes what they are. */
RAWHAL_CHECKED rawhal_status_t bindings_check(const rawhal_graph_exec_t *exec, bindings_t *bindings,
                                              const dispatch_place_t *place, rawhal_error_t *error);
/* Those of arguments and blobs, and what hidden arguments have of grids. They have been checked:
 * whatever the caller has changed since, nothing else is written. */
void bindings_to_images(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                        const rawhal_launch_t *common, unsigned char *images);
/* What one of a grid has of its packet's body; others change nothing. */
void binding_to_packet(const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                       const rawhal_graph_binding_t *binding, hsa_kernel_dispatch_packet_t *packet);
/* The dispatch of a node, with the grid that it has by the bindings. */
rawhal_dispatch_t bindings_dispatch(const exec_node_t *node, const bindings_t *bindings,
                                    rawhal_graph_node_t number);
/* The shape of all of them. */
limit_shape_t bindings_shape(const rawhal_graph_exec_t *exec, const bindings_t *bindings);

#endif
