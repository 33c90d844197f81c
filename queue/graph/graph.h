/* rawhal/graph.h: work that is described once and launched again and again.
 *
 *     rawhal_graph_create -> rawhal_graph_add_.. -> rawhal_graph_instantiate -> rawhal_graph_launch
 *
 * A graph is a list of nodes: dispatches of kernels, transfers (rawhal_graph_add_transfers() in
 * transfer.h), steps of timelines, which wait for semaphores and signal them, barriers that run
 * nothing, and those of child graphs, which are included. They are added by calls, or captured from
 * a queue. Instantiating makes an executable graph (exec) of what is there: everything is checked,
 * arguments and packets are made. A launch copies these into a queue: one submission with one
 * doorbell, of which a refused call leaves no trace, as of a batch (queue.h).
 *
 * Order. A node is added after others, which its dependencies name: so the order in which nodes
 * were added is an order in which they may run, and cycles cannot be. What is guaranteed:
 *  - a node begins when all that it was added after have finished, and sees what they wrote;
 *  - the first node begins when all that was submitted to the queue before has finished, and what
 *    is submitted later (but for RAWHAL_DISPATCH_OVERLAP) begins when all nodes have finished.
 * Nodes that are not ordered by dependencies, however long the path, may overlap and must not need
 * each other to run at the same time. The packets of a launch stand in the queue in the order of
 * nodes; a node that must wait for an earlier one of which the queue does not know yet that it has
 * finished waits, with its barrier bit, for all before it. So independent branches overlap best if
 * they are added side by side (a1 b1 a2 b2), not one after the other (a1 a2 b1 b2).
 *
 * Parts. A queue carries transfers and steps of timelines out one after the other and with nothing
 * beside them, whatever their dependencies are; only transfers that follow one another and are not
 * ordered go at the same time. So with such nodes a launch has several parts: runs of kernels and
 * barriers, transfers, steps of timelines. Each takes a ticket, one after the other; the launch's
 * is the last. It finishes when all have, and its timing and its instructions are those of all of
 * them; rawhal_graph_exec_ticket() tells where a node is. What copies and kernels are to do at the
 * same time goes on two queues, with a semaphore between them.
 *
 * Queues. An exec can be launched on any queue of its device, several times at once; launches on
 * different queues are not ordered. Hidden arguments that hold a queue's addresses or services get
 * those of the queue that launches: at no cost on the queue that the options name, for some forty
 * instructions a dispatch with such arguments on others. A launch that can never fit into the
 * queue's rings is OUT_OF_RANGE: rawhal_graph_exec_info() says what one takes.
 *
 * Bindings. A launch may replace what nodes were made with, for itself alone: others, before, after
 * and at the same time, keep theirs. rawhal_graph_exec_bind() does so for all that come. Whatever
 * is bound is checked before anything is submitted. Which may be:
 *
 *   kind      of node  `value` points to     must be
 *   ARGUMENT  kernel   the argument's bytes  visible; of the argument's size
 *   BLOB      kernel   a prepacked blob      of the size of the blob that the node was made with;
 *                                            not where arguments lie after hidden ones
 *   GRID      kernel   rawhal_graph_grid_t   what a dispatch of the kernel may have; hidden
 *                                            arguments follow it, unless they are the blob's
 *
 *   INDIRECT  kernel   three uint32_t        numbers of work-groups in x, y and z, aligned to 4; of
 *                                            the node's own work-group size, and else as GRID
 *   TRANSFER  transfer rawhal_transfer_t     one that needs no staging: a copy, or a fill of the
 *                                            same pattern and size elsewhere; RAWHAL_GRAPH_MAX_
 *                                            TRANSFERS of a call. `index`: which of the node's
 *                                            that have bytes
 *   TIMEPOINT timeline rawhal_timepoint_t    what rawhal_queue_timeline() takes. `index`: which of
 *                                            the node's, those waited for first
 *
 * Kernels, labels, flags, the number of nodes and their order: these make another graph. As values
 * of semaphores only rise, a launch that signals has other timepoints than the last one.
 *
 * An indirect dispatch has its grid in memory, such as a RAWHAL_MEMORY_HOST buffer's host address
 * (hal.h), where a kernel has left it. The host reads it during the call that launches, once, and
 * then checks and charges what it has read as any grid: so the kernel must have finished by then,
 * and what is written there later counts for later launches. No device reads grids. It costs what a
 * GRID does and three loads; a launch may have RAWHAL_GRAPH_MAX_INDIRECT of them.
 *
 * Of several for the same bytes the last counts; a BLOB replaces arguments bound before it. As the
 * value is read by address during the call, a program may keep one array of bindings whose values
 * point into a table of its own, and change only that. An argument costs at most 40 instructions.
 * What a kernel's pointers point to is the program's to know, as with any dispatch.
 *
 * Limits. A launch is admitted, and charged to the tenant and the queue that launches, as a whole,
 * like a batch: with the sizes of the grids that it really has. What steps of timelines wait costs
 * nothing.
 *
 * Faults. Each node's label is its dispatch's: rawhal_queue_fault() tells it, and
 * rawhal_graph_failure() which nodes had finished by then and which never began. A copy that the
 * device fails to carry out fails the launch's ticket (DEVICE_LOST), but nodes after it run; one
 * that the runtime does not start (RUNTIME) fails the call, nothing behind it runs, and what the
 * launch was to signal after that fails.
 *
 * Ownership. A graph keeps the kernels that it names loaded, and so does an exec; both keep the
 * runtime open. Likewise buffers of transfers and semaphores: one that is freed or destroyed while
 * a graph or an exec names it can no longer be used by its own name, and a semaphore has then
 * failed, but what it is stays, memory counted, until they and the launches that run are gone. (A
 * buffer that only a launch's binding names, or that rawhal_graph_exec_bind() has replaced, is the
 * program's to keep until launches have finished; so is imported host memory.) What a transfer
 * writes is copied when the node is added. A graph may be changed or destroyed when it has been
 * instantiated. An exec may be destroyed while launches of it run. Everything passed to a call is
 * read during the call only.
 *
 * Thread-safety:
 *   a graph                       one thread at a time
 *   rawhal_graph_launch()         any number of threads, also of the same exec, on any queues; no
 *                                 allocation, lock or system call while the queue has room, but
 *                                 the locks of transfers and of timelines where there are any
 *   _exec_bind(), _exec_destroy() not while anything else uses the exec
 *   _exec_info(), _failure()      any time
 *
 * Numbers of nodes are in the order in which they were added, from 0, in a graph and in its execs.
 * fork(): as for queues; in the child a launch is DEVICE_LOST, and destroying frees nothing of the
 * device's. */
