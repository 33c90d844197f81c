// What the tests see of queue/check.c: the check of a batch on a device that is nothing but limits.
#ifndef RAWHAL_TESTS_QUEUE_CHECK_SHIM_H
#define RAWHAL_TESTS_QUEUE_CHECK_SHIM_H

#include <rawhal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct shim_device {
  uint32_t lds_bytes, max_workgroup_size;
  uint16_t max_workgroup_dim[3];
  uint32_t max_grid_dim[3];
  const char *processor; // of occupancy.c's table, or NULL
} shim_device_t;

// submit_check() of one dispatch of the kernel `info`, which is loaded on the device unless
// `elsewhere`.
rawhal_status_t shim_check(const shim_device_t *device, const rawhal_device_kernel_info_t *info,
                           bool elsewhere, const rawhal_dispatch_t *dispatch, uint32_t *blocks,
                           rawhal_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
