/* The driver's debug operations, answered over a socket: wire.h. Internal to softgpu. */
#ifndef SOFTGPU_DEBUG_SERVICE_H
#define SOFTGPU_DEBUG_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/debug/kfd.h"

/* The devices, as the driver would tell of them: how many there are, of which at most `room` are
 * written. */
typedef uint32_t service_devices_fn(kfd_device_t *devices, uint32_t room);

/* Begins to answer, if SOFTGPU_DEBUG asks for it, once in a process. Before the first thread of the
 * device is started, by one thread at a time. */
void service_start(service_devices_fn *devices);

/* The runtime has, or no longer has, its list of code objects there (_amdgpu_r_debug). A debugger
 * hears of it first, and of one that traces the program and is not there yet it is waited for; as
 * long as it lives, and for half a minute at most. */
void service_runtime(uint64_t r_debug, bool is_there);

#endif
