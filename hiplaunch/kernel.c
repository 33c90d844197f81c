#include "hiplaunch/registry.h"

/* What programs ask of their kernels. */

static hipError_t kernel_of(const void *function, device_t **device, loaded_t *loaded)
{
  hipError_t status = device_current(device);
  return status != hipSuccess ? status : registry_kernel(function, *device, loaded);
}

hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function)
{
  device_t *device;
  loaded_t loaded;
  if (!attributes)
    return fail(hipErrorInvalidValue, "attributes is NULL");
  hipError_t status = kernel_of(function, &device, &loaded);
  if (status != hipSuccess)
    return status;
  const rawhal_device_kernel_info_t *info = rawhal_device_kernel_info(loaded.kernel);
  const rawhal_kernel_t *kernel = info->kernel;
  *attributes = (hipFuncAttributes){
      .localSizeBytes = info->private_segment_size,
      .maxDynamicSharedSizeBytes = (int)(device->info->lds_bytes - info->group_segment_size),
      .maxThreadsPerBlock = (int)kernel->max_flat_workgroup_size,
      .numRegs = (int)kernel->vgpr_count,
      .sharedSizeBytes = info->group_segment_size,
  };
  return hipSuccess;
}

static hipError_t occupancy_of(const loaded_t *loaded, uint32_t size, size_t shared,
                               rawhal_occupancy_t *occupancy)
{
  rawhal_error_t error;
  *occupancy = (rawhal_occupancy_t){.size = sizeof(*occupancy)};
  if (shared > UINT32_MAX)
    return fail(hipErrorInvalidValue, "kernel %s: %zu bytes of LDS", loaded->name, shared);
  if (rawhal_device_kernel_occupancy(loaded->kernel, size, (uint32_t)shared, occupancy, &error))
    return fail_rawhal(&error, "kernel %s", loaded->name);
  return hipSuccess;
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                        int block_size, size_t shared)
{
  device_t *device;
  loaded_t loaded;
  rawhal_occupancy_t occupancy;
  if (!blocks)
    return fail(hipErrorInvalidValue, "blocks is NULL");
  if (block_size <= 0)
    return fail(hipErrorInvalidValue, "a block of %d work-items", block_size);
  *blocks = 0;
  hipError_t status = kernel_of(function, &device, &loaded);
  if (status == hipSuccess)
    status = occupancy_of(&loaded, (uint32_t)block_size, shared, &occupancy);
  if (status == hipSuccess)
    *blocks = (int)occupancy.workgroups_per_cu;
  return status;
}

/* The size with the most work-items at once; of equals, the largest. */
hipError_t hipOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, const void *function,
                                             size_t shared, int limit)
{
  device_t *device;
  loaded_t loaded;
  if (!grid_size || !block_size)
    return fail(hipErrorInvalidValue, "%s is NULL", grid_size ? "block_size" : "grid_size");
  *grid_size = *block_size = 0;
  hipError_t status = kernel_of(function, &device, &loaded);
  if (status != hipSuccess)
    return status;
  const uint32_t wave = device->info->wavefront_size;
  uint32_t most = rawhal_device_kernel_info(loaded.kernel)->kernel->max_flat_workgroup_size;
  uint64_t best = 0;
  most = limit > 0 && (uint32_t)limit < most ? (uint32_t)limit : most;
  for (uint32_t size = wave; status == hipSuccess && size <= most; size += wave) {
    rawhal_occupancy_t occupancy;
    status = occupancy_of(&loaded, size, shared, &occupancy);
    uint64_t items = status != hipSuccess ? 0 : (uint64_t)occupancy.workgroups_per_cu * size;
    if (!items || items < best)
      continue;
    best = items;
    *block_size = (int)size;
    *grid_size = (int)(occupancy.workgroups_per_cu * device->info->compute_units);
  }
  return status;
}
