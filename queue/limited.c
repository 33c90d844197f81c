#include "queue/limited.h"
#include "queue/transfer.h"

#include "base/error.h"

#include <hsa/amd_hsa_queue.h>
#include <string.h>

/* The grant of the ticket a slot holds: a cache line. */
struct queue_grant {
  _Alignas(64) _Atomic uint64_t ticket; /* 0: none, or settled */
  limit_grant_t grant;
};

_Static_assert((int)CREDIT_BLOCK_BYTES == (int)KERNARG_BLOCK_BYTES, "what leases count in");
_Static_assert(sizeof(queue_grant_t) == 64, "a submission should touch one line of grants");

static queue_grant_t *grant_of(const rawhal_queue_t *queue, uint64_t ticket)
{
  return &queue->grants[ticket & (queue->ring.tickets - 1)];
}

/* ---- What the limiter asks of a queue ---- */

/* The device has let go of the queue at `at`: what finished before is charged by its times, the
 * rest for as long as it can have run. Takes the lock without a lease, too: so the thread that
 * destroys the queue comes after the runtime's, which reported that the queue died. */
static void settle_all(rawhal_queue_t *queue, uint64_t at)
{
  if (queue->lease)
    queue_drain(queue);
  pthread_mutex_lock(&queue->drain_lock);
  for (uint32_t i = 0; queue->lease && i < queue->ring.tickets; ++i) {
    queue_grant_t *kept = &queue->grants[i];
    if (atomic_exchange(&kept->ticket, 0))
      limit_end(queue->lease, &kept->grant, at);
  }
  pthread_mutex_unlock(&queue->drain_lock);
}

void limited_settle_dead(rawhal_queue_t *queue)
{
  settle_all(queue, atomic_load(&queue->died_at));
}

static void reap(void *context)
{
  rawhal_queue_t *queue = context;
  if (queue_check(queue, NULL) == RAWHAL_OK)
    queue_drain(queue);
  else
    limited_settle_dead(queue);
}

static void sleep_until(void *context, uint64_t until)
{
  queue_wait_for_room(context, until);
}

/* ---- Memory ---- */

enum { PIPE_BYTES = 4096 }; /* the driver's buffer for ends of pipe, on the device */

/* The size of an allocation, if it lies on the device. */
static uint64_t bytes_on_device(const rawhal_queue_t *queue, const void *memory)
{
  const queue_device_t *device = queue->device;
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  hsa_status_t result = device->hsa->hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
  bool on_device = result == HSA_STATUS_SUCCESS && info.type == HSA_EXT_POINTER_TYPE_HSA &&
                   info.agentOwner.handle == device->agent.handle;
  return on_device ? info.sizeInBytes : 0;
}

/* Where the runtime puts rings is known when they are there: only then can they be counted. */
static rawhal_status_t reserve_rings(rawhal_queue_t *queue, rawhal_error_t *error)
{
  const amd_queue_t *amd = (const amd_queue_t *)(const void *)queue->hsa_queue;
  uint64_t bytes = PIPE_BYTES + bytes_on_device(queue, queue->kernargs) +
                   (queue->shared ? 0 : bytes_on_device(queue, queue->hsa_queue->base_address));
  rawhal_status_t status =
      limit_memory_reserve(queue->device->limiter, LEDGER_QUEUES, bytes, error);
  if (status != RAWHAL_OK)
    return status;
  queue->memory.rings = bytes;
  const queue_device_t *device = queue->device;
  scratch_begin(&queue->memory.scratch, device->limiter, device->agent.handle,
                queue->shared ? (uintptr_t)queue->hsa_queue : 0, (uint64_t)amd->max_cu_id + 1,
                &device->scratch);
  return RAWHAL_OK;
}

/* Of several threads the one that asked for most may be late: then what it writes here is too
 * little, and costs the next that asks for as much a look. */
static rawhal_status_t reserve_scratch(rawhal_queue_t *queue, uint32_t lane_bytes,
                                       rawhal_error_t *error)
{
  _Atomic uint32_t *known = &queue->memory.lane_bytes;
  if (lane_bytes <= atomic_load_explicit(known, memory_order_relaxed))
    return RAWHAL_OK;
  rawhal_status_t status = scratch_grow(&queue->memory.scratch, lane_bytes, error);
  if (status == RAWHAL_OK)
    atomic_store_explicit(known, lane_bytes, memory_order_relaxed);
  return status;
}

