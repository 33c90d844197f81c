/* Barriers: packets that run nothing and hold what comes after them. */
#include "queue/graph/capture.h"
#include "queue/submit.h"
#include "queue/timeline/timeline.h"
#include "queue/wait.h"

#include "base/error.h"
#include "base/sized.h"

static rawhal_status_t foreign_dependency(const rawhal_dependency_t *dependency,
                                          hsa_signal_t *signal, int64_t *target,
                                          rawhal_error_t *error)
{
  signal->handle = dependency->signal;
  *target = dependency->value;
  if (*target == INT64_MAX || dependency->ticket)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       dependency->ticket ? "both a ticket and a signal are given"
                                          : "the condition holds for every value of the signal");
  return RAWHAL_OK;
}

static rawhal_status_t ticket_dependency(const rawhal_dependency_t *dependency,
                                         hsa_signal_t *signal, int64_t *target,
                                         rawhal_error_t *error)
{
  rawhal_status_t status =
      queue_dependency(dependency->queue, dependency->ticket, signal, target, error);
  return status == RAWHAL_OK ? timeline_check(dependency->queue, dependency->ticket, error)
                             : status;
}

/* Nothing is waited for on the host: each dependency that has not finished becomes a packet,
 * written to `bodies` before anything is reserved. */
static rawhal_status_t prepare(const rawhal_dependency_t *dependencies, size_t stride, size_t count,
                               hsa_amd_barrier_value_packet_t *bodies, uint32_t *packets,
                               rawhal_error_t *error)
{
  *packets = 0;
  for (size_t i = 0; i < count; ++i) {
    const rawhal_dependency_t *each = (const void *)((const char *)dependencies + i * stride);
    hsa_signal_t signal = {0};
    int64_t target = 0;
    rawhal_status_t status = RAWHAL_OK;
    if (each->queue || !each->signal)
      status = ticket_dependency(each, &signal, &target, error);
    else
      status = foreign_dependency(each, &signal, &target, error);
    if (status != RAWHAL_OK)
      return rawhal_fail_of(error, status, "dependency %zu", i);
    if (signal.handle)
      packet_write_barrier_value(&bodies[(*packets)++], signal, target, (hsa_signal_t){0});
  }
  return RAWHAL_OK;
}

static void barrier_write(rawhal_queue_t *queue, const hsa_amd_barrier_value_packet_t *bodies,
                          uint32_t waits, const ring_reservation_t *reserved)
{
  uint32_t packets = waits + 1;
  for (uint32_t i = 0; i < packets; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  hsa_signal_t signal =
      submit_begin(queue, reserved, &(submission_t){.packets = packets, .signals = 1});
  packet_put_barrier(packet_slot(queue, reserved->packet + waits), signal);
  for (uint32_t i = waits; i-- > 0;) { /* the first comes last */
    void *slot = packet_slot(queue, reserved->packet + i);
    memcpy((char *)slot + 4, (const char *)&bodies[i] + 4, PACKET_BYTES - 4);
    packet_publish(slot, packet_header_barrier_value());
  }
  submit_ring(queue, reserved, packets);
}

rawhal_status_t rawhal_queue_barrier_sized(rawhal_queue_t *queue,
                                           const rawhal_dependency_t *dependencies,
                                           size_t dependency_size, size_t count, uint64_t deadline,
                                           rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  if (ticket)
    *ticket = 0;
  if (!queue || (!dependencies && count))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s is NULL",
                       queue ? "dependencies" : "queue");
  if (count > RAWHAL_MAX_DEPENDENCIES)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%zu dependencies, a barrier takes at most %d",
                       count, RAWHAL_MAX_DEPENDENCIES);
  rawhal_graph_t *captured = queue_captured(queue);
  if (captured && count)
    return capture_refuse("dependencies on tickets or signals; semaphores have timepoints", error);
  if (captured)
    return rawhal_graph_add_barrier(captured, NULL, NULL, RAWHAL_GRAPH_ALL, NULL, error);
  hsa_amd_barrier_value_packet_t bodies[RAWHAL_MAX_DEPENDENCIES];
  uint32_t waits = 0;
  ring_reservation_t reserved;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = sized_array(dependencies, dependency_size, count, sizeof(*dependencies),
                         "rawhal_dependency_t", error);
  if (status == RAWHAL_OK)
    status = prepare(dependencies, dependency_size, count, bodies, &waits, error);
  if (status == RAWHAL_OK)
    status = submit_reserve(queue, waits + 1, 0, deadline, &reserved, error);
  if (status != RAWHAL_OK)
    return status;
  barrier_write(queue, bodies, waits, &reserved);
  if (ticket)
    *ticket = reserved.ticket;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_signal(rawhal_queue_t *queue, uint64_t hsa_signal, uint64_t deadline,
                                    rawhal_ticket_t *ticket, rawhal_error_t *error)
{
  enum { PACKETS = 2 };
  if (ticket)
    *ticket = 0;
  if (!queue || !hsa_signal)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "%s",
                       queue ? "the signal is 0" : "queue is NULL");
  if (queue_captured(queue))
    return capture_refuse("signals of the program's; semaphores have timepoints", error);
  ring_reservation_t reserved;
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    status = submit_reserve(queue, PACKETS, 0, deadline, &reserved, error);
  if (status != RAWHAL_OK)
    return status;
  for (uint32_t i = 0; i < PACKETS; ++i)
    packet_name(queue, reserved.packet + i, NULL);
  hsa_signal_t own =
      submit_begin(queue, &reserved, &(submission_t){.packets = PACKETS, .signals = 1});
  packet_put_barrier(packet_slot(queue, reserved.packet + 1), own);
  packet_put_barrier(packet_slot(queue, reserved.packet), (hsa_signal_t){hsa_signal});
  submit_ring(queue, &reserved, PACKETS);
  if (ticket)
    *ticket = reserved.ticket;
  return RAWHAL_OK;
}

rawhal_status_t rawhal_queue_ticket_signal(rawhal_queue_t *queue, rawhal_ticket_t ticket,
                                           uint64_t *hsa_signal, int64_t *value,
                                           rawhal_error_t *error)
{
  if (!hsa_signal || !value)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "hsa_signal or value is NULL");
  *hsa_signal = 0;
  *value = 0;
  hsa_signal_t signal = {0};
  int64_t target = 0;
  rawhal_status_t status = queue_dependency(queue, ticket, &signal, &target, error);
  if (status != RAWHAL_OK)
    return status;
  /* Of one that has finished: the signal only falls, so it is at most this for ever. */
  *hsa_signal = queue_slot(queue, ticket)->signal.handle;
  *value = signal.handle ? target : queue_slot_value(queue_slot(queue, ticket));
  return RAWHAL_OK;
}
