/* What queues have of scratch, and what the runtime keeps of those that have ended. Internal. */
#ifndef RAWHAL_FRONT_SCRATCH_H
#define RAWHAL_FRONT_SCRATCH_H

#include "front/proxy.h"

/* What ROCr keeps for a queue at most, in bytes (DEFAULT_SCRATCH_SINGLE_LIMIT), unless the
 * environment says otherwise. */
enum { SCRATCH_KEPT = 146800640 };

/* When the devices are known and before there are queues: reads the environment, which the runtime
 * has just read, and has a newer one keep no more. */
void scratch_open(void);
/* Of a queue, in bytes: beyond that nothing is charged. */
uint64_t scratch_most(void);
/* Before the device may see a dispatch that asks for so much a lane. On failure nothing has
 * changed. The caller holds the proxy's lock, or is alone with it. */
RAWHAL_CHECKED rawhal_status_t scratch_grow(proxy_t *proxy, uint32_t lane_bytes,
                                            rawhal_error_t *error);
/* The runtime has taken the queue's for the next that asks. */
void scratch_keep(proxy_t *proxy);
/* When the runtime ends, without queues. */
void scratch_forget(void);
void scratch_abandon(void);

#endif
