/* Launches of several parts: all of it is admitted and gets its places at once, and then each part
 * is submitted there, as it would be alone. Steps of timelines come first, as they need what was
 * checked with their lock; the device does not come to them before the parts that are in front. */
#include "queue/graph/exec.h"
#include "queue/wait.h"

#include "base/error.h"
#include "queue/charge.h"
#include "queue/parts.h"
#include "queue/timeline/timeline.h"

#include <string.h>

/* A launch. */
typedef struct launch {
  rawhal_queue_t *queue;
  const rawhal_graph_exec_t *exec;
  const bindings_t *bindings;
  uint32_t packets;           /* of all parts */
  const limit_grant_t *grant; /* NULL: nothing is limited */
  timeline_request_t timeline;
} launch_t;

static uint32_t packets_of(const launch_t *launch, const exec_part_t *part)
{
  return part->packets + (part->kind == EXEC_KERNELS ? closing_packets(launch->queue) : 0);
}

/* Where a part has been reserved, from the first on; `*at` moves on. */
static ring_reservation_t next_part(const launch_t *launch, uint32_t i, ring_reservation_t *at)
{
  const exec_parts_t *parts = launch->exec->parts;
  const exec_part_t *part = &parts->each[i];
  ring_reservation_t is = *at;
  is.part = traits_of_part(i, parts->count, part->kind == EXEC_TIMELINE);
  ++at->ticket;
  at->packet += packets_of(launch, part);
  return is;
}

/* A part that is not kernels has packets of its own, all with its first node's label. */
static void label_part(const launch_t *launch, const exec_part_t *part, uint64_t packet)
{
  const char *label = launch->exec->nodes[part->first].node.label;
  for (uint32_t i = 0; *label && i < part->packets; ++i)
    label_keep(launch->queue, packet + i, label);
}

/* ---- Parts ---- */

static void submit_timelines(const launch_t *launch, const timeline_plan_t *plan,
                             ring_reservation_t at)
{
  const exec_parts_t *parts = launch->exec->parts;
  timeline_part_t points = {0, 0};
  for (uint32_t i = 0, timelines = 0; i < parts->count; ++i) {
    const ring_reservation_t reserved = next_part(launch, i, &at);
    if (parts->each[i].kind != EXEC_TIMELINE)
      continue;
    label_part(launch, &parts->each[i], reserved.packet);
    timeline_submit(launch->queue, &launch->timeline, plan, &points, timelines++,
                    parts->each[i].packets, &reserved);
  }
  timeline_placed(launch->queue, plan);
}

/* A part of it that moves bytes. */
typedef struct moving {
  const launch_t *launch;
  const exec_part_t *part;
  const ring_reservation_t *reserved;
} moving_t;

/* The last that was bound. */
static const queue_transfer_t *instead(const void *context, const queue_transfer_t *transfer)
{
  const launch_t *launch = ((const moving_t *)context)->launch;
  const bound_parts_t *bound = launch->bindings->bound;
  const size_t item = (size_t)(transfer - launch->exec->parts->transfers->of->each);
  for (uint32_t i = bound->transfer_count; i-- > 0;)
    if (bound->transfers[i].item == item)
      return &bound->transfers[i].is;
  return transfer;
}

/* Nothing behind it is made, and its steps of timelines are there already. */
static void refused(const void *context, const rawhal_error_t *cause)
{
  const moving_t *moving = context;
  const uint64_t first = moving->reserved->ticket;
  rawhal_error_t own = *cause;
  (void)!rawhal_fail_of(&own, own.status, "node %u", moving->part->first);
  timeline_fail(moving->launch->queue, first, first + parts_after(moving->reserved->part), &own);
}

static rawhal_status_t submit_transfers(const launch_t *launch, const exec_part_t *part,
                                        const ring_reservation_t *reserved, rawhal_error_t *error)
{
  exec_transfers_t *all = launch->exec->parts->transfers;
  const moving_t moving = {launch, part, reserved};
  const transfers_t transfers = {.count = part->item_count,
                                 .each = all->of->each + part->item,
                                 .instead =
                                     launch->bindings->bound->transfer_count ? instead : NULL,
                                 .refused = launch->exec->parts->points ? refused : NULL,
                                 .context = &moving};
  label_part(launch, part, reserved->packet);
  return transfers_submit(launch->queue, &transfers, &all->owner, reserved, error);
}

