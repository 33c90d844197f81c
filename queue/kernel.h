/* What a queue needs to know of a loaded kernel. Internal; filled in by hal/executable.c. */
#ifndef RAWHAL_QUEUE_KERNEL_H
#define RAWHAL_QUEUE_KERNEL_H

#include "queue/queue.h"

#include <stdatomic.h>

/* What holds a kernel's code on a device: it must stay while it is pinned, and while queues_run()
 * any of it. */
typedef struct kernel_owner {
  _Atomic size_t pins; /* dispatches in recordings */
} kernel_owner_t;

struct rawhal_device_kernel {
  rawhal_device_kernel_info_t info;
  kernel_owner_t *owner;
  uint64_t agent;        /* hsa_agent_t.handle: the device it is loaded on */
  uint32_t block_count;  /* 64-byte blocks of an image */
  uint32_t spare_blocks; /* reserved besides, to align an image to more than a block */
  uint32_t alignment;    /* of an image, in blocks; a power of two */
  bool rehearse;         /* writing an image can fail for reasons a blob check does not see */
};

/* Derives everything below `info` from info.layout. UNSUPPORTED: an alignment beyond a page. */
RAWHAL_CHECKED rawhal_status_t device_kernel_init(rawhal_device_kernel_t *kernel,
                                                  rawhal_error_t *error);

#endif
