// What C++ cannot include: how many threads wait for a semaphore.
#ifndef RAWHAL_TESTS_QUEUE_WAITS_SHIM_H
#define RAWHAL_TESTS_QUEUE_WAITS_SHIM_H

#include <rawhal/semaphore.h>

#ifdef __cplusplus
extern "C" {
#endif

uint32_t shim_host_waits(const rawhal_semaphore_t *semaphore);

#ifdef __cplusplus
}
#endif

#endif
