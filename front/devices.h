/* Which agents are limited, and what the runtime tells of devices and time. Internal. */
#ifndef RAWHAL_FRONT_DEVICES_H
#define RAWHAL_FRONT_DEVICES_H

#include "front/front.h"

/* The runtime's clock, in ns. */
uint64_t front_now(void);

/* Finds the devices and opens the limiters that the environment configures.
 * INVALID_ARGUMENT and others of rawhal_limit_config_environment(), UNSUPPORTED: a limit that the
 * front does not enforce. */
RAWHAL_CHECKED rawhal_status_t devices_open(rawhal_error_t *error);
/* What front_now() needs; comes first. RUNTIME. */
RAWHAL_CHECKED rawhal_status_t devices_clock(rawhal_error_t *error);
void devices_close(void);
/* NULL: not there, or not limited. */
front_device_t *device_of_agent(hsa_agent_t agent);
front_device_t *device_of_pool(hsa_amd_memory_pool_t pool);
/* Limited or not. NULL: no GPU. */
front_device_t *device_known(hsa_agent_t agent);
front_device_t *device_with_pool(hsa_amd_memory_pool_t pool);
/* What the runtime knows of an address. False: it does not say. */
bool devices_pointer(const void *address, hsa_amd_pointer_info_t *info);
/* Of the host, where every device reaches it; NULL: there is none. */
void *devices_shared_memory(size_t size);
/* Is any limit configured, as far as can be told without devices? When in doubt, it is. */
bool devices_limits_wanted(void);
/* Can what is configured be enforced, for whatever devices, as far as can be told without them?
 * Fails as devices_open(), and as opening the region. `*limits`: anything is configured. */
RAWHAL_CHECKED rawhal_status_t devices_check(bool *limits, rawhal_error_t *error);

#endif
