/* What newer runtimes are told of scratch, and the scratch of queues without a proxy, whose packets
 * nobody sees: where only memory is limited. Internal. */
#ifndef RAWHAL_FRONT_SCRATCH_H
#define RAWHAL_FRONT_SCRATCH_H

#include "front/front.h"

/* In bytes (DEFAULT_SCRATCH_SINGLE_LIMIT), unless the environment says otherwise. */
enum { SCRATCH_KEPT = 146800640 };

typedef struct scratch_watched scratch_watched_t;

/* When the devices are known and before there are queues: reads the environment, which the runtime
 * has just read, and has a newer one keep no more. */
void scratch_open(void);
/* Of a queue, in bytes. */
uint64_t scratch_most(void);

/* A queue has been made without a proxy, on a device that has limits. False: the scratch that it
 * was made with does not fit. */
bool scratch_watch(const front_device_t *device, const hsa_queue_t *queue, uint32_t private_bytes);
/* The queue is about to be destroyed; NULL: it is not watched. */
scratch_watched_t *scratch_unwatch(const hsa_queue_t *queue);
/* It has been, or, with `destroyed` false, has not and is watched again. NULL is allowed. */
void scratch_settle(scratch_watched_t *watched, bool destroyed);
/* Charges what these queues have been given since. */
void scratch_look(void);
/* When the runtime ends, without queues that have a proxy. */
void scratch_end(void);
void scratch_orphan(void); /* they are another process's */

#endif
