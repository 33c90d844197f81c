#include "show.h"
#include "units.h"

static __device__ int bias = 7000;

static __global__ void work(int *out, int value)
{
  *out = value * 3 + bias++;
}

int second_unit(int value)
{
  int *out = to_device(std::vector<int>(1));
  work<<<1, 1>>>(out, value);
  int result = to_host(out, 1)[0], changed = 0;
  HIP(hipMemcpyFromSymbol(&changed, HIP_SYMBOL(bias), sizeof(changed)));
  HIP(hipFree(out));
  return result + 100000 * changed;
}
