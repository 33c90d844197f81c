/* What newer runtimes are told of scratch, and the scratch of queues without a proxy, whose packets
 * nobody sees: where only memory is limited. Internal. */
#ifndef RAWHAL_FRONT_SCRATCH_H
#define RAWHAL_FRONT_SCRATCH_H

#include "front/front.h"

typedef struct scratch_watched scratch_watched_t;

/* When the devices are known, as scratch_open(); and has a newer runtime keep no more. */
void scratch_begin_all(void);
/* Of the device's own queue, while the program cannot write what the runtime wrote of it. */
void scratch_begin_of(const front_device_t *device, const hsa_queue_t *queue,
                      scratch_queue_t *scratch);

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
