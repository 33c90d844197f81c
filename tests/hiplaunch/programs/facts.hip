// What devices and kernels are like.
#include "show.h"

__global__ __launch_bounds__(256) void bounded(float *out)
{
  __shared__ float part[500];
  part[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = part[255 - threadIdx.x];
}

__global__ void plain(int *out)
{
  *out = 1;
}

int main()
{
  hipDeviceProp_t p;
  HIP(hipGetDeviceProperties(&p, 0));
  std::printf("%s %d %d.%d\n", p.gcnArchName, p.gcnArch, p.major, p.minor);
  std::printf("%zu %zu %zu %zu\n", p.totalGlobalMem, p.sharedMemPerBlock, p.totalConstMem, p.maxSharedMemoryPerMultiProcessor);
  std::printf("%d %d %d (%d %d %d) (%d %d %d)\n", p.regsPerBlock, p.warpSize, p.maxThreadsPerBlock, p.maxThreadsDim[0],
              p.maxThreadsDim[1], p.maxThreadsDim[2], p.maxGridSize[0], p.maxGridSize[1], p.maxGridSize[2]);
  std::printf("%d %d %d %d %d %d\n", p.clockRate, p.memoryClockRate, p.memoryBusWidth, p.multiProcessorCount,
              p.l2CacheSize, p.maxThreadsPerMultiProcessor);
  std::printf("%d %d:%d.%d %d %d %d %d %d\n", p.computeMode, p.pciDomainID, p.pciBusID, p.pciDeviceID,
              p.concurrentKernels, p.canMapHostMemory, p.integrated, p.managedMemory, p.concurrentManagedAccess);
  std::printf("%d %d %d%d%d%d\n", p.clockInstructionRate, p.isMultiGpuBoard, p.arch.hasDoubles, p.arch.hasWarpShuffle,
              p.arch.has3dGrid, p.arch.hasDynamicParallelism);
  int count = 0, device = -1, version = 0, least = 9, greatest = 9;
  HIP(hipGetDeviceCount(&count));
  HIP(hipGetDevice(&device));
  HIP(hipRuntimeGetVersion(&version));
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  std::printf("%d %d %d %d %d\n", count, device, version / 100000, least, greatest);
  for (const void *kernel : {(const void *)bounded, (const void *)plain}) {
    hipFuncAttributes a = {};
    HIP(hipFuncGetAttributes(&a, kernel));
    std::printf("%d %d %zu %zu %d\n", a.maxThreadsPerBlock, a.numRegs, a.sharedSizeBytes, a.localSizeBytes,
                a.maxDynamicSharedSizeBytes);
    int blocks = 0;
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
    std::printf("%d\n", blocks);
  }
}
