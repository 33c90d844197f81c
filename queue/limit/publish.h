/* What a process tells others of what it has in flight, and those who wait. Internal to this
 * folder. */
#ifndef RAWHAL_QUEUE_LIMIT_PUBLISH_H
#define RAWHAL_QUEUE_LIMIT_PUBLISH_H

#include "queue/limit/limiter.h"

/* Since when something in flight can have been running; 0: nothing is. The caller holds the lock.
 */
uint64_t limiter_busy_since(const rawhal_limiter_t *limiter);

/* Says that chances may have changed, and wakes sleeping threads. */
void limiter_signal(rawhal_limiter_t *limiter);
void limit_signal_node(const limit_clock_t *clock, region_node_t *node);
/* Tells others what is in flight here, and since when something has been running. The caller holds
 * the lock. */
void limiter_publish_open(rawhal_limiter_t *limiter, uint64_t now);
/* Parts of it, which need no lock: how much, and that something runs now, if nothing did. */
void limiter_publish_load(rawhal_limiter_t *limiter);
void limiter_publish_start(rawhal_limiter_t *limiter, uint64_t now);

#endif
