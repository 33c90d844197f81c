// Kernels of a length that the device's own clock measures, launched as fast as they go, under a share of device time
// that the environment sets: together they take as long as it says, however slow the machine is.
// usage: limited PERCENT BURST_MILLISECONDS
#include "show.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

static const double ticks_per_millisecond = 100e3;

__global__ void turn(unsigned long long *taken, unsigned long long ticks)
{
  unsigned long long begin = __builtin_amdgcn_s_memrealtime(), now = begin;
  while (now - begin < ticks)
    now = __builtin_amdgcn_s_memrealtime();
  *taken = now - begin;
}

static double milliseconds()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
  const int launches = 60;
  const double share = (argc > 1 ? atof(argv[1]) : 100) / 100, burst = argc > 2 ? atof(argv[2]) : 0;
  unsigned long long *taken = to_device(std::vector<unsigned long long>(launches));
  const double began = milliseconds();
  for (int i = 0; i < launches; ++i)
    turn<<<1, 1>>>(taken + i, (unsigned long long)(2 * ticks_per_millisecond));
  HIP(hipDeviceSynchronize());
  const double took = milliseconds() - began;
  const std::vector<unsigned long long> each = to_host(taken, launches);
  const double all = (double)std::accumulate(each.begin(), each.end(), 0ull) / ticks_per_millisecond;
  const double longest = (double)*std::max_element(each.begin(), each.end()) / ticks_per_millisecond;
  // In any time: the share of it, the share of a burst, and one submission.
  const double least = (all - share * burst - longest) / share;
  if (took < least)
    std::printf("%.1f ms of device time in %.1f ms, which is less than %.1f\n", all, took, least);
  else
    std::printf("%d launches as they should\n", all >= 2 * launches ? launches : 0);
}
