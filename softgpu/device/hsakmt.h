/* The interface that the HSA runtime calls, with its functions visible. */
#ifndef SOFTGPU_DEVICE_HSAKMT_H
#define SOFTGPU_DEVICE_HSAKMT_H

/* The header says nothing about visibility, and everything else here is hidden. */
#pragma GCC visibility push(default)
#include <hsakmt.h>
#pragma GCC visibility pop

#endif
