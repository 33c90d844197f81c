/* Kernargs of a dispatch. Internal. */
#ifndef RAWHAL_FRONT_KERNARGS_H
#define RAWHAL_FRONT_KERNARGS_H

#include "front/objects.h"

/* The kernargs of a dispatch, if the host may read them, which it need not in a device's memory.
 * Empty: it may not, or the kernel takes none, or what it takes is not known. */
rawhal_bytes_t kernargs_of(const front_kernel_t *kernel,
                           const hsa_kernel_dispatch_packet_t *packet);

#endif
