/* rawhal/rawhal.h: everything.
 *
 *   rawhal/status.h     status codes and error records
 *   rawhal/target.h     processors and target ids
 *   rawhal/hsaco.h      one code object: its kernels and their facts
 *   rawhal/container.h  code objects inside bundles and host libraries
 *   rawhal/kernarg.h    layout of the kernarg segment, blobs, packing
 *   rawhal/queue.h      dispatch and completion
 *   rawhal/hal.h        instance, devices, memory, executables */
#ifndef RAWHAL_RAWHAL_H
#define RAWHAL_RAWHAL_H

#include <rawhal/container.h>
#include <rawhal/hal.h>

#endif
