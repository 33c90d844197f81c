// Sizes, places and values of HIP's interface. Included where either's types are known: `name` becomes a table.
#include <stddef.h>
#include <stdint.h>

#include "hiplaunch/hip/hip_attributes.h"

typedef struct abi_fact {
  const char *text;
  uint64_t value;
} abi_fact_t;

/* clang-format off */
#define VALUE(name)        {#name, (uint64_t)(name)},
#define SIZE(type)         {"sizeof " #type, sizeof(type)},
#define PLACE(type, field) {#type "." #field, offsetof(type, field)},
#define ATTRIBUTE_VALUE(name, number, field) VALUE(hipDeviceAttribute##name)
#define EXTENT(type, field) PLACE(type, field){"sizeof " #type "." #field, sizeof(((type *)0)->field)},

#define ABI_FACTS                                                                                  \
  VALUE(hipSuccess) VALUE(hipErrorInvalidValue) VALUE(hipErrorOutOfMemory)                         \
  VALUE(hipErrorInvalidConfiguration) VALUE(hipErrorInvalidSymbol)                                 \
  VALUE(hipErrorInvalidDevicePointer) VALUE(hipErrorInvalidMemcpyDirection)                        \
  VALUE(hipErrorInvalidDeviceFunction) VALUE(hipErrorNoDevice) VALUE(hipErrorInvalidDevice)        \
  VALUE(hipErrorInvalidImage) VALUE(hipErrorNoBinaryForGpu) VALUE(hipErrorInvalidHandle)           \
  VALUE(hipErrorNotFound) VALUE(hipErrorNotReady) VALUE(hipErrorLaunchTimeOut)                     \
  VALUE(hipErrorContextIsDestroyed) VALUE(hipErrorLaunchFailure) VALUE(hipErrorNotSupported)       \
  VALUE(hipErrorUnknown) VALUE(hipErrorRuntimeOther) VALUE(hipMemcpyHostToHost)                    \
  VALUE(hipMemcpyHostToDevice) VALUE(hipMemcpyDeviceToHost) VALUE(hipMemcpyDeviceToDevice)         \
  VALUE(hipMemcpyDefault) VALUE(hipStreamDefault) VALUE(hipStreamNonBlocking)                      \
  VALUE(hipEventDefault) VALUE(hipEventBlockingSync) VALUE(hipEventDisableTiming)                  \
  VALUE(hipErrorInvalidContext) VALUE(hipErrorPeerAccessUnsupported)                               \
  VALUE(hipErrorPeerAccessAlreadyEnabled) VALUE(hipErrorPeerAccessNotEnabled)                      \
  VALUE(hipErrorHostMemoryAlreadyRegistered) VALUE(hipErrorHostMemoryNotRegistered)                \
  VALUE(hipErrorCooperativeLaunchTooLarge) VALUE(HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)         \
  VALUE(HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) VALUE(HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)           \
  VALUE(HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) VALUE(HIP_FUNC_ATTRIBUTE_NUM_REGS)                    \
  VALUE(HIP_FUNC_ATTRIBUTE_PTX_VERSION) VALUE(HIP_FUNC_ATTRIBUTE_BINARY_VERSION)                   \
  VALUE(HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA)                                                          \
  VALUE(HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)                                          \
  VALUE(HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)                                       \
  VALUE(hipFuncAttributeMaxDynamicSharedMemorySize)                                                \
  VALUE(hipFuncAttributePreferredSharedMemoryCarveout) VALUE(HIP_POINTER_ATTRIBUTE_MEMORY_TYPE)    \
  VALUE(HIP_POINTER_ATTRIBUTE_DEVICE_POINTER) VALUE(HIP_POINTER_ATTRIBUTE_HOST_POINTER)            \
  VALUE(HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS) VALUE(HIP_POINTER_ATTRIBUTE_BUFFER_ID)                  \
  VALUE(HIP_POINTER_ATTRIBUTE_IS_MANAGED) VALUE(HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL)              \
  VALUE(HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR) VALUE(HIP_POINTER_ATTRIBUTE_RANGE_SIZE)            \
  VALUE(HIP_POINTER_ATTRIBUTE_MAPPED) VALUE(hipMemPoolReuseFollowEventDependencies)                \
  VALUE(hipMemPoolReuseAllowInternalDependencies) VALUE(hipMemPoolAttrReleaseThreshold)            \
  VALUE(hipMemPoolAttrReservedMemCurrent) VALUE(hipMemPoolAttrReservedMemHigh)                     \
  VALUE(hipMemPoolAttrUsedMemCurrent) VALUE(hipMemPoolAttrUsedMemHigh)                             \
  VALUE(hipMemAllocationTypePinned) VALUE(hipMemHandleTypeNone) VALUE(hipMemLocationTypeDevice)    \
  VALUE(hipMemAccessFlagsProtNone) VALUE(hipMemAccessFlagsProtReadWrite)                           \
  VALUE(hipStreamCaptureStatusNone) VALUE(hipHostRegisterPortable) VALUE(hipHostRegisterMapped)    \
  SIZE(hipUUID) SIZE(hipMemPoolProps) PLACE(hipMemPoolProps, allocType)                            \
  PLACE(hipMemPoolProps, handleTypes) PLACE(hipMemPoolProps, location) SIZE(hipMemAccessDesc)      \
  PLACE(hipMemAccessDesc, flags) SIZE(hipPointerAttribute_t)                                       \
  EXTENT(hipPointerAttribute_t, memoryType) EXTENT(hipPointerAttribute_t, device)                  \
  EXTENT(hipPointerAttribute_t, devicePointer) EXTENT(hipPointerAttribute_t, hostPointer)          \
  EXTENT(hipPointerAttribute_t, isManaged) EXTENT(hipPointerAttribute_t, allocationFlags)          \
  HIP_ATTRIBUTES(ATTRIBUTE_VALUE)                                                                  \
  VALUE(HIP_LAUNCH_PARAM_BUFFER_POINTER) VALUE(HIP_LAUNCH_PARAM_BUFFER_SIZE)                       \
  VALUE(HIP_LAUNCH_PARAM_END) SIZE(hipError_t) SIZE(hipMemcpyKind) SIZE(hipStream_t)               \
  SIZE(hipEvent_t) SIZE(hipModule_t) SIZE(hipFunction_t) SIZE(hipDeviceptr_t) SIZE(hipDevice_t)    \
  SIZE(dim3) PLACE(dim3, x) PLACE(dim3, y) PLACE(dim3, z) SIZE(hipFuncAttributes)                  \
  EXTENT(hipFuncAttributes, binaryVersion) EXTENT(hipFuncAttributes, cacheModeCA)                  \
  EXTENT(hipFuncAttributes, constSizeBytes) EXTENT(hipFuncAttributes, localSizeBytes)              \
  EXTENT(hipFuncAttributes, maxDynamicSharedSizeBytes)                                             \
  EXTENT(hipFuncAttributes, maxThreadsPerBlock) EXTENT(hipFuncAttributes, numRegs)                 \
  EXTENT(hipFuncAttributes, preferredShmemCarveout) EXTENT(hipFuncAttributes, ptxVersion)          \
  EXTENT(hipFuncAttributes, sharedSizeBytes) SIZE(hipDeviceArch_t) SIZE(hipDeviceProp_t)           \
  EXTENT(hipDeviceProp_t, name) EXTENT(hipDeviceProp_t, totalGlobalMem)                            \
  EXTENT(hipDeviceProp_t, sharedMemPerBlock) EXTENT(hipDeviceProp_t, regsPerBlock)                 \
  EXTENT(hipDeviceProp_t, warpSize) EXTENT(hipDeviceProp_t, maxThreadsPerBlock)                    \
  EXTENT(hipDeviceProp_t, maxThreadsDim) EXTENT(hipDeviceProp_t, maxGridSize)                      \
  EXTENT(hipDeviceProp_t, clockRate) EXTENT(hipDeviceProp_t, memoryClockRate)                      \
  EXTENT(hipDeviceProp_t, memoryBusWidth) EXTENT(hipDeviceProp_t, totalConstMem)                   \
  EXTENT(hipDeviceProp_t, major) EXTENT(hipDeviceProp_t, minor)                                    \
  EXTENT(hipDeviceProp_t, multiProcessorCount) EXTENT(hipDeviceProp_t, l2CacheSize)                \
  EXTENT(hipDeviceProp_t, maxThreadsPerMultiProcessor) EXTENT(hipDeviceProp_t, computeMode)        \
  EXTENT(hipDeviceProp_t, clockInstructionRate) EXTENT(hipDeviceProp_t, arch)                      \
  EXTENT(hipDeviceProp_t, concurrentKernels) EXTENT(hipDeviceProp_t, pciDomainID)                  \
  EXTENT(hipDeviceProp_t, pciBusID) EXTENT(hipDeviceProp_t, pciDeviceID)                           \
  EXTENT(hipDeviceProp_t, maxSharedMemoryPerMultiProcessor)                                        \
  EXTENT(hipDeviceProp_t, isMultiGpuBoard) EXTENT(hipDeviceProp_t, canMapHostMemory)               \
  EXTENT(hipDeviceProp_t, gcnArch) EXTENT(hipDeviceProp_t, gcnArchName)                            \
  EXTENT(hipDeviceProp_t, integrated) EXTENT(hipDeviceProp_t, cooperativeLaunch)                   \
  EXTENT(hipDeviceProp_t, cooperativeMultiDeviceLaunch)                                            \
  EXTENT(hipDeviceProp_t, maxTexture1DLinear) EXTENT(hipDeviceProp_t, maxTexture1D)                \
  EXTENT(hipDeviceProp_t, maxTexture2D) EXTENT(hipDeviceProp_t, maxTexture3D)                      \
  EXTENT(hipDeviceProp_t, hdpMemFlushCntl) EXTENT(hipDeviceProp_t, hdpRegFlushCntl)                \
  EXTENT(hipDeviceProp_t, memPitch) EXTENT(hipDeviceProp_t, textureAlignment)                      \
  EXTENT(hipDeviceProp_t, texturePitchAlignment)                                                   \
  EXTENT(hipDeviceProp_t, kernelExecTimeoutEnabled) EXTENT(hipDeviceProp_t, ECCEnabled)            \
  EXTENT(hipDeviceProp_t, tccDriver) EXTENT(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedFunc)  \
  EXTENT(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedGridDim)                                  \
  EXTENT(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedBlockDim)                                 \
  EXTENT(hipDeviceProp_t, cooperativeMultiDeviceUnmatchedSharedMem)                                \
  EXTENT(hipDeviceProp_t, isLargeBar) EXTENT(hipDeviceProp_t, asicRevision)                        \
  EXTENT(hipDeviceProp_t, managedMemory) EXTENT(hipDeviceProp_t, directManagedMemAccessFromHost)   \
  EXTENT(hipDeviceProp_t, concurrentManagedAccess) EXTENT(hipDeviceProp_t, pageableMemoryAccess)   \
  EXTENT(hipDeviceProp_t, pageableMemoryAccessUsesHostPageTables){NULL, 0},
/* clang-format on */

extern const abi_fact_t ours[], theirs[];
extern const hipDeviceArch_t our_flags[], their_flags[];

/* clang-format off */
/* Each flag alone: bit fields have no places, but bytes. */
#define ABI_FLAGS                                                                                  \
  FLAG(hasGlobalInt32Atomics) FLAG(hasGlobalFloatAtomicExch) FLAG(hasSharedInt32Atomics)           \
  FLAG(hasSharedFloatAtomicExch) FLAG(hasFloatAtomicAdd) FLAG(hasGlobalInt64Atomics)               \
  FLAG(hasSharedInt64Atomics) FLAG(hasDoubles) FLAG(hasWarpVote) FLAG(hasWarpBallot)               \
  FLAG(hasWarpShuffle) FLAG(hasFunnelShift) FLAG(hasThreadFenceSystem) FLAG(hasSyncThreadsExt)     \
  FLAG(hasSurfaceFuncs) FLAG(has3dGrid) FLAG(hasDynamicParallelism)
#define FLAG(name) {.name = 1},
/* clang-format on */
