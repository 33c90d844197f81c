/* What happens when the device stops a queue. Internal. */
#ifndef RAWHAL_QUEUE_FAULT_H
#define RAWHAL_QUEUE_FAULT_H

#include "queue/internal.h"

/* What has not finished fails, because the queue is being destroyed: the device is done with it. */
void queue_abandon(rawhal_queue_t *queue);
void queue_error_callback(hsa_status_t status, hsa_queue_t *hsa_queue, void *data);
/* The queue does not get on, says `what`; `waits`: for what a barrier waits; NULL: a kernel runs
 * that does not end. */
void queue_fail_hang(rawhal_queue_t *queue, const char *waits, const char *what);
/* Fails every queue of an agent, with what is known of the fault. Safe from the runtime's event
 * thread. */
void queue_fail_agent(hsa_agent_t agent, rawhal_status_t status, const rawhal_fault_t *fault,
                      const char *what);
/* OK, or the cause when the queue has died. */
RAWHAL_CHECKED rawhal_status_t queue_check_dead(rawhal_queue_t *queue, rawhal_error_t *error);
RAWHAL_CHECKED static inline rawhal_status_t queue_check(rawhal_queue_t *queue,
                                                         rawhal_error_t *error)
{
  int health = atomic_load_explicit(&queue->health, memory_order_acquire);
  return __builtin_expect(health == QUEUE_ALIVE, 1) ? RAWHAL_OK : queue_check_dead(queue, error);
}

#endif
