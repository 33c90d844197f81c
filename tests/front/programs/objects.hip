// Variables of a code object take memory of the device, too: 8 MiB here. Says what came of it.
#include "../../hip/programs/check.h"

__device__ unsigned char much[8 << 20];

__global__ void touch()
{
  much[threadIdx.x] = 1;
}

int main()
{
  size_t available = 0, total = 0;
  HIP(hipMemGetInfo(&available, &total));
  touch<<<1, 64>>>();
  hipError_t result = hipGetLastError();
  if (result == hipSuccess)
    result = hipDeviceSynchronize();
  std::printf("%zu MiB, %s\n", total >> 20, hipGetErrorName(result));
  std::fflush(stdout);
  std::getchar();
}
