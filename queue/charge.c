#include "queue/charge.h"
#include "queue/limit/memory.h"
#include "queue/transfer.h"

#include "base/error.h"

#include <string.h>

/* ---- What the limiter asks of a queue ---- */

/* The device has let go of the queue at `at`: what finished before is charged by its times, the
 * rest for as long as it can have run. Takes the lock without a lease, too: so the thread that
 * destroys the queue comes after the runtime's, which reported that the queue died. */
static void settle_all(rawhal_queue_t *queue, uint64_t at)
{
  if (queue->gate.lease)
    queue_drain(queue);
  pthread_mutex_lock(&queue->drain_lock);
  for (uint32_t i = 0; queue->gate.lease && i < queue->ring.tickets; ++i) {
    queue_grant_t *kept = &queue->grants[i];
    if (atomic_exchange(&kept->ticket, 0))
      limit_end(queue->gate.lease, &kept->grant, at);
  }
  pthread_mutex_unlock(&queue->drain_lock);
}

void charge_dead(rawhal_queue_t *queue)
{
  settle_all(queue, atomic_load(&queue->died_at));
}

static void reap(void *context)
{
  rawhal_queue_t *queue = context;
  if (queue_check(queue, NULL) == RAWHAL_OK)
    queue_drain(queue);
  else
    charge_dead(queue);
}

static void sleep_until(void *context, uint64_t until)
{
  queue_wait_for_room(context, until);
}

/* ---- Memory ---- */

/* The size of an allocation, if it lies on the device. */
static uint64_t bytes_on_device(const rawhal_queue_t *queue, const void *memory)
{
  const queue_device_t *device = queue->device;
  hsa_amd_pointer_info_t info = {.size = sizeof(info)};
  hsa_status_t result = device->hsa->hsa_amd_pointer_info(memory, &info, NULL, NULL, NULL);
  return result == HSA_STATUS_SUCCESS ? memory_on_device(&info, device->agent) : 0;
}

/* Where the runtime puts rings is known when they are there: only then can they be counted. */
static rawhal_status_t reserve_rings(rawhal_queue_t *queue, rawhal_error_t *error)
{
  uint64_t bytes = MEMORY_OF_QUEUE + bytes_on_device(queue, queue->kernargs) +
                   (queue->shared ? 0 : bytes_on_device(queue, queue->hsa_queue->base_address));
  rawhal_status_t status =
      limit_memory_reserve(queue->device->limiter, LEDGER_QUEUES, bytes, error);
  if (status != RAWHAL_OK)
    return status;
  queue->own_bytes = bytes;
  const queue_device_t *device = queue->device;
  scratch_begin(&queue->gate.scratch, device->limiter, device->agent, queue->hsa_queue,
                queue->shared, &device->scratch);
  return RAWHAL_OK;
}

void charge_give_back(rawhal_queue_t *queue)
{
  rawhal_limiter_t *limiter = queue->device->limiter;
  if (queue->own_bytes)
    limit_memory_release(limiter, LEDGER_QUEUES, queue->own_bytes);
  scratch_keep(&queue->gate.scratch);
}

/* ---- Creating ---- */

rawhal_status_t charge_open(rawhal_queue_t *queue, uint64_t share, rawhal_error_t *error)
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
  status = limit_lease_create(limiter, &callbacks, share ? share : RAWHAL_UNLIMITED,
                              &queue->gate.lease, error);
  return status == RAWHAL_OK && limit_is_shared(queue->gate.lease) ? callbacks_watch(queue, error)
                                                                   : status;
}

void charge_close(rawhal_queue_t *queue)
{
  uint64_t died = atomic_load(&queue->died_at);
  settle_all(queue, died ? died : deadline_now());
  limit_lease_destroy(queue->gate.lease);
  queue->gate.lease = NULL;
  allocate_free(queue->device->allocator, queue->grants);
  queue->grants = NULL;
}

uint64_t rawhal_queue_retry_at(const rawhal_queue_t *queue)
{
  return queue && queue->gate.lease ? limit_retry_at(queue->gate.lease) : 0;
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

void charge_finished(rawhal_queue_t *queue, uint64_t first, uint64_t end)
{
  limit_completion_t all[CHARGE_AT_ONCE];
  size_t count = 0;
  for (uint64_t ticket = first; ticket < end; ++ticket) {
    queue_grant_t *kept = charge_grant(queue, ticket);
    uint64_t holder = ticket;
    if (!atomic_compare_exchange_strong(&kept->ticket, &holder, 0))
      continue; /* a barrier's ticket has no grant */
    queue_times_t times = times_of(queue, queue_slot(queue, ticket));
    all[count++] = (limit_completion_t){&kept->grant, ticks_to_ns(queue->device, times.start),
                                        ticks_to_ns(queue->device, times.end)};
  }
  limit_complete_all(queue->gate.lease, all, count);
}