/* Its place is used up. */
static void skip(const launch_t *launch, const exec_part_t *part, uint32_t blocks,
                 const ring_reservation_t *reserved)
{
  rawhal_queue_t *queue = launch->queue;
  const uint32_t packets = packets_of(launch, part);
  for (uint32_t i = 0; i < packets; ++i)
    packet_name(queue, reserved->packet + i, NULL);
  const hsa_signal_t signal = submit_begin(
      queue, reserved, &(submission_t){.packets = packets, .blocks = blocks, .signals = 1});
  for (uint32_t i = packets; i-- > 0;)
    packet_put_barrier(packet_slot(queue, reserved->packet + i),
                       i + 1 == packets ? signal : (hsa_signal_t){0});
  submit_ring(queue, reserved, packets);
}

/* The last that runs kernels gives back what all of them have of the kernarg ring. */
static uint32_t last_of_kernels(const exec_parts_t *parts)
{
  uint32_t last = parts->count;
  for (uint32_t i = 0; i < parts->count; ++i)
    last = parts->each[i].kind == EXEC_KERNELS ? i : last;
  return last;
}

/* All but timelines. From a transfer on that the runtime does not start nothing runs. */
static rawhal_status_t submit_parts(const launch_t *launch, ring_reservation_t at,
                                    rawhal_error_t *error)
{
  const rawhal_graph_exec_t *exec = launch->exec;
  const uint32_t last = last_of_kernels(exec->parts);
  const unsigned char *images = launch_images(launch->queue, exec, launch->bindings, &at);
  rawhal_status_t status = RAWHAL_OK;
  for (uint32_t i = 0; i < exec->parts->count; ++i) {
    const exec_part_t *part = &exec->parts->each[i];
    const ring_reservation_t reserved = next_part(launch, i, &at);
    const uint32_t blocks = i == last ? exec->blocks : 0;
    if (part->kind == EXEC_TIMELINE)
      continue;
    if (status != RAWHAL_OK) {
      skip(launch, part, blocks, &reserved);
    } else if (part->kind == EXEC_KERNELS) {
      launch_kernels(launch->queue, exec, part, launch->bindings, images, blocks, &reserved);
    } else {
      status = rawhal_fail_of(error, submit_transfers(launch, part, &reserved, error), "node %u",
                              part->first);
    }
  }
  return status;
}

/* ---- The whole ---- */

static rawhal_status_t reserve(const launch_t *launch, ring_reservation_t *reserved, bool *placed,
                               rawhal_error_t *error)
{
  rawhal_queue_t *queue = launch->queue;
  const exec_parts_t *parts = launch->exec->parts;
  timeline_plan_t plan;
  rawhal_status_t status = RAWHAL_OK;
  *placed = false;
  if (parts->points) {
    timelines_lock();
    status = timeline_plan(queue, &launch->timeline, &plan, error);
  }
  if (status == RAWHAL_OK)
    *placed = submit_try(queue, parts->count, launch->packets, launch->exec->blocks, reserved);
  if (*placed && launch->grant)
    charge_keep(queue, launch->grant, reserved->ticket + parts->count - 1);
  if (*placed && parts->points)
    submit_timelines(launch, &plan, *reserved);
  else if (status == RAWHAL_OK && parts->points)
    timeline_drop(&plan);
  if (parts->points)
    timelines_unlock();
  return status;
}

/* `*placed` false with OK: there is no room. */
static rawhal_status_t place(const launch_t *launch, ring_reservation_t *reserved, bool *placed,
                             rawhal_error_t *error)
{
  const exec_parts_t *parts = launch->exec->parts;
  rawhal_error_t own = {0}; /* which timelines are told, whether the caller asks or not */
  if (parts->transfers)
    transfers_enter();
  rawhal_status_t status = reserve(launch, reserved, placed, error);
  if (*placed)
    status = submit_parts(launch, *reserved, &own);
  if (parts->transfers)
    transfers_leave();
  if (*placed && status != RAWHAL_OK && error)
    *error = own;
  return status;
}

