/* hipDeviceAttribute_t: name, number, and the field of hipDeviceProp_tR0600 with the answer.
 * Internal.
 *
 * Facts: hip/hip_runtime_api.h of HIP 5.2 and, for HIP6_ATTRIBUTES, of HIP 6.3, which has the first
 * ones under the same numbers. What no field says and is not there is `hipReserved[0]`: 0. */
#ifndef RAWHAL_HIPLAUNCH_HIP_ATTRIBUTES_H
#define RAWHAL_HIPLAUNCH_HIP_ATTRIBUTES_H

/* clang-format off */
#define HIP_ATTRIBUTES(X) \
  X(EccEnabled, 0, ECCEnabled) \
  X(AccessPolicyMaxWindowSize, 1, accessPolicyMaxWindowSize) \
  X(AsyncEngineCount, 2, asyncEngineCount) \
  X(CanMapHostMemory, 3, canMapHostMemory) \
  X(CanUseHostPointerForRegisteredMem, 4, canUseHostPointerForRegisteredMem) \
  X(ClockRate, 5, clockRate) \
  X(ComputeMode, 6, computeMode) \
  X(ComputePreemptionSupported, 7, computePreemptionSupported) \
  X(ConcurrentKernels, 8, concurrentKernels) \
  X(ConcurrentManagedAccess, 9, concurrentManagedAccess) \
  X(CooperativeLaunch, 10, cooperativeLaunch) \
  X(CooperativeMultiDeviceLaunch, 11, cooperativeMultiDeviceLaunch) \
  X(DeviceOverlap, 12, deviceOverlap) \
  X(DirectManagedMemAccessFromHost, 13, directManagedMemAccessFromHost) \
  X(GlobalL1CacheSupported, 14, globalL1CacheSupported) \
  X(HostNativeAtomicSupported, 15, hostNativeAtomicSupported) \
  X(Integrated, 16, integrated) \
  X(IsMultiGpuBoard, 17, isMultiGpuBoard) \
  X(KernelExecTimeout, 18, kernelExecTimeoutEnabled) \
  X(L2CacheSize, 19, l2CacheSize) \
  X(LocalL1CacheSupported, 20, localL1CacheSupported) \
  X(LuidDeviceNodeMask, 22, luidDeviceNodeMask) \
  X(ComputeCapabilityMajor, 23, major) \
  X(ManagedMemory, 24, managedMemory) \
  X(MaxBlocksPerMultiProcessor, 25, maxBlocksPerMultiProcessor) \
  X(MaxBlockDimX, 26, maxThreadsDim[0]) \
  X(MaxBlockDimY, 27, maxThreadsDim[1]) \
  X(MaxBlockDimZ, 28, maxThreadsDim[2]) \
  X(MaxGridDimX, 29, maxGridSize[0]) \
  X(MaxGridDimY, 30, maxGridSize[1]) \
  X(MaxGridDimZ, 31, maxGridSize[2]) \
  X(MaxSurface1D, 32, maxSurface1D) \
  X(MaxTexture1DWidth, 39, maxTexture1D) \
  X(MaxTexture1DLinear, 41, maxTexture1DLinear) \
  X(MaxTexture1DMipmap, 42, maxTexture1DMipmap) \
  X(MaxTexture2DWidth, 43, maxTexture2D[0]) \
  X(MaxTexture2DHeight, 44, maxTexture2D[1]) \
  X(MaxTexture3DWidth, 49, maxTexture3D[0]) \
  X(MaxTexture3DHeight, 50, maxTexture3D[1]) \
  X(MaxTexture3DDepth, 51, maxTexture3D[2]) \
  X(MaxTextureCubemap, 53, maxTextureCubemap) \
  X(MaxThreadsDim, 55, maxThreadsDim[0]) \
  X(MaxThreadsPerBlock, 56, maxThreadsPerBlock) \
  X(MaxThreadsPerMultiProcessor, 57, maxThreadsPerMultiProcessor) \
  X(MaxPitch, 58, memPitch) \
  X(MemoryBusWidth, 59, memoryBusWidth) \
  X(MemoryClockRate, 60, memoryClockRate) \
  X(ComputeCapabilityMinor, 61, minor) \
  X(MultiGpuBoardGroupID, 62, multiGpuBoardGroupID) \
  X(MultiprocessorCount, 63, multiProcessorCount) \
  X(PageableMemoryAccess, 65, pageableMemoryAccess) \
  X(PageableMemoryAccessUsesHostPageTables, 66, pageableMemoryAccessUsesHostPageTables) \
  X(PciBusId, 67, pciBusID) \
  X(PciDeviceId, 68, pciDeviceID) \
  X(PciDomainID, 69, pciDomainID) \
  X(PersistingL2CacheMaxSize, 70, persistingL2CacheMaxSize) \
  X(MaxRegistersPerBlock, 71, regsPerBlock) \
  X(MaxRegistersPerMultiprocessor, 72, regsPerMultiprocessor) \
  X(ReservedSharedMemPerBlock, 73, reservedSharedMemPerBlock) \
  X(MaxSharedMemoryPerBlock, 74, sharedMemPerBlock) \
  X(SharedMemPerBlockOptin, 75, sharedMemPerBlockOptin) \
  X(SharedMemPerMultiprocessor, 76, sharedMemPerMultiprocessor) \
  X(SingleToDoublePrecisionPerfRatio, 77, singleToDoublePrecisionPerfRatio) \
  X(StreamPrioritiesSupported, 78, streamPrioritiesSupported) \
  X(SurfaceAlignment, 79, surfaceAlignment) \
  X(TccDriver, 80, tccDriver) \
  X(TextureAlignment, 81, textureAlignment) \
  X(TexturePitchAlignment, 82, texturePitchAlignment) \
  X(TotalConstantMemory, 83, totalConstMem) \
  X(TotalGlobalMem, 84, totalGlobalMem) \
  X(UnifiedAddressing, 85, unifiedAddressing) \
  X(WarpSize, 87, warpSize) \
  X(MemoryPoolsSupported, 88, memoryPoolsSupported) \
  X(ClockInstructionRate, 10000, clockInstructionRate) \
  X(MaxSharedMemoryPerMultiprocessor, 10002, maxSharedMemoryPerMultiProcessor) \
  X(CooperativeMultiDeviceUnmatchedFunc, 10007, cooperativeMultiDeviceUnmatchedFunc) \
  X(CooperativeMultiDeviceUnmatchedGridDim, 10008, cooperativeMultiDeviceUnmatchedGridDim) \
  X(CooperativeMultiDeviceUnmatchedBlockDim, 10009, cooperativeMultiDeviceUnmatchedBlockDim) \
  X(CooperativeMultiDeviceUnmatchedSharedMem, 10010, cooperativeMultiDeviceUnmatchedSharedMem) \
  X(IsLargeBar, 10011, isLargeBar) \
  X(AsicRevision, 10012, asicRevision) \
  X(CanUseStreamWaitValue, 10013, hipReserved[0]) \
  X(ImageSupport, 10014, hipReserved[0])

#define HIP6_ATTRIBUTES(X) \
  X(VirtualMemoryManagementSupported, 89, hipReserved[0]) \
  X(HostRegisterSupported, 90, hostRegisterSupported) \
  X(MemoryPoolSupportedHandleTypes, 91, memoryPoolSupportedHandleTypes) \
  X(PhysicalMultiProcessorCount, 10015, multiProcessorCount) \
  X(FineGrainSupport, 10016, canMapHostMemory) \
  X(WallClockRate, 10017, clockInstructionRate)
/* clang-format on */

#endif
