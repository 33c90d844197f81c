/* What other processes do on the device, as one looks around before it admits. Internal. */
#ifndef RAWHAL_QUEUE_LIMIT_SURROUNDINGS_H
#define RAWHAL_QUEUE_LIMIT_SURROUNDINGS_H

#include "queue/limit/limiter.h"

typedef struct surroundings {
  uint64_t tenant_open, device_open; /* estimated ns in flight, of others */
  uint32_t tenant_members;           /* with us */
  bool yield_tenant, yield_device;   /* somebody who waits there goes first */
  bool others_wait;
  uint64_t least_served; /* of those that are active; UINT64_MAX: nobody is */
} surroundings_t;

/* `mine`: what we have in flight, without what is to be admitted. The caller holds the lock. */
void look_around(const rawhal_limiter_t *limiter, uint64_t now, uint64_t mine,
                 surroundings_t *around);

#endif
