/* How much scratch the runtime lets a queue keep. Internal. */
#ifndef RAWHAL_FRONT_SCRATCH_H
#define RAWHAL_FRONT_SCRATCH_H

#include <stdint.h>

/* In bytes (DEFAULT_SCRATCH_SINGLE_LIMIT), unless the environment says otherwise. */
enum { SCRATCH_KEPT = 146800640 };

/* When the devices are known and before there are queues: reads the environment, which the runtime
 * has just read, and has a newer one keep no more. */
void scratch_open(void);
/* Of a queue, in bytes. */
uint64_t scratch_most(void);

#endif
