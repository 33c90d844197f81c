/* Device time by half seconds, for those who look on. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_USAGE_H
#define RAWHAL_QUEUE_LIMIT_USAGE_H

#include "queue/limit/region.h"

/* `ns` of device time within [start, end), CLOCK_MONOTONIC. */
void usage_add(region_usage_t *usage, uint64_t start, uint64_t end, uint64_t ns);
void usage_take(region_usage_t *usage, uint64_t start, uint64_t end, uint64_t ns);

/* Of the whole half seconds that make up the latest `window`, at most a minute. */
uint64_t usage_sum(const region_usage_t *usage, uint64_t now, uint64_t window);

#endif
