#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hiplaunch/device/runtime.h"

static int clamp(uint64_t value)
{
  return value < INT_MAX ? (int)value : INT_MAX;
}

/* "gfx90a" is 9 and 0: the last two letters are minor and stepping, in hexadecimal. */
static void name_numbers(const char *processor, int numbers[3])
{
  size_t size = strlen(processor);
  if (size < 6 || strncmp(processor, "gfx", 3) != 0)
    return;
  char major[8];
  snprintf(major, sizeof(major), "%.*s", (int)(size - 5), processor + 3);
  char minor[] = {processor[size - 2], 0}, stepping[] = {processor[size - 1], 0};
  numbers[0] = atoi(major);
  numbers[1] = (int)strtol(minor, NULL, 16);
  numbers[2] = (int)strtol(stepping, NULL, 16);
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

/* Programs have room for as much as boards' names need (IREE 3.13 overran its own heap with one of
 * 91 bytes). */
static void put_name(const rawhal_device_info_t *info, char *name, size_t size)
{
  snprintf(name, size, "%.39s", info->product);
}

/* The 16 digits of "GPU-0123456789abcdef", as HIP has them: letters, not what they stand for. */
static void put_uuid(const rawhal_device_info_t *info, hipUUID *uuid)
{
  static const char prefix[] = "GPU-";
  const char *digits = info->uuid;
  if (!strncmp(digits, prefix, sizeof(prefix) - 1))
    digits += sizeof(prefix) - 1;
  size_t size = strlen(digits);
  *uuid = (hipUUID){0};
  memcpy(uuid->bytes, digits, size < sizeof(uuid->bytes) ? size : sizeof(uuid->bytes));
}

static void fill(const rawhal_device_info_t *info, hipDeviceProp_tR0600 *to)
{
  int numbers[3] = {0};
  name_numbers(info->target.processor, numbers);
  *to = (hipDeviceProp_tR0600){
      .totalGlobalMem = info->memory_bytes,
      .sharedMemPerBlock = info->lds_bytes,
      .sharedMemPerMultiprocessor = info->lds_bytes,
      .sharedMemPerBlockOptin = info->lds_bytes,
      .maxSharedMemoryPerMultiProcessor = info->lds_bytes,
      .regsPerBlock = 65536, /* as HIP says of all */
      .regsPerMultiprocessor = 65536,
      .warpSize = (int)info->wavefront_size,
      .memPitch = INT_MAX,
      .maxThreadsPerBlock = clamp(info->max_workgroup_size),
      .clockRate = clamp((uint64_t)info->clock_mhz * 1000),
      .totalConstMem = INT_MAX,
      .major = numbers[0],
      .minor = numbers[1],
      .deviceOverlap = 1,
      .asyncEngineCount = 1,
      .multiProcessorCount = clamp(info->compute_units),
      .canMapHostMemory = 1,
      .concurrentKernels = 1,
      .pciBusID = (int)info->pci_bus,
      .pciDeviceID = (int)info->pci_device,
      .pciDomainID = (int)info->pci_domain,
      .multiGpuBoardGroupID = (int)info->pci_device,
      .unifiedAddressing = 1,
      .memoryClockRate = clamp((uint64_t)info->memory_clock_mhz * 1000),
      .memoryBusWidth = clamp(info->memory_bus_bits),
      .l2CacheSize = clamp(info->cache_bytes[1]),
      .maxThreadsPerMultiProcessor = clamp((uint64_t)info->waves_per_cu * info->wavefront_size),
      .streamPrioritiesSupported = 1,
      .globalL1CacheSupported = 1,
      .localL1CacheSupported = 1,
      .managedMemory = 1,
      .concurrentManagedAccess = 1,
      .canUseHostPointerForRegisteredMem = 1,
      .hostRegisterSupported = 1,
      .memoryPoolsSupported = 1,
      .clockInstructionRate = clamp(info->timestamp_hz / 1000),
      .arch = features,
  };
  to->maxBlocksPerMultiProcessor =
      to->maxThreadsPerBlock ? to->maxThreadsPerMultiProcessor / to->maxThreadsPerBlock : 0;
  put_name(info, to->name, sizeof(to->name));
  put_uuid(info, &to->uuid);
  for (int i = 0; i < 3; ++i) {
    to->maxThreadsDim[i] = info->max_workgroup_dim[i];
    to->maxGridSize[i] = clamp(info->max_grid_dim[i]);
  }
  rawhal_target_format(&info->target, to->gcnArchName, sizeof(to->gcnArchName));
}

/* HIP 5's properties are HIP 6's, as far as it had them, and a number for the processor. */
static void fill_old(const hipDeviceProp_tR0600 *from, const char *processor, hipDeviceProp_t *to)
{
#define SAME(field) .field = from->field
  *to = (hipDeviceProp_t){SAME(totalGlobalMem),
                          SAME(sharedMemPerBlock),
                          SAME(regsPerBlock),
                          SAME(warpSize),
                          SAME(maxThreadsPerBlock),
                          SAME(clockRate),
                          SAME(memoryClockRate),
                          SAME(memoryBusWidth),
                          SAME(totalConstMem),
                          SAME(major),
                          SAME(minor),
                          SAME(multiProcessorCount),
                          SAME(l2CacheSize),
                          SAME(maxThreadsPerMultiProcessor),
                          SAME(clockInstructionRate),
                          SAME(arch),
                          SAME(concurrentKernels),
                          SAME(pciDomainID),
                          SAME(pciBusID),
                          SAME(pciDeviceID),
                          SAME(maxSharedMemoryPerMultiProcessor),
                          SAME(canMapHostMemory),
                          SAME(managedMemory),
                          SAME(concurrentManagedAccess),
                          SAME(memPitch)};
#undef SAME
  int numbers[3] = {0};
  name_numbers(processor, numbers);
  to->gcnArch = numbers[0] * 100 + numbers[1] * 10 + numbers[2]; /* 910 of gfx90a: letters go on */
  memcpy(to->name, from->name, sizeof(to->name));
  memcpy(to->maxThreadsDim, from->maxThreadsDim, sizeof(to->maxThreadsDim));
  memcpy(to->maxGridSize, from->maxGridSize, sizeof(to->maxGridSize));
  memcpy(to->gcnArchName, from->gcnArchName, sizeof(to->gcnArchName));
}

static hipError_t info_of(int device, const rawhal_device_info_t **info)
{
  device_t *found;
  *info = NULL;
  hipError_t status = device_at(device, &found);
  if (status == hipSuccess)
    *info = found->info;
  return status;
}

hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600 *properties, int device)
{
  const rawhal_device_info_t *info;
  if (!properties)
    return fail(hipErrorInvalidValue, "properties is NULL");
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    fill(info, properties);
  return status;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t *properties, int device)
{
  const rawhal_device_info_t *info;
  hipDeviceProp_tR0600 all;
  if (!properties)
    return fail(hipErrorInvalidValue, "properties is NULL");
  hipError_t status = info_of(device, &info);
  if (status != hipSuccess)
    return status;
  fill(info, &all);
  fill_old(&all, info->target.processor, properties);
  return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int device)
{
#define ROW(name, number, field)                                                                   \
  {number, (uint16_t)offsetof(hipDeviceProp_tR0600, field),                                        \
   (uint16_t)sizeof(((hipDeviceProp_tR0600 *)0)->field)},
  static const struct {
    int number;
    uint16_t offset, size;
  } rows[] = {HIP_ATTRIBUTES(ROW) HIP6_ATTRIBUTES(ROW)};
#undef ROW
  const rawhal_device_info_t *info;
  hipDeviceProp_tR0600 all;
  if (!value)
    return fail(hipErrorInvalidValue, "value is NULL");
  hipError_t status = info_of(device, &info);
  if (status != hipSuccess)
    return status;
  fill(info, &all);
  for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i) {
    uint64_t wide = 0; /* little-endian, as all that ROCm runs on */
    if (rows[i].number != (int)attribute)
      continue;
    memcpy(&wide, (const char *)&all + rows[i].offset, rows[i].size);
    *value = clamp(wide);
    return hipSuccess;
  }
  return fail(hipErrorInvalidValue, "device attribute %d is not known", (int)attribute);
}

