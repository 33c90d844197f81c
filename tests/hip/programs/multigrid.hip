// A cooperative launch on two devices: multi_grid.sync().
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// Every grid counts its work-groups; after the barrier each sees both counts.
__global__ void count(unsigned *counts, unsigned *seen)
{
  cg::multi_grid_group grids = cg::this_multi_grid();
  if (threadIdx.x == 0)
    __atomic_fetch_add(&counts[grids.grid_rank()], 1u, __ATOMIC_RELAXED);
  grids.sync();
  if (threadIdx.x == 0)
    seen[grids.grid_rank() * gridDim.x + blockIdx.x] =
        __atomic_load_n(&counts[0], __ATOMIC_RELAXED) * 1000 +
        __atomic_load_n(&counts[1], __ATOMIC_RELAXED);
}

int main()
{
  const unsigned groups = 12;
  unsigned *counts = nullptr, *seen = nullptr;
  HIP(hipHostMalloc(&counts, 2 * sizeof(unsigned)));
  HIP(hipHostMalloc(&seen, 2 * groups * sizeof(unsigned)));
  counts[0] = counts[1] = 0;
  hipLaunchParams launches[2] = {};
  void *arguments[] = {&counts, &seen};
  for (int i = 0; i < 2; i++) {
    HIP(hipSetDevice(i));
    HIP(hipStreamCreate(&launches[i].stream));
    launches[i].func = (void *)count;
    launches[i].gridDim = dim3(groups);
    launches[i].blockDim = dim3(64);
    launches[i].args = arguments;
  }
  HIP(hipLaunchCooperativeKernelMultiDevice(launches, 2, 0));
  for (int i = 0; i < 2; i++) {
    HIP(hipSetDevice(i));
    HIP(hipStreamSynchronize(launches[i].stream));
  }
  for (unsigned i = 0; i < 2 * groups; i++)
    CHECK(seen[i] == groups * 1001);
  std::puts("ok");
}