#ifndef RAWHAL_GRAPH_H
#define RAWHAL_GRAPH_H

#include <rawhal/semaphore.h>

RAWHAL_BEGIN

/* A graph that is being made, for one device; rawhal_graph_create() in hal.h makes one. */
typedef struct rawhal_graph rawhal_graph_t;

/* A graph that can be launched. */
typedef struct rawhal_graph_exec rawhal_graph_exec_t;

typedef uint32_t rawhal_graph_node_t; /* number of a node */

/* As a number of dependencies: all nodes that were added before. */
#define RAWHAL_GRAPH_ALL UINT64_MAX

RAWHAL_API void rawhal_graph_destroy(rawhal_graph_t *graph); /* NULL is allowed */

/* ---- Nodes ----
 *
 * Each is added after `after[0..count)`, nodes that are there; with none it may run at once
 * (`after` may be NULL); with count RAWHAL_GRAPH_ALL it runs after all of them, and `after` is not
 * read. `node`, which may be NULL, gets its number. On failure the graph is as it was.
 * OUT_OF_RANGE: no such node in `after`; OUT_OF_MEMORY. */

/* A dispatch, which is checked as by rawhal_queue_submit(), and fails like that. Of its flags
 * RAWHAL_DISPATCH_OVERLAP says nothing here: dependencies say what may overlap. A COOPERATIVE one
 * waits for all nodes before it, and the next one for it, whatever their dependencies are; whether
 * it fits the queue is checked by the launch. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_add_kernel_sized(rawhal_graph_t *graph, const rawhal_dispatch_t *dispatch,
                              size_t dispatch_size, const rawhal_graph_node_t *after, size_t count,
                              rawhal_graph_node_t *node, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_graph_add_kernel(
    rawhal_graph_t *graph, const rawhal_dispatch_t *dispatch, const rawhal_graph_node_t *after,
    size_t count, rawhal_graph_node_t *node, rawhal_error_t *error)
{
  return rawhal_graph_add_kernel_sized(graph, dispatch, sizeof(*dispatch), after, count, node,
                                       error);
}

/* Adds what rawhal_queue_submit() would submit: `count` dispatches (at least 1), each after all
 * before it, but one with RAWHAL_DISPATCH_OVERLAP only after what the last node without comes
 * after, as that may still run then. All or none are added; `first`, which may be NULL, gets the
 * number of the first. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_add_batch_sized(
    rawhal_graph_t *graph, const rawhal_dispatch_t *dispatches, size_t dispatch_size, size_t count,
    rawhal_graph_node_t *first, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_graph_add_batch(rawhal_graph_t *graph, const rawhal_dispatch_t *dispatches, size_t count,
                       rawhal_graph_node_t *first, rawhal_error_t *error)
{
  return rawhal_graph_add_batch_sized(graph, dispatches, sizeof(*dispatches), count, first, error);
}

/* A node that runs nothing: those after it begin when all that it comes after have finished. What
 * these wrote is seen by the host and by other devices when it has been passed (system-scope
 * release). `label`, which may be NULL, names it; longer text is truncated. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_add_barrier(rawhal_graph_t *graph, const char *label, const rawhal_graph_node_t *after,
                         size_t count, rawhal_graph_node_t *node, rawhal_error_t *error);

/* Waits for all of `waits`, then signals all of `signals`, as rawhal_queue_timeline() does, when
 * the launch comes to it; whether these can be waited for and signalled is checked by each launch.
 * Of a graph at most RAWHAL_MAX_TIMEPOINTS of both (OUT_OF_RANGE, by rawhal_graph_instantiate()).
 * `label` as above. INVALID_ARGUMENT: neither, or a NULL; OUT_OF_RANGE: too many. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_add_timeline(rawhal_graph_t *graph, const rawhal_timepoint_t *waits, size_t wait_count,
                          const rawhal_timepoint_t *signals, size_t signal_count, const char *label,
                          const rawhal_graph_node_t *after, size_t count, rawhal_graph_node_t *node,
                          rawhal_error_t *error);

/* Adds the nodes that another graph of the same device has now, which may be this one: the child's
 * node n becomes *first + n, and those of its nodes that come after none come after `after`; and
 * behind them *last, a barrier named `label` that comes after all of them. All or none are added.
 * What becomes of the child later changes nothing. Bindings and failures have the new numbers. Of
 * `first` and `last` either may be NULL. INVALID_ARGUMENT: the child has no nodes, or is another
 * device's. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_add_child(rawhal_graph_t *graph, const rawhal_graph_t *child, const char *label,
                       const rawhal_graph_node_t *after, size_t count, rawhal_graph_node_t *first,
                       rawhal_graph_node_t *last, rawhal_error_t *error);

/* What a node is. */
typedef enum rawhal_graph_node_kind {
  RAWHAL_GRAPH_KERNEL = 1,
  RAWHAL_GRAPH_BARRIER = 2,
  RAWHAL_GRAPH_TRANSFERS = 3,
  RAWHAL_GRAPH_TIMELINE = 4,
} rawhal_graph_node_kind_t;

