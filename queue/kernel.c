#include "queue/internal.h"

#include "base/error.h"
#include "kernarg/layout.h"

enum { PAGE_BYTES = 4096 };

/* False when nothing is allowed. */
static bool range_set(kernel_range_t *range, uint64_t least, uint64_t most)
{
  if (least > most || most > UINT32_MAX)
    return false;
  *range = (kernel_range_t){(uint32_t)least, (uint32_t)(most - least)};
  return true;
}

/* Facts of the kernel that are absent are 0 and demand nothing. */
static void bounds_set(kernel_bounds_t *bounds, const rawhal_device_kernel_info_t *info,
                       const queue_device_t *device)
{
  const rawhal_kernel_t *kernel = info->kernel;
  const rawhal_kernarg_layout_t *layout = info->layout;
  *bounds = (kernel_bounds_t){0};
  for (int d = 0; d < 3; ++d) {
    uint32_t required = kernel->reqd_workgroup_size[d], most = device->max_workgroup_dim[d];
    if (required && required < most)
      most = required;
    if (kernel->max_num_workgroups[d] || !range_set(&bounds->grid[d], 1, device->max_grid_dim[d]) ||
        !range_set(&bounds->workgroup[d], required ? required : 1, most))
      return;
  }
  if (layout->hidden.narrow || info->group_segment_size > device->lds_bytes ||
      !range_set(&bounds->blob, layout->blob_min, layout->blob_max))
    return;
  bounds->dynamic_lds = device->lds_bytes - info->group_segment_size;
  bounds->uniform = kernel->uniform_work_group_size;
  uint32_t flat = kernel->max_flat_workgroup_size, most = device->max_workgroup_size,
           resident = occupancy_work_items(device->chip, kernel);
  if (resident < most)
    most = resident;
  bounds->flat_workgroup = flat && flat < most ? flat : most;
}

rawhal_status_t device_kernel_init(rawhal_device_kernel_t *kernel, const queue_device_t *device,
                                   rawhal_error_t *error)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(kernel->info.layout);
  if (info->alignment > PAGE_BYTES)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the kernarg segment asks for an alignment of %u bytes, at most %u can be "
                       "given",
                       info->alignment, PAGE_BYTES);
  const uint32_t *cluster = kernel->info.kernel->cluster_dims;
  if (cluster[0] > 1 || cluster[1] > 1 || cluster[2] > 1)
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "the kernel requires clusters of %ux%ux%u work-groups, which plain dispatch "
                       "packets cannot express",
                       cluster[0], cluster[1], cluster[2]);
  kernel->block_count = info->block_count;
  kernel->alignment =
      info->alignment > KERNARG_BLOCK_BYTES ? info->alignment / KERNARG_BLOCK_BYTES : 1;
  kernel->spare_blocks = kernel->alignment - 1;
  kernel->chip = device->chip;
  bounds_set(&kernel->bounds, &kernel->info, device);
  return RAWHAL_OK;
}

const rawhal_device_kernel_info_t *rawhal_device_kernel_info(const rawhal_device_kernel_t *kernel)
{
  return &kernel->info;
}
