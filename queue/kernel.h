/* What a queue needs to know of a loaded kernel. Internal; filled in by hal/kernels.c. */
#ifndef RAWHAL_QUEUE_KERNEL_H
#define RAWHAL_QUEUE_KERNEL_H

#include "queue/occupancy.h"

#include <stdatomic.h>

/* What holds a kernel's code on a device: it must stay while it is pinned, and while queues_run()
 * any of it. */
typedef struct kernel_owner {
  _Atomic size_t pins; /* nodes of graphs */
} kernel_owner_t;

typedef struct kernel_range {
  uint32_t least, span; /* least..least + span */
} kernel_range_t;

/* What the kernel and its device both allow: a dispatch within these bounds is right. One that is
 * not may still be; check.c looks closer then, and knows the words. */
typedef struct kernel_bounds {
  kernel_range_t grid[3], workgroup[3];
  kernel_range_t blob;     /* bytes */
  uint32_t flat_workgroup; /* work-items of a work-group, at most; 0: always look closer */
  uint32_t dynamic_lds;    /* bytes, at most */
  bool uniform;            /* no partial work-groups */
} kernel_bounds_t;

struct rawhal_device_kernel {
  rawhal_device_kernel_info_t info;
  kernel_owner_t *owner;
  uint64_t agent;               /* hsa_agent_t.handle: the device it is loaded on */
  uint32_t block_count;         /* 64-byte blocks of an image */
  uint32_t spare_blocks;        /* reserved besides, to align an image to more than a block */
  uint32_t alignment;           /* of an image, in blocks; a power of two */
  const occupancy_chip_t *chip; /* NULL: not known */
  kernel_bounds_t bounds;
};

typedef struct queue_device queue_device_t;

/* Derives everything below `agent` from `info` and from the device the kernel is loaded on.
 * UNSUPPORTED: an alignment beyond a page. */
RAWHAL_CHECKED rawhal_status_t device_kernel_init(rawhal_device_kernel_t *kernel,
                                                  const queue_device_t *device,
                                                  rawhal_error_t *error);

#endif