/* A node, to look at. */
typedef struct rawhal_graph_node_info {
  size_t size; /* set it to sizeof(rawhal_graph_node_info_t), or 0: see types.h */
  rawhal_graph_node_kind_t kind;
  uint32_t reserved;
  const rawhal_device_kernel_t *kernel; /* NULL: it runs none */
  uint32_t work_items[3];
  uint16_t workgroup[3];
  uint16_t reserved2;
  uint32_t dynamic_lds, flags;
  char label[RAWHAL_LABEL_BYTES]; /* "" without */
  /* It comes after all nodes whose numbers are at least `from` and less than `prefix`, and after as
   * many more as `after_count`. `from` is 0 but in children; added with RAWHAL_GRAPH_ALL, `prefix`
   * is its own number. */
  uint32_t from, prefix, after_count;
  uint32_t transfers;      /* that have bytes */
  uint32_t waits, signals; /* timepoints */
} rawhal_graph_node_info_t;

/* How many nodes there are; 0 for NULL. */
RAWHAL_API size_t rawhal_graph_node_count(const rawhal_graph_t *graph);

/* Fills in `*info`, and in `after`, which may be NULL, at most `capacity` of the `after_count`
 * nodes. OUT_OF_RANGE: no such node. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_node(const rawhal_graph_t *graph,
                                                            rawhal_graph_node_t node,
                                                            rawhal_graph_node_info_t *info,
                                                            rawhal_graph_node_t *after,
                                                            size_t capacity, rawhal_error_t *error);

/* ---- Capturing ----
 *
 * Between begin and end what is submitted to the queue is checked and added to the graph instead,
 * and does not run: batches as by rawhal_graph_add_batch(), and each after all nodes before it
 * transfers, steps of timelines, and barriers without dependencies. Tickets are 0. UNSUPPORTED:
 * what no graph has: dependencies of barriers, signals of the program's, reads into memory that the
 * device does not reach, and launches. What was submitted before runs on, and can be waited for.
 * One thread uses graph and queue meanwhile; the graph must live until the end, and may be added to
 * by calls, too. */

