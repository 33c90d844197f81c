/* Kernargs of ours: memory of the host that all devices reach, in blocks that are used again.
 * Internal. Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_BLOCKS_H
#define RAWHAL_FRONT_BLOCKS_H

#include <stddef.h>

enum { BLOCKS_LARGEST = 65536 };

/* Aligned to 256. NULL: there is none, or `size` is more than the largest. */
void *blocks_take(size_t size);
/* No device reads it any more; NULL is allowed. `size`: as it was taken. */
void blocks_give_back(void *block, size_t size);
void blocks_forget(void); /* when the runtime ends */
void blocks_abandon(void);

#endif