void limited_give_back(rawhal_queue_t *queue)
{
  rawhal_limiter_t *limiter = queue->device->limiter;
  if (queue->memory.rings)
    limit_memory_release(limiter, LEDGER_QUEUES, queue->memory.rings);
  scratch_keep(&queue->memory.scratch);
}

/* ---- Creating ---- */

rawhal_status_t limited_create(rawhal_queue_t *queue, uint64_t share, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = queue->device->limiter;
  if (!limiter && share)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a queue can only have a share of a device that has limits");
  if (!limiter)
    return RAWHAL_OK;
  size_t bytes = queue->ring.tickets * sizeof(*queue->grants);
  queue->grants = allocate_aligned(queue->device->allocator, bytes, _Alignof(queue_grant_t));
  if (!queue->grants)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a queue");
  memset(queue->grants, 0, bytes);
  rawhal_status_t status = reserve_rings(queue, error);
  if (status != RAWHAL_OK)
    return status;
  limit_queue_t callbacks = {queue, reap, sleep_until};
  status = limit_lease_create(limiter, &callbacks, share ? share : RAWHAL_UNLIMITED, &queue->lease,
                              error);
  return status == RAWHAL_OK && limit_is_shared(queue->lease) ? callbacks_watch(queue, error)
                                                              : status;
}

void limited_destroy(rawhal_queue_t *queue)
{
  uint64_t died = atomic_load(&queue->died_at);
  settle_all(queue, died ? died : deadline_now());
  limit_lease_destroy(queue->lease);
  queue->lease = NULL;
  allocate_free(queue->device->allocator, queue->grants);
  queue->grants = NULL;
}

/* ---- Admission ---- */

static limit_shape_t shape_of(const rawhal_dispatch_t *dispatch)
{
  const rawhal_device_kernel_t *kernel = dispatch->kernel;
  uint64_t workgroups = 1;
  for (int d = 0; d < 3; ++d) { /* neither is 0; most dimensions need no division */
    uint32_t grid = dispatch->work_items[d], group = dispatch->workgroup[d];
    uint32_t along = grid <= group ? 1 : (grid - 1) / group + 1;
    if (__builtin_mul_overflow(workgroups, along, &workgroups))
      workgroups = UINT64_MAX;
  }
  return (limit_shape_t){.key = limit_key(kernel->info.kernel_object, workgroups),
                         .workgroups = workgroups,
                         .largest_grid = workgroups,
                         .kernarg_bytes = (uint64_t)kernel->block_count * KERNARG_BLOCK_BYTES,
                         .launches = 1};
}

static uint32_t most_scratch(const batch_t *batch)
{
  uint32_t most = 0;
  for (size_t i = 0; i < batch->count; ++i) {
    uint32_t bytes = batch_at(batch, i)->kernel->info.private_segment_size;
    most = bytes > most ? bytes : most;
  }
  return most;
}

limited_shape_t limited_shape(const batch_t *batch)
{
  limited_shape_t whole = {0};
  limit_shape_t *cost = &whole.cost;
  for (size_t i = 0; i < batch->count; ++i) {
    limit_shape_t one = shape_of(batch_at(batch, i));
    cost->key = cost->key * 31 + one.key;
    if (__builtin_add_overflow(cost->workgroups, one.workgroups, &cost->workgroups))
      cost->workgroups = UINT64_MAX;
    if (one.largest_grid > cost->largest_grid)
      cost->largest_grid = one.largest_grid;
    cost->kernarg_bytes += one.kernarg_bytes;
    ++cost->launches;
  }
  cost->key |= 1; /* never 0 */
  whole.lane_bytes = most_scratch(batch);
  return whole;
}

void limited_keep(rawhal_queue_t *queue, const limit_grant_t *grant, uint64_t ticket)
{
  /* A thread that sees the slot's ticket, which is published later, sees this. */
  queue_grant_t *kept = grant_of(queue, ticket);
  kept->grant = *grant;
  atomic_store_explicit(&kept->ticket, ticket, memory_order_release);
}

rawhal_status_t limited_admit(rawhal_queue_t *queue, const limited_shape_t *shape,
                              uint64_t deadline, limit_grant_t *grant, rawhal_error_t *error)
{
  rawhal_status_t status = reserve_scratch(queue, shape->lane_bytes, error);
  return status == RAWHAL_OK ? limit_admit_one(queue->lease, &shape->cost, deadline, grant, error)
                             : status;
}

