/* What happens when the device stops a queue: the cause is written down once, every submission in
 * flight keeps the count it had reached, and all waiting threads are woken. */
#include "queue/list.h"
#include "queue/transfer.h"
#include "queue/wait.h"

#include "base/error.h"

#include <sched.h>
#include <string.h>

/* The kernel that was running: in the oldest submission that has not finished, and there in the
 * packet the device reads, as far as it tells. NULL when nothing is in flight. */
static const rawhal_device_kernel_t *running_kernel(rawhal_queue_t *queue)
{
  uint64_t ticket = ring_finished(&queue->ring) + 1;
  const queue_slot_t *slot = queue_slot(queue, ticket);
  for (; atomic_load(&slot->ticket) == ticket; slot = queue_slot(queue, ++ticket)) {
    if (queue_slot_value(slot) <= atomic_load(&slot->target))
      continue;
    uint64_t last = slot->packet + slot->packets - 1;
    uint64_t read = queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue);
    return queue_kernel(queue, slot,
                        read < slot->packet ? slot->packet
                        : read > last       ? last
                                            : read);
  }
  return NULL;
}

/* The device's own words when it has some, and then the runtime's only as a name. */
static void cause_write(rawhal_queue_t *queue, rawhal_status_t status, int32_t hsa_status,
                        const char *what)
{
  char text[768] = "";
  if (queue->device->fault_text)
    queue->device->fault_text(queue->hsa_queue, text, sizeof(text));
  const rawhal_device_kernel_t *kernel = running_kernel(queue);
  rawhal_string_t name = kernel ? kernel->info.kernel->name : (rawhal_string_t){0};
  const char *who = kernel ? "kernel " : "the queue";
  if (*text)
    queue->cause.status =
        rawhal_fail(&queue->cause, status, "%s%.*s failed: %s (%.*s)", who,
                    RAWHAL_STRING_ARGS(name), text, (int)strcspn(what, ":"), what);
  else
    queue->cause.status = rawhal_fail(&queue->cause, status, "%s%.*s failed: %s", who,
                                      RAWHAL_STRING_ARGS(name), what);
  queue->cause.hsa_status = hsa_status;
}

/* True for one caller: the first cause counts. */
static bool death_begin(rawhal_queue_t *queue)
{
  int alive = QUEUE_ALIVE;
  return atomic_compare_exchange_strong(&queue->health, &alive, QUEUE_DYING);
}

/* The cause has been written. */
static void death_end(rawhal_queue_t *queue)
{
  atomic_store(&queue->died_at, clock_now());
  for (uint32_t i = 0; i < queue->ring.tickets; ++i) {
    queue_slot_t *slot = &queue->slots[i];
    slot->final = queue->device->hsa->hsa_signal_exchange_scacq_screl(slot->signal, QUEUE_POISON);
  }
  transfers_release(queue);
  atomic_store(&queue->health, QUEUE_DEAD);
}

static void queue_die(rawhal_queue_t *queue, rawhal_status_t status, int32_t hsa_status,
                      const char *what)
{
  if (!death_begin(queue))
    return;
  pthread_mutex_lock(&queue->drain_lock); /* what it reads of kernels stays loaded: queues_run() */
  cause_write(queue, status, hsa_status, what);
  pthread_mutex_unlock(&queue->drain_lock);
  if (queue->device->died)
    queue->device->died(queue->cause.message);
  death_end(queue);
  queue_settle(queue, atomic_load(&queue->died_at)); /* whichever thread looks next */
}

void queue_abandon(rawhal_queue_t *queue)
{
  if (!death_begin(queue))
    return;
  queue->cause.status = rawhal_fail(&queue->cause, RAWHAL_DEVICE_LOST,
                                    "the queue was destroyed before the ticket had finished");
  death_end(queue);
}

void queue_error_callback(hsa_status_t status, hsa_queue_t *hsa_queue, void *data)
{
  (void)hsa_queue;
  rawhal_queue_t *queue = data;
  queue_die(queue, RAWHAL_FAULT, (int32_t)status, hsa_status_text(queue->device->hsa, status));
}

rawhal_status_t rawhal_queue_report(rawhal_queue_t *queue, int32_t hsa_status,
                                    rawhal_error_t *error)
{
  if (!queue)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "queue is NULL");
  rawhal_status_t status = queue_check(queue, error);
  if (status == RAWHAL_OK)
    queue_error_callback((hsa_status_t)hsa_status, queue->hsa_queue, queue);
  return status;
}

typedef struct agent_failure {
  hsa_agent_t agent;
  rawhal_status_t status;
  const char *what;
} agent_failure_t;

static bool fail_one(rawhal_queue_t *queue, void *data)
{
  const agent_failure_t *failure = data;
  if (queue->device->agent.handle == failure->agent.handle && !queue->closing)
    queue_die(queue, failure->status, (int32_t)HSA_STATUS_ERROR_MEMORY_FAULT, failure->what);
  return false;
}

void queue_fail_agent(hsa_agent_t agent, rawhal_status_t status, const char *what)
{
  agent_failure_t failure = {agent, status, what};
  (void)queue_list_find(fail_one, &failure);
}

rawhal_status_t queue_check_dead(rawhal_queue_t *queue, rawhal_error_t *error)
{
  int health = atomic_load_explicit(&queue->health, memory_order_acquire);
  while (health == QUEUE_DYING) { /* another thread writes the cause, a matter of microseconds */
    sched_yield();
    health = atomic_load_explicit(&queue->health, memory_order_acquire);
  }
  if (error)
    *error = queue->cause;
  return queue->cause.status;
}
