// One of three translation units. Kernel and variable have the same names as the other's, and are others.
#include "show.h"
#include "units.h"

static __device__ int bias = 100;

static __global__ void work(int *out, int value)
{
  *out = value * 2 + bias;
}

int first_unit(int value)
{
  int *out = to_device(std::vector<int>(1));
  work<<<1, 1>>>(out, value);
  int result = to_host(out, 1)[0];
  HIP(hipFree(out));
  return result;
}