/* INVALID_ARGUMENT: a NULL, the graph is another device's, or the queue is being captured already;
 * the queue's own failure its cause. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_capture_begin(rawhal_queue_t *queue,
                                                                     rawhal_graph_t *graph,
                                                                     rawhal_error_t *error);
/* NOT_FOUND: the queue is not being captured. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_capture_end(rawhal_queue_t *queue,
                                                                   rawhal_error_t *error);

/* ---- Instantiating ---- */

/* Zero-initialise, then set what should differ; read during the call only. */
typedef struct rawhal_graph_options {
  size_t size; /* sizeof(rawhal_graph_options_t), or 0: see types.h */
  rawhal_queue_t
      *queue; /* on which launches cost least; NULL: none. It need not outlive the exec */
  /* What a launch begins with does not wait for what was submitted to the queue before, as a
   * dispatch with RAWHAL_DISPATCH_OVERLAP. */
  bool overlap;
} rawhal_graph_options_t;

/* Makes an executable graph of what the graph is now; `options` may be NULL. INVALID_ARGUMENT:
 * there are no nodes, or the options' queue is another device's; OUT_OF_RANGE: what no queue can
 * hold; OUT_OF_MEMORY; of the queue's own failure its cause. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_instantiate(const rawhal_graph_t *graph, const rawhal_graph_options_t *options,
                         rawhal_graph_exec_t **exec, rawhal_error_t *error);
RAWHAL_API void rawhal_graph_exec_destroy(rawhal_graph_exec_t *exec); /* NULL is allowed */

/* What a launch takes of a queue. */
typedef struct rawhal_graph_exec_info {
  size_t size;            /* set it to sizeof(rawhal_graph_exec_info_t), or 0: see types.h */
  uint32_t nodes;         /* as the graph had */
  uint32_t packets;       /* one more for each part of kernels on a queue with dispatch_times */
  uint64_t kernarg_bytes; /* of the kernarg ring */
  uint32_t overlapping;   /* nodes that begin without waiting for all before them */
  uint32_t tickets;       /* parts */
} rawhal_graph_exec_info_t;

/* Fills in `*info`; zeros for NULL. */
RAWHAL_API void rawhal_graph_exec_info(const rawhal_graph_exec_t *exec,
                                       rawhal_graph_exec_info_t *info);

/* Which ticket of a launch, whose own is `ticket`, a node is in, and where among its dispatches: as
 * rawhal_queue_dispatch_timing() and rawhal_fault_t count them; of transfers and timelines that is
 * 0. INVALID_ARGUMENT: a NULL, or no ticket of a launch; OUT_OF_RANGE: no such node. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_exec_ticket(
    const rawhal_graph_exec_t *exec, rawhal_ticket_t ticket, rawhal_graph_node_t node,
    rawhal_ticket_t *node_ticket, uint32_t *dispatch, rawhal_error_t *error);

/* ---- Launching ---- */

/* The most bindings of a call that are INDIRECT. */
#define RAWHAL_GRAPH_MAX_INDIRECT 16

