#include "hiplaunch/module/registry.h"

/* What programs ask of their kernels. */

/* By the program's stub, or as a module's function. */
typedef struct subject {
  const void *host;
  hipFunction_t function;
} subject_t;

static hipError_t find(const subject_t *subject, device_t **device, loaded_t *loaded)
{
  hipError_t status = device_current(device);
  if (status != hipSuccess)
    return status;
  status = subject->host ? registry_kernel(subject->host, *device, loaded)
                         : registry_function(subject->function, *device, loaded);
  if (status == hipSuccess)
    *device = loaded->image->device;
  return status;
}

static hipError_t attributes_of(const subject_t *subject, hipFuncAttributes *attributes)
{
  device_t *device;
  loaded_t loaded;
  hipError_t status = find(subject, &device, &loaded);
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

hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function)
{
  if (!attributes || !function)
    return attributes ? fail(hipErrorInvalidDeviceFunction, "function is NULL")
                      : fail(hipErrorInvalidValue, "attributes is NULL");
  return attributes_of(&(subject_t){.host = function}, attributes);
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t function)
{
  hipFuncAttributes all;
  if (!value)
    return fail(hipErrorInvalidValue, "value is NULL");
  hipError_t status = attributes_of(&(subject_t){.function = function}, &all);
  if (status != hipSuccess)
    return status;
  switch (attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = all.maxThreadsPerBlock;
    break;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = (int)all.sharedSizeBytes;
    break;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = (int)all.localSizeBytes;
    break;
  case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    *value = all.numRegs;
    break;
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = all.maxDynamicSharedSizeBytes;
    break;
  case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
  case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
  case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = 0;
    break;
  default:
    return fail(hipErrorInvalidValue, "function attribute %d is not known", (int)attribute);
  }
  return hipSuccess;
}

/* ---- Hints: LDS needs no permission, and is not divided with a cache ---- */

hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute, int value)
{
  device_t *device;
  if (!function)
    return fail(hipErrorInvalidDeviceFunction, "function is NULL");
  hipError_t status = device_current(&device);
  if (status == hipSuccess && attribute == hipFuncAttributeMaxDynamicSharedMemorySize &&
      (value < 0 || (uint32_t)value > device->info->lds_bytes))
    return fail(hipErrorInvalidValue, "%d bytes of dynamic LDS, of %u that a work-group can have",
                value, device->info->lds_bytes);
  return status;
}

hipError_t hipFuncSetCacheConfig(const void *function, hipFuncCache_t config)
{
  (void)function, (void)config;
  return hipSuccess;
}

hipError_t hipFuncSetSharedMemConfig(const void *function, hipSharedMemConfig config)
{
  (void)function, (void)config;
  return hipSuccess;
}

/* ---- Occupancy ---- */

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

static hipError_t blocks_of(const subject_t *subject, int block_size, size_t shared, int *blocks)
{
  device_t *device;
  loaded_t loaded;
  rawhal_occupancy_t occupancy;
  if (!blocks)
    return fail(hipErrorInvalidValue, "blocks is NULL");
  if (block_size <= 0)
    return fail(hipErrorInvalidValue, "a block of %d work-items", block_size);
  *blocks = 0;
  hipError_t status = find(subject, &device, &loaded);
  if (status == hipSuccess)
    status = occupancy_of(&loaded, (uint32_t)block_size, shared, &occupancy);
  if (status == hipSuccess)
    *blocks = (int)occupancy.workgroups_per_cu;
  return status;
}

/* The size with the most work-items at once; of equals, the largest. */
static hipError_t size_of(const subject_t *subject, size_t shared, int limit, int *grid_size,
                          int *block_size)
{
  device_t *device;
  loaded_t loaded;
  if (!grid_size || !block_size)
    return fail(hipErrorInvalidValue, "%s is NULL", grid_size ? "block_size" : "grid_size");
  *grid_size = *block_size = 0;
  hipError_t status = find(subject, &device, &loaded);
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

static hipError_t no_flags(unsigned flags)
{
  return flags > 1 ? fail(hipErrorInvalidValue, "unknown flags 0x%x", flags) : hipSuccess;
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                        int block_size, size_t shared)
{
  return function ? blocks_of(&(subject_t){.host = function}, block_size, shared, blocks)
                  : fail(hipErrorInvalidDeviceFunction, "function is NULL");
}

hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                 int block_size, size_t shared,
                                                                 unsigned flags)
{
  hipError_t status = no_flags(flags);
  return status != hipSuccess
             ? status
             : hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, hipFunction_t function,
                                                              int block_size, size_t shared)
{
  return blocks_of(&(subject_t){.function = function}, block_size, shared, blocks);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t function, int block_size, size_t shared, unsigned flags)
{
  hipError_t status = no_flags(flags);
  return status != hipSuccess ? status
                              : hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                                    blocks, function, block_size, shared);
}

hipError_t hipOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size, const void *function,
                                             size_t shared, int limit)
{
  return function ? size_of(&(subject_t){.host = function}, shared, limit, grid_size, block_size)
                  : fail(hipErrorInvalidDeviceFunction, "function is NULL");
}

hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size,
                                                   hipFunction_t function, size_t shared, int limit)
{
  return size_of(&(subject_t){.function = function}, shared, limit, grid_size, block_size);
}

hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size,
                                                            hipFunction_t function, size_t shared,
                                                            int limit, unsigned flags)
{
  hipError_t status = no_flags(flags);
  return status != hipSuccess ? status
                              : hipModuleOccupancyMaxPotentialBlockSize(grid_size, block_size,
                                                                        function, shared, limit);
}