/* Reserves room for what was admitted, and keeps the grant. */
static rawhal_status_t reserve(rawhal_queue_t *queue, limit_grant_t *grant, uint32_t packets,
                               uint32_t blocks, uint64_t deadline, ring_reservation_t *reserved,
                               rawhal_error_t *error)
{
  rawhal_status_t status = submit_reserve(queue, packets, blocks, deadline, reserved, error);
  if (status != RAWHAL_OK) {
    limit_cancel(queue->lease, grant);
    return status;
  }
  limited_keep(queue, grant, reserved->ticket);
  return RAWHAL_OK;
}

static rawhal_status_t admit(rawhal_queue_t *queue, const batch_t *batch, uint64_t deadline,
                             limit_grant_t *grant, rawhal_error_t *error)
{
  if (batch->count == 1) {
    limit_shape_t shape = shape_of(batch->first);
    return limit_admit_one(queue->lease, &shape, deadline, grant, error);
  }
  limit_cost_t cost;
  limit_cost_begin(&cost);
  for (size_t i = 0; i < batch->count; ++i) {
    limit_shape_t shape = shape_of(batch_at(batch, i));
    limit_cost_add(queue->lease, &cost, &shape);
  }
  return limit_admit(queue->lease, &cost, deadline, grant, error);
}

rawhal_status_t limited_reserve(rawhal_queue_t *queue, const batch_t *batch, uint32_t blocks,
                                uint64_t deadline, ring_reservation_t *reserved,
                                rawhal_error_t *error)
{
  limit_grant_t grant;
  rawhal_status_t status = reserve_scratch(queue, most_scratch(batch), error);
  if (status == RAWHAL_OK)
    status = admit(queue, batch, deadline, &grant, error);
  return status == RAWHAL_OK
             ? reserve(queue, &grant, (uint32_t)batch->count + closing_packets(queue), blocks,
                       deadline, reserved, error)
             : status;
}

rawhal_status_t limited_reserve_shape(rawhal_queue_t *queue, const limited_shape_t *shape,
                                      uint32_t packets, uint32_t blocks, uint64_t deadline,
                                      ring_reservation_t *reserved, rawhal_error_t *error)
{
  limit_grant_t grant;
  rawhal_status_t status = limited_admit(queue, shape, deadline, &grant, error);
  return status == RAWHAL_OK ? reserve(queue, &grant, packets, blocks, deadline, reserved, error)
                             : status;
}

uint64_t rawhal_queue_retry_at(const rawhal_queue_t *queue)
{
  return queue && queue->lease ? limit_retry_at(queue->lease) : 0;
}

/* ---- Charging ---- */

static uint64_t ticks_to_ns(const queue_device_t *device, uint64_t ticks)
{
  static const uint64_t ns_hz = 1000000000u; /* which it mostly is */
  const uint64_t hz = device->timestamp_hz;
  return hz == ns_hz ? ticks : (uint64_t)((unsigned __int128)ticks * ns_hz / hz);
}

/* When it ran; what is not known is 0. */
static queue_times_t times_of(const rawhal_queue_t *queue, const queue_slot_t *slot)
{
  queue_times_t times;
  if (queue_slot_times(queue, slot, &times) != HSA_STATUS_SUCCESS)
    return (queue_times_t){0};
  if (slot->packets > 1 && !slot->begins && !slot->timed && !transfer_is_one_copy(queue, slot))
    times.start = 0; /* is that of one of them, which may have begun last */
  return times;
}

void limited_complete(rawhal_queue_t *queue, uint64_t first, uint64_t end)
{
  limit_completion_t all[LIMITED_AT_ONCE];
  size_t count = 0;
  for (uint64_t ticket = first; ticket < end; ++ticket) {
    queue_grant_t *kept = grant_of(queue, ticket);
    uint64_t holder = ticket;
    if (!atomic_compare_exchange_strong(&kept->ticket, &holder, 0))
      continue; /* a barrier's ticket has no grant */
    queue_times_t times = times_of(queue, queue_slot(queue, ticket));
    all[count++] = (limit_completion_t){&kept->grant, ticks_to_ns(queue->device, times.start),
                                        ticks_to_ns(queue->device, times.end)};
  }
  limit_complete_all(queue->lease, all, count);
}
