// Kernels in a shared library and in the program, with static objects that use them in both.
#include "show.h"

template <typename T> void shapes_multiply(std::vector<T> &values);
void shapes_set(float value);

__global__ void add(int *values, int n)
{
  values[threadIdx.x] += n;
}

static struct Static {
  Static()
  {
    std::vector<int> values = {10, 20};
    shapes_multiply(values);
    std::printf("the program's own: %d %d\n", values[0], values[1]);
  }
  ~Static() { std::printf("the end\n"); }
} object;

int main()
{
  shapes_set(5.0f);
  std::vector<int> values(100, 3);
  shapes_multiply(values);
  int *device = to_device(values);
  add<<<1, 100>>>(device, 4);
  show("both", to_host(device, values.size()));
  HIP(hipFree(device));
}
