// Managed variables and memory: the host's and the device's at the same address.
#include "show.h"

__managed__ int total = 5;
__managed__ float table[100];
__managed__ int *link;

__global__ void work(int *extra)
{
  table[threadIdx.x] += (float)*link;
  if (threadIdx.x == 0) {
    total *= 2;
    *extra = total + *link;
  }
}

int main()
{
  total += 10; // without a call to HIP before
  for (int i = 0; i < 100; ++i)
    table[i] = (float)i;
  int *memory = nullptr;
  HIP(hipMallocManaged(&memory, 2 * sizeof(int)));
  memory[0] = 1000;
  link = memory;
  work<<<1, 100>>>(memory + 1);
  HIP(hipDeviceSynchronize());
  std::printf("%d %d %g %g\n", total, memory[1], table[0], table[99]);
  work<<<1, 100>>>(&total);
  HIP(hipDeviceSynchronize());
  std::printf("%d %g\n", total, table[50]);
  HIP(hipFree(memory));
}
