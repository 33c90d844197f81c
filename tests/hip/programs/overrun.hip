// Stores behind its buffer, which on a GPU often goes well.
#include "check.h"

__global__ void fill(int *out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    out[i] = i;
}

int main()
{
  int *out = nullptr;
  HIP(hipMalloc(&out, 1 << 20));
  fill<<<1 << 10 | 1, 256>>>(out, 1 << 18);
  HIP(hipDeviceSynchronize());
  std::puts("unnoticed");
}
