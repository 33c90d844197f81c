// A shared library with kernels, a variable, and a constructor that uses both before main() runs.
#include "show.h"

__device__ float scale = 2.0f;

template <typename T> __global__ void multiply(T *values, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    values[i] *= static_cast<T>(scale);
}

template <typename T> void shapes_multiply(std::vector<T> &values)
{
  T *device = to_device(values);
  multiply<<<(values.size() + 63) / 64, 64>>>(device, (int)values.size());
  values = to_host(device, values.size());
  HIP(hipFree(device));
}

template void shapes_multiply(std::vector<float> &);
template void shapes_multiply(std::vector<int> &);

void shapes_set(float value)
{
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(scale), &value, sizeof(value)));
}

static struct Early {
  Early()
  {
    std::vector<float> values = {1, 2, 3};
    shapes_multiply(values);
    std::printf("before main: %g %g %g\n", values[0], values[1], values[2]);
  }
} early;

extern "C" int shapes_answer(int n)
{
  std::vector<int> values = {n};
  shapes_multiply(values);
  return values[0];
}
