/* Hooks of memory: memory.c, imports.c and vmem.c. Internal. */
#ifndef RAWHAL_FRONT_MEMORY_H
#define RAWHAL_FRONT_MEMORY_H

#include "front/front.h"

void memory_hooks(front_calls_t *hooks);
/* Of a queue that has no proxy. */
hsa_status_t memory_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue);
hsa_status_t memory_queue_destroy(hsa_queue_t *queue);
void imports_hooks(front_calls_t *hooks);
void vmem_hooks(front_calls_t *hooks);

#endif
