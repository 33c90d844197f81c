/* Launches: packets and images that were made once, copied into the rings of a queue. */
#include "queue/graph/capture.h"
#include "queue/graph/exec.h"

#include "base/error.h"

#include <string.h>

/* What a launch has of its own. Each way of launching has these as constants of its own, so that
 * none asks for what another has. */
typedef struct launch {
  const bindings_t *bindings; /* NULL: none */
  const void *blob;           /* of the only node, instead of its own; NULL: that */
  uint32_t packets;           /* with a closing one */
} launch_t;

#define EACH_WAY static inline __attribute__((always_inline))

/* ---- Writing ---- */

/* Everything but the first dword. A packet that runs no kernel has no kernargs. */
static inline void write_body(void *slot, const hsa_kernel_dispatch_packet_t *made, bool runs,
                              const unsigned char *images, hsa_signal_t completion)
{
  hsa_kernel_dispatch_packet_t *packet = slot;
  memcpy((char *)slot + 4, (const char *)made + 4,
         offsetof(hsa_kernel_dispatch_packet_t, kernarg_address) - 4);
  packet->kernarg_address =
      runs ? (void *)(uintptr_t)(images + (uintptr_t)made->kernarg_address) : NULL;
  packet->reserved2 = 0;
  packet->completion_signal = completion;
}

static inline void publish(void *slot, const hsa_kernel_dispatch_packet_t *made)
{
  uint32_t header;
  memcpy(&header, made, sizeof(header));
  packet_publish(slot, header);
}

/* Whole blocks: a call would take longer than most are. */
static inline void copy_images(unsigned char *to, const unsigned char *from, size_t bytes)
{
  for (size_t i = 0; i < bytes; i += KERNARG_BLOCK_BYTES)
    memcpy(to + i, from + i, KERNARG_BLOCK_BYTES);
}

static inline bool is_away(const rawhal_queue_t *queue, const rawhal_graph_exec_t *exec)
{
  return exec->hidden_count && queue->launch_number != exec->home;
}

__attribute__((noinline, cold)) void launch_labels(rawhal_queue_t *queue,
                                                   const rawhal_graph_exec_t *exec, uint32_t first,
                                                   uint32_t count, uint64_t packet)
{
  for (uint32_t i = 0; i < count; ++i)
    if (*exec->nodes[first + i].node.label)
      label_keep(queue, packet + i, exec->nodes[first + i].node.label);
}

/* The images of this launch. */
EACH_WAY unsigned char *write_images(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                     const launch_t *own, const ring_reservation_t *reserved)
{
  const uint32_t aligned = (reserved->block + exec->alignment - 1) & ~(exec->alignment - 1);
  unsigned char *images = kernarg_slot(queue, aligned);
  copy_images(images, exec->images, exec->image_bytes);
  if (__builtin_expect(is_away(queue, exec), 0))
    exec_hidden_write(exec, &queue->launch, images);
  if (own->blob)
    memcpy(images, own->blob, exec->nodes->node.blob_bytes);
  if (own->bindings)
    bindings_to_images(exec, own->bindings, &queue->launch, images);
  return images;
}

/* Bodies, then what bindings have of them, then headers. */
__attribute__((noinline)) static void
write_closely(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const exec_part_t *part,
              const bindings_t *bindings, const unsigned char *images,
              const ring_reservation_t *reserved, hsa_signal_t signal)
{
  const uint64_t zero = reserved->packet - part->first; /* where node 0 would be */
  for (uint32_t i = 0; i < part->count; ++i)
    write_body(packet_slot(queue, reserved->packet + i), &exec->packets[part->first + i],
               exec->kernels[part->first + i], images,
               submit_signal(queue, reserved, signal, i, part->signaller));
  for (size_t i = 0; bindings && bindings->grids && i < bindings->count; ++i) {
    const rawhal_graph_binding_t *binding = bindings_at(bindings, i);
    if (binding->node - part->first < part->count)
      binding_to_packet(exec, bindings, binding, packet_slot(queue, zero + binding->node));
  }
  for (uint32_t i = part->count; i-- > 0;)
    publish(packet_slot(queue, reserved->packet + i), &exec->packets[part->first + i]);
}

/* The same at once, where each body is known. The first packet comes last, as with a batch. */
EACH_WAY void write_packets(const rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                            exec_part_t part, const unsigned char *images,
                            const ring_reservation_t *reserved, hsa_signal_t signal)
{
  char *const ring = queue->packets;
  const uint64_t mask = queue->ring.packets - 1, first = reserved->packet;
  const hsa_kernel_dispatch_packet_t *const packets = exec->packets + part.first;
  const rawhal_device_kernel_t *const *const kernels = exec->kernels + part.first;
  const uint32_t signaller = part.signaller;
  for (uint32_t i = part.count - 1; i > 0; --i) {
    void *slot = ring + ((first + i) & mask) * PACKET_BYTES;
    write_body(slot, &packets[i], kernels[i], images, i >= signaller ? signal : (hsa_signal_t){0});
    publish(slot, &packets[i]);
  }
  if (signaller)
    signal = queue->begins[reserved->ticket & (queue->ring.tickets - 1)];
  void *slot = ring + (first & mask) * PACKET_BYTES;
  write_body(slot, packets, *kernels, images, signal);
  publish(slot, packets);
}

