/* Queues that have no proxy: what their handlers get is told first. Internal.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_PLAIN_QUEUES_H
#define RAWHAL_FRONT_PLAIN_QUEUES_H

#include "front/front.h"

void plain_queues_hooks(front_calls_t *hooks);
typedef void plain_queue_visitor(void *context, const hsa_queue_t *queue);
/* Those of the device, which nobody destroys meanwhile. */
void plain_queues_each(const front_device_t *device, plain_queue_visitor *visitor, void *context);
/* As faults_close() and faults_abandon(), which call them. */
void plain_queues_close(void);
void plain_queues_abandon(void);

#endif
