// Events tell how long kernels took, whoever's the queue is: no less than the device's own clock.
#include <hip/hip_ext.h>

#include "../../hip/programs/check.h"

__global__ void turn(unsigned long long ticks)
{
  unsigned long long begin = __builtin_amdgcn_s_memrealtime();
  while (__builtin_amdgcn_s_memrealtime() - begin < ticks) {
  }
}

int main()
{
  hipEvent_t begin, end;
  HIP(hipEventCreate(&begin));
  HIP(hipEventCreate(&end));
  turn<<<1, 1>>>(1);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 5; i++) {
    float ms = 0;
    HIP(hipEventRecord(begin, nullptr));
    turn<<<1, 1>>>(2000000); /* 20 ms */
    HIP(hipEventRecord(end, nullptr));
    HIP(hipEventSynchronize(end));
    HIP(hipEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 20);
    float kernel = 0;
    hipExtLaunchKernelGGL(turn, dim3(1), dim3(1), 0, nullptr, begin, end, 0, 500000ull); /* 5 ms */
    HIP(hipEventSynchronize(end));
    HIP(hipEventElapsedTime(&kernel, begin, end));
    CHECK(kernel >= 5);
  }
  std::puts("ok");
}