/* Of several packets. */
static inline void name_packets(rawhal_queue_t *queue, const rawhal_device_kernel_t *const *kernels,
                                uint32_t count, uint64_t first)
{
  _Atomic(const rawhal_device_kernel_t *) *const names = queue->kernels;
  const uint64_t mask = queue->ring.packets - 1;
  for (uint32_t i = 0; i < count; ++i)
    atomic_store_explicit(&names[(first + i) & mask], kernels[i], memory_order_relaxed);
}

EACH_WAY void write_launch(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                           const launch_t *own, const ring_reservation_t *reserved)
{
  if (own->packets > 1)
    name_packets(queue, exec->kernels, exec->count, reserved->packet);
  if (__builtin_expect(exec->labelled, 0))
    launch_labels(queue, exec, 0, exec->count, reserved->packet);
  hsa_signal_t signal =
      batch_begin(queue, reserved, exec->count, exec->blocks, exec->signaller, *exec->kernels);
  const unsigned char *images = write_images(queue, exec, own, reserved);
  if (__builtin_expect((own->bindings && own->bindings->grids) || own->packets > exec->count, 0))
    write_closely(queue, exec, &(exec_part_t){.count = exec->count, .signaller = exec->signaller},
                  own->bindings, images, reserved, signal);
  else
    write_packets(queue, exec, (exec_part_t){.count = exec->count, .signaller = exec->signaller},
                  images, reserved, signal);
  submit_ring(queue, reserved, own->packets);
}

unsigned char *launch_images(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                             const bindings_t *bindings, const ring_reservation_t *reserved)
{
  return write_images(queue, exec, &(launch_t){.bindings = bindings}, reserved);
}

void launch_kernels(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const exec_part_t *part,
                    const bindings_t *bindings, const unsigned char *images, uint32_t blocks,
                    const ring_reservation_t *reserved)
{
  const rawhal_device_kernel_t *const *kernels = exec->kernels + part->first;
  const uint32_t packets = part->packets + closing_packets(queue);
  if (packets > 1)
    name_packets(queue, kernels, part->count, reserved->packet);
  if (exec->labelled)
    launch_labels(queue, exec, part->first, part->count, reserved->packet);
  const hsa_signal_t signal =
      batch_begin(queue, reserved, part->count, blocks, part->signaller, *kernels);
  if (bindings->grids || packets > part->count)
    write_closely(queue, exec, part, bindings, images, reserved, signal);
  else
    write_packets(queue, exec, *part, images, reserved, signal);
  submit_ring(queue, reserved, packets);
}

/* ---- Checking ---- */

/* Of dispatches that must run at once, with the grids that they have. */
static rawhal_status_t check_cooperative(const rawhal_queue_t *queue,
                                         const rawhal_graph_exec_t *exec,
                                         const bindings_t *bindings, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  for (uint32_t i = 0; status == RAWHAL_OK && i < exec->count; ++i) {
    const rawhal_dispatch_t dispatch = bindings_dispatch(&exec->nodes[i], bindings, i);
    if (dispatch.flags & RAWHAL_DISPATCH_COOPERATIVE)
      status = check_resident(queue->compute_units, &dispatch, error);
    status = rawhal_fail_of(error, status, "node %u", i);
  }
  return status;
}

__attribute__((noinline, cold)) static rawhal_status_t check_rare(const rawhal_queue_t *queue,
                                                                  const rawhal_graph_exec_t *exec,
                                                                  const bindings_t *bindings,
                                                                  rawhal_error_t *error)
{
  static const bindings_t none;
  rawhal_status_t status = RAWHAL_OK;
  if (exec->cooperative)
    status = check_cooperative(queue, exec, bindings ? bindings : &none, error);
  if (status == RAWHAL_OK && is_away(queue, exec))
    status = exec_hidden_check(exec, &queue->launch, error);
  return status;
}

EACH_WAY rawhal_status_t check(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                               const bindings_t *bindings, rawhal_error_t *error)
{
  rawhal_status_t status = queue_check(queue, error);
  if (__builtin_expect(exec->rare, 0) && status == RAWHAL_OK)
    status = check_rare(queue, exec, bindings, error);
  return status;
}

rawhal_status_t launch_check(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                             const bindings_t *bindings, rawhal_error_t *error)
{
  return check(queue, exec, bindings, error);
}

__attribute__((noinline, cold)) static rawhal_status_t
refuse(const rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, rawhal_error_t *error)
{
  if (exec->device != queue->device)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the graph was made for another device than the queue's");
  return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                     "a launch of %u packets and %u kernarg blocks can never fit into rings of %u "
                     "and %u",
                     exec->count, exec->blocks, queue->ring.packets - closing_packets(queue),
                     queue->ring.blocks);
}