static rawhal_status_t place_until(const launch_t *launch, uint64_t deadline,
                                   ring_reservation_t *reserved, bool *placed,
                                   rawhal_error_t *error)
{
  rawhal_queue_t *queue = launch->queue;
  for (bool again = false;; again = true) {
    rawhal_status_t status = queue_check(queue, error);
    if (status != RAWHAL_OK)
      return status;
    status = place(launch, reserved, placed, error);
    if (*placed || status != RAWHAL_OK)
      return status;
    queue_drain(queue); /* which may make room */
    if (!again)
      continue;
    status = submit_no_room(launch->packets, launch->exec->blocks, deadline, error);
    if (status != RAWHAL_OK)
      return status;
    submit_wait_for_room(queue, deadline);
  }
}

/* All but that the device is the queue's. */
static rawhal_status_t check(const launch_t *launch, rawhal_error_t *error)
{
  const rawhal_graph_exec_t *exec = launch->exec;
  const ring_t *ring = &launch->queue->ring;
  if (exec->parts->count > ring->tickets || launch->packets > ring->packets ||
      exec->blocks > ring->blocks)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE,
                       "a launch of %u tickets, %u packets and %u kernarg blocks can never fit "
                       "into rings of %u, %u and %u",
                       exec->parts->count, launch->packets, exec->blocks, ring->tickets,
                       ring->packets, ring->blocks);
  return launch_check(launch->queue, exec, launch->bindings, error);
}

/* Points that are bound in place of the nodes'. */
static void bind_points(const launch_t *launch, rawhal_timepoint_t *points)
{
  const bound_parts_t *bound = launch->bindings->bound;
  const graph_points_t *all = launch->exec->parts->points;
  memcpy(points, all->each, (all->waits + all->signals) * sizeof(*points));
  for (uint32_t i = 0; i < bound->point_count; ++i)
    points[bound->points[i].item] = bound->points[i].is;
}

static rawhal_status_t admit(const launch_t *launch, uint64_t deadline, limit_grant_t *grant,
                             rawhal_error_t *error)
{
  const rawhal_graph_exec_t *exec = launch->exec;
  const limit_shape_t shape =
      launch->bindings->grids ? bindings_shape(exec, launch->bindings) : exec->shape;
  return gate_admit_one(&launch->queue->gate, &shape, exec->lane_bytes, deadline, grant, error);
}

rawhal_status_t launch_parts(rawhal_queue_t *queue, const rawhal_graph_exec_t *exec,
                             const bindings_t *bindings, uint64_t deadline, rawhal_ticket_t *ticket,
                             rawhal_error_t *error)
{
  const exec_parts_t *parts = exec->parts;
  launch_t launch = {.queue = queue,
                     .exec = exec,
                     .bindings = bindings,
                     .packets = parts->packets + parts->kernels * closing_packets(queue)};
  rawhal_timepoint_t points[2 * RAWHAL_MAX_TIMEPOINTS];
  limit_grant_t grant;
  ring_reservation_t reserved;
  bool placed = false;
  rawhal_status_t status = check(&launch, error);
  if (status == RAWHAL_OK && queue->gate.lease && exec->shape.launches) {
    launch.grant = &grant;
    status = admit(&launch, deadline, &grant, error);
  }
  if (status != RAWHAL_OK)
    return status;
  if (parts->points) {
    bind_points(&launch, points);
    launch.timeline = (timeline_request_t){.waits = points,
                                           .signals = points + parts->points->waits,
                                           .parts = parts->timeline,
                                           .part_count = parts->timelines};
  }
  status = place_until(&launch, deadline, &reserved, &placed, error);
  if (!placed && launch.grant)
    limit_cancel(queue->gate.lease, &grant);
  if (ticket && status == RAWHAL_OK)
    *ticket = reserved.ticket + parts->count - 1;
  return status;
}