/* ---- One fact a call ---- */

hipError_t hipDeviceGetName(char *name, int size, hipDevice_t device)
{
  const rawhal_device_info_t *info;
  if (!name)
    return fail(hipErrorInvalidValue, "name is NULL");
  if (size <= 0)
    return fail(hipErrorInvalidValue, "a name of %d bytes", size);
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    put_name(info, name, (size_t)size);
  return status;
}

hipError_t hipDeviceGetUuid(hipUUID *uuid, hipDevice_t device)
{
  const rawhal_device_info_t *info;
  if (!uuid)
    return fail(hipErrorInvalidValue, "uuid is NULL");
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    put_uuid(info, uuid);
  return status;
}

hipError_t hipDeviceTotalMem(size_t *size, hipDevice_t device)
{
  const rawhal_device_info_t *info;
  if (!size)
    return fail(hipErrorInvalidValue, "size is NULL");
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    *size = info->memory_bytes;
  return status;
}

hipError_t hipDeviceComputeCapability(int *major, int *minor, hipDevice_t device)
{
  const rawhal_device_info_t *info;
  int numbers[3] = {0};
  if (!major || !minor)
    return fail(hipErrorInvalidValue, "%s is NULL", major ? "minor" : "major");
  hipError_t status = info_of(device, &info);
  if (status != hipSuccess)
    return status;
  name_numbers(info->target.processor, numbers);
  *major = numbers[0];
  *minor = numbers[1];
  return hipSuccess;
}

enum { PCI_NAME = sizeof("0000:00:00.0") };

static void put_pci(const rawhal_device_info_t *info, char *name, size_t size)
{
  snprintf(name, size, "%04x:%02x:%02x.0", info->pci_domain & 0xffff, info->pci_bus & 0xff,
           info->pci_device & 0xff);
}

hipError_t hipDeviceGetPCIBusId(char *name, int size, int device)
{
  const rawhal_device_info_t *info;
  if (!name || size <= 0)
    return fail(hipErrorInvalidValue, "%s", name ? "a name without room" : "name is NULL");
  hipError_t status = info_of(device, &info);
  if (status == hipSuccess)
    put_pci(info, name, (size_t)size);
  return status;
}

hipError_t hipDeviceGetByPCIBusId(int *device, const char *name)
{
  device_t *devices;
  int count;
  if (!device || !name)
    return fail(hipErrorInvalidValue, "%s is NULL", device ? "name" : "device");
  hipError_t status = devices_open(&devices, &count);
  if (status != hipSuccess)
    return status;
  for (int i = 0; i < count; ++i) {
    char own[PCI_NAME];
    put_pci(devices[i].info, own, sizeof(own));
    if (strcasecmp(own, name) != 0)
      continue;
    *device = i;
    return hipSuccess;
  }
  return fail(hipErrorInvalidValue, "no device is at %s", name);
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
