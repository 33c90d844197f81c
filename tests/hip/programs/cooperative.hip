// Cooperative launches: grid.sync() of a small grid and of the largest that HIP permits; one more is refused.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// In each round a work-group takes what its neighbour made in the round before.
__global__ void pass_on(unsigned *both, int rounds)
{
  cg::grid_group grid = cg::this_grid();
  const unsigned groups = gridDim.x, next = (blockIdx.x + 1) % groups;
  for (int round = 0; round < rounds; round++) {
    if (threadIdx.x == 0)
      both[(round + 1) % 2 * groups + blockIdx.x] =
          __atomic_load_n(&both[round % 2 * groups + next], __ATOMIC_RELAXED) + 1;
    grid.sync();
  }
}

__global__ void sum(const unsigned *values, unsigned n, unsigned *partial, unsigned *total)
{
  cg::grid_group grid = cg::this_grid();
  unsigned mine = 0;
  for (size_t i = grid.thread_rank(); i < n; i += grid.size())
    mine += values[i];
  atomicAdd(&partial[blockIdx.x], mine);
  grid.sync();
  if (grid.thread_rank() == 0)
    for (unsigned i = 0; i < gridDim.x; i++)
      *total += partial[i];
}

static void passes_on(unsigned groups, unsigned items, int rounds)
{
  unsigned *both = to_device(std::vector<unsigned>(2 * groups));
  void *arguments[] = {&both, &rounds};
  HIP(hipLaunchCooperativeKernel((void *)pass_on, dim3(groups), dim3(items), arguments, 0,
                                 nullptr));
  const auto out = to_host(both, 2 * groups);
  for (unsigned i = 0; i < groups; i++)
    CHECK(out[rounds % 2 * groups + i] == (unsigned)rounds);
  HIP(hipFree(both));
}

int main()
{
  hipDeviceProp_t properties{};
  HIP(hipGetDeviceProperties(&properties, 0));
  CHECK(properties.cooperativeLaunch == 1);

  passes_on(1, 64, 4);
  passes_on(7, 256, 5);
  passes_on(96, 64, 3);
  int blocks = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)pass_on, 256, 0));
  const unsigned most = (unsigned)(blocks * properties.multiProcessorCount);
  passes_on(most, 256, 2);

  unsigned *both = to_device(std::vector<unsigned>(2 * (most + 1)));
  int rounds = 1;
  void *arguments[] = {&both, &rounds};
  CHECK(hipLaunchCooperativeKernel((void *)pass_on, dim3(most + 1), dim3(256), arguments, 0,
                                   nullptr) == hipErrorCooperativeLaunchTooLarge);
  (void)hipGetLastError();
  HIP(hipFree(both));

  unsigned n = 100000;
  std::vector<unsigned> values(n);
  unsigned expected = 0;
  for (unsigned i = 0; i < n; i++)
    expected += values[i] = i * 7 + 1;
  unsigned *device = to_device(values), *partial = to_device(std::vector<unsigned>(40));
  unsigned *total = to_device(std::vector<unsigned>(1));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (unsigned i = 1; i < 4; i++) { // on a queue of its own, after what the stream did before
    HIP(hipMemsetAsync(partial, 0, 40 * sizeof(unsigned), stream));
    void *more[] = {&device, &n, &partial, &total};
    HIP(hipLaunchCooperativeKernel((void *)sum, dim3(40), dim3(128), more, 0, stream));
    HIP(hipStreamSynchronize(stream));
    CHECK(to_host(total, 1)[0] == i * expected);
  }
  HIP(hipStreamDestroy(stream));
  std::puts("ok");
}