/* ---- Submitting ---- */

__attribute__((noinline)) static rawhal_status_t
reserve_limited(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec, const bindings_t *bindings,
                uint64_t deadline, ring_reservation_t *reserved, rawhal_error_t *error)
{
  limit_grant_t grant;
  const limit_shape_t shape =
      bindings && bindings->grids ? bindings_shape(exec, bindings) : exec->shape;
  rawhal_status_t status =
      gate_admit_one(&queue->gate, &shape, exec->lane_bytes, deadline, &grant, error);
  if (status != RAWHAL_OK)
    return status;
  status = submit_reserve_admitted(queue, &grant, exec->count + closing_packets(queue),
                                   exec->blocks, deadline, reserved, error);
  if (status != RAWHAL_OK)
    limit_cancel(queue->gate.lease, &grant);
  return status;
}

EACH_WAY rawhal_status_t launch(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                const bindings_t *bindings, const void *blob, uint64_t deadline,
                                rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  ring_reservation_t reserved;
  const launch_t own = {bindings, blob, exec->count + closing_packets(queue)};
  if (__builtin_expect(exec->device != queue->device || own.packets > queue->ring.packets ||
                           exec->blocks > queue->ring.blocks,
                       0))
    return refuse(queue, exec, error);
  rawhal_status_t status = check(queue, exec, bindings, error);
  if (__builtin_expect(status != RAWHAL_OK, 0))
    return status;
  status = __builtin_expect(queue->gate.lease != NULL, 0)
               ? reserve_limited(queue, exec, bindings, deadline, &reserved, error)
               : submit_reserve(queue, own.packets, exec->blocks, deadline, &reserved, error);
  if (__builtin_expect(status != RAWHAL_OK, 0))
    return status;
  write_launch(queue, exec, &own, &reserved);
  if (ticket)
    *ticket = reserved.ticket;
  return RAWHAL_OK;
}

/* What is bound has been taken. */
static rawhal_status_t launch_bound(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                    bindings_t *bindings, uint64_t deadline,
                                    rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  const dispatch_place_t place = {queue->device, &queue->launch, queue->compute_units};
  if (exec->device != queue->device)
    return refuse(queue, exec, error);
  rawhal_status_t status = bindings_check(exec, bindings, &place, error);
  if (status != RAWHAL_OK)
    return status;
  return exec->parts ? launch_parts(queue, exec, bindings, deadline, ticket, error)
                     : launch(queue, exec, bindings, NULL, deadline, ticket, error);
}

__attribute__((noinline)) static rawhal_status_t
launch_with(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
            const rawhal_graph_binding_t *bindings, size_t binding_size, size_t count,
            uint64_t deadline, rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  bindings_t taken;
  indirect_grids_t indirect;
  bound_parts_t bound;
  rawhal_status_t status =
      bindings_take(bindings, binding_size, count, &indirect, &bound, &taken, error);
  return status == RAWHAL_OK ? launch_bound(queue, exec, &taken, deadline, ticket, error) : status;
}

__attribute__((noinline, cold)) static rawhal_status_t refuse_captured(rawhal_error_t *error)
{
  return capture_refuse("launches: add the other graph as a child", error);
}

rawhal_status_t rawhal_graph_launch_sized(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                          const rawhal_graph_binding_t *bindings,
                                          size_t binding_size, size_t count, uint64_t deadline,
                                          rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue || !exec)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL", queue ? "exec" : "queue");
  if (__builtin_expect(queue_captured(queue) != NULL, 0))
    return refuse_captured(error);
  return count || __builtin_expect(exec->parts != NULL, 0)
             ? launch_with(queue, exec, bindings, binding_size, count, deadline, ticket, error)
             : launch(queue, exec, NULL, NULL, deadline, ticket, error);
}

__attribute__((noinline, cold)) static rawhal_status_t
refuse_blob(const rawhal_graph_exec_t *exec, size_t blob_size, rawhal_error_t *error)
{
  if (exec->count != 1)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a blob alone is for a graph of one kernel node, not of %u nodes",
                       exec->count);
  if (!exec->nodes->node.takes_blob)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "the node runs no kernel, was made with an array of arguments, or some lie "
                       "after hidden ones");
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "a blob of %zu bytes, the node was made with %zu", blob_size,
                     exec->nodes->node.dispatch.blob_size);
}

rawhal_status_t rawhal_graph_launch_blob(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                                         const void *blob, size_t blob_size, uint64_t deadline,
                                         rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue || !exec || (!blob && blob_size))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       !queue  ? "queue"
                       : !exec ? "exec"
                               : "blob");
  if (__builtin_expect(queue_captured(queue) != NULL, 0))
    return refuse_captured(error);
  if (__builtin_expect(blob_size != exec->blob_size || blob_size == SIZE_MAX, 0))
    return refuse_blob(exec, blob_size, error);
  return launch(queue, exec, NULL, blob, deadline, ticket, error);
}
