/* Kernargs of a dispatch. Internal. */
#ifndef RAWHAL_FRONT_KERNARGS_H
#define RAWHAL_FRONT_KERNARGS_H

#include "front/objects.h"

/* All that the kernel takes, where the host may read it; a device's memory need not be its. Empty:
 * it may not, or nothing is taken, or what is is not known. */
rawhal_bytes_t kernargs_of(const front_kernel_t *kernel,
                           const hsa_kernel_dispatch_packet_t *packet);

#endif
