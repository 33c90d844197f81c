/* What happens when the device stops a queue. Internal. */
#ifndef RAWHAL_QUEUE_FAULT_H
#define RAWHAL_QUEUE_FAULT_H

#include "queue/internal.h"

/* What has not finished fails, because the queue is being destroyed: the device is done with it. */
void queue_abandon(rawhal_queue_t *queue);
void queue_error_callback(hsa_status_t status, hsa_queue_t *hsa_queue, void *data);
/* From then on the queue is dying, and stays until whoever got true has made it die, without
 * locks: the first cause counts. It is called with the list's lock, or by who uses the queue. */
bool queue_doom(rawhal_queue_t *queue);
/* Waits until nobody makes the queue die any more: before it goes away. */
void queue_await_death(const rawhal_queue_t *queue);
/* A queue that is doomed does not get on, says `what`; `waits`: for what a barrier waits; NULL: a
 * kernel runs that does not end. */
void queue_fail_hang(rawhal_queue_t *queue, const char *waits, const char *what);
/* Fails every queue of an agent, with what is known of the fault. Safe from the runtime's event
 * thread; without locks. */
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
