// What is no texture stops the kernel that samples it, with the reason.
#include "check.h"

__global__ void sample(hipTextureObject_t t, float *out)
{
  out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0);
}

int main()
{
  float *zeros = to_device(std::vector<float>(64)), *out = to_device(std::vector<float>(64));
  sample<<<1, 64>>>(reinterpret_cast<hipTextureObject_t>(zeros), out);
  std::puts(hipDeviceSynchronize() == hipSuccess ? "sampled" : "not sampled");
}
