// Who waits for the device leaves the processor to it.
#include <ctime>

#include "check.h"

__global__ void turn(unsigned *out, unsigned rounds)
{
  unsigned x = threadIdx.x + 1;
  for (unsigned i = 0; i < rounds; i++)
    x = x * 1664525 + 1013904223;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

static double seconds(clockid_t clock)
{
  timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main()
{
  unsigned *out = nullptr;
  HIP(hipMalloc((void **)&out, 64 * 256 * 4));
  hipEvent_t done;
  HIP(hipEventCreate(&done));
  turn<<<64, 256>>>(out, 1);
  HIP(hipDeviceSynchronize());
  double used = 0, passed = 0;
  for (int how = 0; how < 3; how++) {
    turn<<<64, 256>>>(out, 20000);
    HIP(hipEventRecord(done, nullptr));
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    HIP(how == 0   ? hipDeviceSynchronize()
        : how == 1 ? hipStreamSynchronize(nullptr)
                   : hipEventSynchronize(done));
    used += seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    passed += seconds(CLOCK_MONOTONIC) - wall;
  }
  if (used >= 0.02 + passed / 20)
    std::printf("waited %.3f s, of which %.3f s on a processor\n", passed, used);
  std::puts("ok");
}
