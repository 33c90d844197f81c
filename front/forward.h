/* What the program announces, into the device's ring. Internal. */
#ifndef RAWHAL_FRONT_FORWARD_H
#define RAWHAL_FRONT_FORWARD_H

#include "front/proxy.h"

/* A doorbell of the program's. */
void proxy_ring(proxy_t *proxy);
/* Packets of the program's ring that the device has taken. */
uint64_t proxy_read_index(proxy_t *proxy);

/* Forwards what is announced, as far as the limiter admits. The caller holds the lock. */
void proxy_forward(proxy_t *proxy);

/* What never fits, is refused, or hangs is an error of the queue, as if the device could not run
 * it: what is on the device is cut off, and charged up to here, however long the program keeps the
 * queue. The program hears of it when the lock, which the caller holds, is let go. False. */
bool proxy_fail(proxy_t *proxy, hsa_status_t status, const char *why);

#endif