/* The most that are TRANSFER. */
#define RAWHAL_GRAPH_MAX_TRANSFERS 16

/* What a binding replaces: see the table above. */
typedef enum rawhal_graph_binding_kind {
  RAWHAL_GRAPH_ARGUMENT = 1,
  RAWHAL_GRAPH_BLOB = 2,
  RAWHAL_GRAPH_GRID = 3,
  RAWHAL_GRAPH_INDIRECT = 4,
  RAWHAL_GRAPH_TRANSFER = 5,
  RAWHAL_GRAPH_TIMEPOINT = 6,
} rawhal_graph_binding_kind_t;

/* One replacement. */
typedef struct rawhal_graph_binding {
  uint32_t kind; /* rawhal_graph_binding_kind_t */
  rawhal_graph_node_t node;
  uint32_t index; /* of an argument, in metadata order, of a transfer or a timepoint; else 0 */
  uint32_t bytes; /* at `value` */
  const void *value;
} rawhal_graph_binding_t;

/* What a GRID binding's value points to: members of rawhal_dispatch_t. */
typedef struct rawhal_graph_grid {
  uint32_t work_items[3];
  uint16_t workgroup[3];
  uint16_t reserved; /* 0 */
  uint32_t dynamic_lds;
  uint32_t reserved2; /* 0 */
  uint64_t global_offset[3];
} rawhal_graph_grid_t;

/* Submits the exec to a queue of its device, with `count` bindings for this launch (`bindings` may
 * be NULL with 0). INVALID_ARGUMENT / OUT_OF_RANGE: a binding is wrong (the message says which, of
 * what node, and why), the queue is another device's, or what the launch takes can never fit its
 * rings; for steps of timelines as rawhal_queue_timeline(), for transfers RUNTIME as
 * rawhal_queue_transfer(); otherwise as rawhal_queue_submit(). `ticket` may be NULL. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_launch_sized(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                          const rawhal_graph_binding_t *bindings, size_t binding_size, size_t count,
                          uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t rawhal_graph_launch(
    rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const rawhal_graph_binding_t *bindings,
    size_t count, uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  return rawhal_graph_launch_sized(queue, exec, bindings, sizeof(*bindings), count, deadline,
                                   ticket, error);
}

/* The same replacements for later launches; those already submitted keep what they had. All or none
 * are made. Fails as a launch's bindings. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_graph_exec_bind_sized(rawhal_graph_exec_t *exec, const rawhal_graph_binding_t *bindings,
                             size_t binding_size, size_t count, rawhal_error_t *error);

RAWHAL_CHECKED RAWHAL_INLINE rawhal_status_t
rawhal_graph_exec_bind(rawhal_graph_exec_t *exec, const rawhal_graph_binding_t *bindings,
                       size_t count, rawhal_error_t *error)
{
  return rawhal_graph_exec_bind_sized(exec, bindings, sizeof(*bindings), count, error);
}

/* The submission of one dispatch at the least cost: launches an exec of one kernel node with a BLOB
 * binding, and fails like that. The blob is read during the call only, so any number of threads may
 * do so at once. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_launch_blob(
    rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const void *blob, size_t blob_size,
    uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error);

/* ---- Failing ---- */

/* How far a launch came whose queue has died. */
typedef struct rawhal_graph_failure {
  size_t size; /* set it to sizeof(rawhal_graph_failure_t), or 0: see types.h */
  /* Nodes before `finished` have finished, and those from `begun` on never began. Of those in
   * between it is only known that they may have run, in part or as a whole, as `failed` did. */
  uint32_t finished, begun;
  uint32_t failed;                /* the node that failed; UINT32_MAX: none of this launch */
  char label[RAWHAL_LABEL_BYTES]; /* of that node; "" without */
} rawhal_graph_failure_t;

/* For the ticket of a launch of this exec on a queue that is dead: of any other ticket the answer
 * means nothing. NOT_FOUND: the queue is alive, or the launch had finished; INVALID_ARGUMENT: not a
 * ticket of this queue. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_graph_failure(const rawhal_graph_exec_t *exec,
                                                               rawhal_queue_t *queue,
                                                               rawhal_ticket_t ticket,
                                                               rawhal_graph_failure_t *failure,
                                                               rawhal_error_t *error);

RAWHAL_END

#endif
