#include "check_shim.h"

#include "queue/submit.h"

#include <string.h>

rawhal_status_t shim_check(const shim_device_t *limits, const rawhal_device_kernel_info_t *info,
                           bool elsewhere, const rawhal_dispatch_t *dispatch, uint32_t *blocks,
                           rawhal_error_t *error)
{
  queue_device_t device = {.agent = {1},
                           .chip = limits->processor ? occupancy_chip(limits->processor) : NULL,
                           .lds_bytes = limits->lds_bytes,
                           .max_workgroup_size = limits->max_workgroup_size};
  memcpy(device.max_workgroup_dim, limits->max_workgroup_dim, sizeof(device.max_workgroup_dim));
  memcpy(device.max_grid_dim, limits->max_grid_dim, sizeof(device.max_grid_dim));
  rawhal_device_kernel_t kernel = {.info = *info, .agent = elsewhere ? 2 : 1};
  rawhal_status_t status = device_kernel_init(&kernel, &device, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_queue_t queue = {.device = &device, .ring = {.packets = 64, .blocks = 1024}};
  rawhal_dispatch_t whole = *dispatch;
  whole.kernel = &kernel;
  return submit_check(&queue, &(batch_t){&whole, sizeof(whole), 1}, blocks, error);
}
