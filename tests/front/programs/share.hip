// Kernels of a length that the device's own clock measures, as fast as they go, for a while. Prints
// which part of the time they had, in percent: of the host's clock, by the device's.
// usage: share MILLISECONDS MICROSECONDS_EACH [AHEAD [steady]]: `steady` waits without a processor, and has AHEAD more to
// run while it waits for as many, so that the device can always have some
#include <time.h>

#include "../../hip/programs/check.h"

static const double ticks_per_second = 100e6;

__global__ void turn(unsigned long long *sum, unsigned long long ticks)
{
  unsigned long long begin = __builtin_amdgcn_s_memrealtime(), now = begin;
  while (now - begin < ticks)
    now = __builtin_amdgcn_s_memrealtime();
  *sum += now - begin;
}

static double seconds()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
  double lasts = argc > 1 ? atof(argv[1]) / 1000 : 2;
  auto ticks = (unsigned long long)((argc > 2 ? atof(argv[2]) : 1300) * 1e-6 * ticks_per_second);
  int ahead = argc > 3 ? atoi(argv[3]) : 4;
  unsigned long long *sum = nullptr, total = 0;
  bool steady = argc > 4;
  if (steady)
    HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
  hipEvent_t before, now;
  HIP(hipEventCreateWithFlags(&before, hipEventBlockingSync | hipEventDisableTiming));
  HIP(hipEventCreateWithFlags(&now, hipEventBlockingSync | hipEventDisableTiming));
  HIP(hipMalloc((void **)&sum, sizeof(*sum)));
  HIP(hipMemset(sum, 0, sizeof(*sum)));
  turn<<<1, 1>>>(sum, ticks);
  HIP(hipDeviceSynchronize());
  HIP(hipMemcpy(&total, sum, sizeof(total), hipMemcpyDeviceToHost));
  unsigned long long first = total;
  double began = seconds(), launched = 0;
  while (seconds() - began < lasts) {
    for (int i = 0; i < ahead; i++)
      turn<<<1, 1>>>(sum, ticks);
    launched += ahead;
    HIP(steady ? hipEventRecord(now, nullptr) : hipDeviceSynchronize());
    if (steady)
      HIP(hipEventSynchronize(before)); // one that was not recorded is over
    std::swap(before, now);
  }
  HIP(hipDeviceSynchronize());
  double took = seconds() - began;
  HIP(hipMemcpy(&total, sum, sizeof(total), hipMemcpyDeviceToHost));
  std::printf("%.2f percent of %.2f s, %.0f launches\n",
              100 * (double)(total - first) / ticks_per_second / took, took, launched);
}
