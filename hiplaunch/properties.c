#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hiplaunch/runtime.h"

static int clamp(uint64_t value)
{
  return value < INT_MAX ? (int)value : INT_MAX;
}

/* "gfx90a" is 9 and 0, and 910 as HIP's old number has it: letters count on. */
static void name_numbers(const char *processor, hipDeviceProp_t *properties)
{
  size_t size = strlen(processor);
  if (size < 6 || strncmp(processor, "gfx", 3) != 0)
    return;
  char major[8];
  snprintf(major, sizeof(major), "%.*s", (int)(size - 5), processor + 3);
  char minor[] = {processor[size - 2], 0}, stepping[] = {processor[size - 1], 0};
  properties->major = atoi(major);
  properties->minor = (int)strtol(minor, NULL, 16);
  properties->gcnArch =
      properties->major * 100 + properties->minor * 10 + (int)strtol(stepping, NULL, 16);
}

/* What GFX9 and later have, in the words of HIP's flags. */
static const hipDeviceArch_t features = {
    .hasGlobalInt32Atomics = 1,
    .hasGlobalFloatAtomicExch = 1,
    .hasSharedInt32Atomics = 1,
    .hasSharedFloatAtomicExch = 1,
    .hasFloatAtomicAdd = 1,
    .hasGlobalInt64Atomics = 1,
    .hasSharedInt64Atomics = 1,
    .hasDoubles = 1,
    .hasWarpVote = 1,
    .hasWarpBallot = 1,
    .hasWarpShuffle = 1,
    .hasThreadFenceSystem = 0,
    .hasSyncThreadsExt = 0,
    .has3dGrid = 1,
    .hasDynamicParallelism = 0,
};

static void fill(const rawhal_device_info_t *info, hipDeviceProp_t *to)
{
  *to = (hipDeviceProp_t){
      .totalGlobalMem = info->memory_bytes,
      .sharedMemPerBlock = info->lds_bytes,
      .regsPerBlock = 65536, /* as HIP says of all */
      .warpSize = (int)info->wavefront_size,
      .maxThreadsPerBlock = clamp(info->max_workgroup_size),
      .clockRate = clamp((uint64_t)info->clock_mhz * 1000),
      .memoryClockRate = clamp((uint64_t)info->memory_clock_mhz * 1000),
      .memoryBusWidth = clamp(info->memory_bus_bits),
      .totalConstMem = INT_MAX,
      .multiProcessorCount = clamp(info->compute_units),
      .l2CacheSize = clamp(info->cache_bytes[1]),
      .maxThreadsPerMultiProcessor = clamp((uint64_t)info->waves_per_cu * info->wavefront_size),
      .clockInstructionRate = clamp(info->timestamp_hz / 1000),
      .arch = features,
      .concurrentKernels = 1,
      .pciDomainID = (int)info->pci_domain,
      .pciBusID = (int)info->pci_bus,
      .pciDeviceID = (int)info->pci_device,
      .maxSharedMemoryPerMultiProcessor = info->lds_bytes,
      .canMapHostMemory = 1,
      .managedMemory = 1,
      .concurrentManagedAccess = 1,
      .memPitch = INT_MAX,
  };
  snprintf(to->name, sizeof(to->name), "%s", info->description);
  for (int i = 0; i < 3; ++i) {
    to->maxThreadsDim[i] = info->max_workgroup_dim[i];
    to->maxGridSize[i] = clamp(info->max_grid_dim[i]);
  }
  name_numbers(info->target.processor, to);
  rawhal_target_format(&info->target, to->gcnArchName, sizeof(to->gcnArchName));
}

static hipError_t info_of(int device, const rawhal_device_info_t **info)
{
  device_t *devices;
  int count;
  *info = NULL;
  hipError_t status = devices_open(&devices, &count);
  if (status != hipSuccess)
    return status;
  if (device < 0 || device >= count)
    return fail(hipErrorInvalidDevice, "there is no device %d: there are %d", device, count);
  *info = devices[device].info;
  return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
  const rawhal_device_info_t *info;
  if (!properties)
    return fail(hipErrorInvalidValue, "properties is NULL");
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    fill(info, properties);
  return status;
}

hipError_t hipDeviceGetName(char *name, int size, hipDevice_t device)
{
  const rawhal_device_info_t *info;
  if (!name)
    return fail(hipErrorInvalidValue, "name is NULL");
  if (size <= 0)
    return fail(hipErrorInvalidValue, "a name of %d bytes", size);
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    snprintf(name, (size_t)size, "%s", info->description);
  return status;
}

hipError_t hipMemGetInfo(size_t *available, size_t *total)
{
  device_t *device;
  uint64_t all, left;
  if (!available || !total)
    return fail(hipErrorInvalidValue, "%s is NULL", available ? "total" : "available");
  hipError_t status = device_current(&device);
  if (status != hipSuccess)
    return status;
  rawhal_device_memory(device->device, &all, &left);
  *available = left;
  *total = all;
  return hipSuccess;
}
