/* What a queue has of its device's limits, from its making to its end. */
#include "queue/limit/memory.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/error.h"

#include <string.h>

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
                       "a queue can have a share only of a device with limits");
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
  const limit_queue_t reached = queue_reached(queue);
  status = limit_lease_create(limiter, &reached, share ? share : RAWHAL_UNLIMITED,
                              &queue->gate.lease, error);
  return status == RAWHAL_OK && limit_is_shared(queue->gate.lease) ? callbacks_watch(queue, error)
                                                                   : status;
}

void charge_close(rawhal_queue_t *queue)
{
  limit_lease_destroy(queue->gate.lease);
  queue->gate.lease = NULL;
  allocate_free(queue->device->allocator, queue->grants);
  queue->grants = NULL;
}

/* ---- Grants ---- */

/* A thread that sees the slot's ticket, which is published later, sees this. */
void charge_keep(rawhal_queue_t *queue, const limit_grant_t *grant, uint64_t ticket)
{
  queue_grant_t *kept = charge_grant(queue, ticket);
  kept->grant = *grant;
  atomic_store_explicit(&kept->ticket, ticket, memory_order_release);
}

uint64_t rawhal_queue_retry_at(const rawhal_queue_t *queue)
{
  return queue && queue->gate.lease ? limit_retry_at(queue->gate.lease) : 0;
}
