/* Hooks of queues, and of the process's end: queues.c, described.c and ending.c. Internal. */
#ifndef RAWHAL_FRONT_QUEUES_H
#define RAWHAL_FRONT_QUEUES_H

#include "front/front.h"

void queues_hooks(front_calls_t *hooks);
void described_hooks(front_calls_t *hooks);
void ending_hooks(front_calls_t *hooks);
/* When the process ends: forwards what may go. */
void ending_forward(void);
/* Looks on all queues for what has ended. */
void queues_harvest(void);
/* Nothing is held back for want of a thread from here on: the process ends. */
void queues_end(void);
/* After that: waits for what is on the devices and is still `wanted`, for a second at most. */
void queues_settle(bool (*wanted)(void));
void queues_forget(void);
void queues_abandon(void);

#endif
