#include "queue/shared.h"

#include "queue/wait.h"

#include "base/error.h"

#include <hsa/amd_hsa_queue.h>

void shared_nap(void)
{
  clock_nap(50000);
}

/* Acquire: the device has read the packets before. Where the runtime documents it
 * (amd_hsa_queue.h), as with signals. */
static uint64_t read_index(const hsa_queue_t *shared)
{
  const amd_queue_t *amd = (const amd_queue_t *)(const void *)shared;
  return __atomic_load_n(&amd->read_dispatch_id, __ATOMIC_ACQUIRE);
}

/* The packets are free as the device reads them, whoever wrote them. */
static bool take_packets(rawhal_queue_t *queue, uint32_t packets, uint64_t *first)
{
  const hsa_table_t *hsa = queue->device->hsa;
  hsa_queue_t *shared = queue->hsa_queue;
  uint64_t write = hsa->hsa_queue_load_write_index_scacquire(shared);
  for (;;) {
    uint64_t read = read_index(shared);
    if (write + packets - read > shared->size)
      return false;
    uint64_t found = hsa->hsa_queue_cas_write_index_scacq_screl(shared, write, write + packets);
    if (found == write)
      break;
    write = found;
  }
  *first = write;
  return true;
}

/* A ticket that has finished already, in whose place nothing was submitted. */
static void abandon(rawhal_queue_t *queue, uint64_t ticket, uint32_t packets, uint32_t blocks)
{
  queue_slot_t *slot = queue_slot(queue, ticket);
  atomic_store(&slot->packet, 0);
  atomic_store(&slot->packets, packets);
  atomic_store(&slot->blocks, blocks);
  atomic_store(&slot->kernel, NULL);
  atomic_store(&slot->traits, 0);
  atomic_store_explicit(&slot->ticket, ticket, memory_order_release);
  callbacks_skip(queue);
}

/* OK: look again. */
static rawhal_status_t try_again(rawhal_queue_t *queue, uint32_t packets, uint64_t deadline,
                                 rawhal_error_t *error)
{
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK && deadline == 0)
    status = rawhal_fail(error, RAWHAL_WOULD_BLOCK, "no room for %u packets now", packets);
  else if (status == RAWHAL_OK && deadline != RAWHAL_FOREVER && clock_now() >= deadline)
    status =
        rawhal_fail(error, RAWHAL_TIMED_OUT, "no room for %u packets before the deadline", packets);
  if (status == RAWHAL_OK)
    shared_nap();
  return status;
}

rawhal_status_t shared_await(rawhal_queue_t *queue, uint32_t packets, uint64_t deadline,
                             rawhal_error_t *error)
{
  const hsa_table_t *hsa = queue->device->hsa;
  rawhal_status_t status = RAWHAL_OK;
  while (status == RAWHAL_OK) {
    uint64_t read = read_index(queue->hsa_queue);
    uint64_t write = hsa->hsa_queue_load_write_index_scacquire(queue->hsa_queue);
    if (write + packets - read <= queue->hsa_queue->size)
      break;
    status = try_again(queue, packets, deadline, error);
  }
  return status;
}

rawhal_status_t shared_reserve(rawhal_queue_t *queue, uint32_t packets, uint32_t blocks,
                               uint64_t deadline, ring_reservation_t *reserved,
                               rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  while (status == RAWHAL_OK && !take_packets(queue, packets, &reserved->packet))
    status = try_again(queue, packets, deadline, error);
  if (status != RAWHAL_OK)
    abandon(queue, reserved->ticket, packets, blocks);
  return status;
}

bool shared_try(rawhal_queue_t *queue, uint32_t tickets, uint32_t packets, uint32_t blocks,
                ring_reservation_t *reserved)
{
  bool taken = take_packets(queue, packets, &reserved->packet);
  for (uint32_t i = 0; !taken && i < tickets; ++i) /* the first has the room of all */
    abandon(queue, reserved->ticket + i, i ? 0 : packets, i ? 0 : blocks);
  return taken;
}

bool shared_end(rawhal_queue_t *queue)
{
  uint64_t deadline = rawhal_deadline_after(CLOCK_SECOND);
  for (;;) {
    queue_drain(queue);
    if (queue_check(queue, NULL) != RAWHAL_OK)
      return true; /* the runtime has stopped it */
    if (ring_finished(&queue->ring) == ring_last_ticket(&queue->ring))
      return true;
    if (clock_now() >= deadline)
      return false;
    shared_nap();
  }
}
