// Variables of the device: plain, constant, arrays, structures, pointers to each other, all by all calls.
#include "show.h"

struct Pair {
  int a;
  double b;
};

__device__ int counter;
__device__ Pair pairs[4] = {{1, 1.5}, {2, 2.5}, {3, 3.5}, {4, 4.5}};
__constant__ float weights[32];
__device__ int *pointer = &counter;

__global__ void step(double *out)
{
  atomicAdd(pointer, (int)threadIdx.x);
  if (threadIdx.x < 4)
    out[threadIdx.x] = pairs[threadIdx.x].a * pairs[threadIdx.x].b + weights[threadIdx.x * 8];
}

int main()
{
  double *out = to_device(std::vector<double>(4));
  std::vector<float> values(32);
  for (int i = 0; i < 32; ++i)
    values[i] = i * 0.25f;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), values.data(), 32 * sizeof(float)));
  step<<<1, 64>>>(out);
  show("first", to_host(out, 4));
  Pair changed = {-7, 0.125};
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(pairs), &changed, sizeof(changed), 2 * sizeof(changed)));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpyToSymbolAsync(HIP_SYMBOL(weights), values.data() + 16, 16 * sizeof(float), 0, hipMemcpyHostToDevice, stream));
  step<<<2, 64, 0, stream>>>(out);
  HIP(hipStreamSynchronize(stream));
  show("second", to_host(out, 4));
  int count = -1;
  HIP(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof(count)));
  void *address = nullptr;
  size_t size = 0;
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(pairs)));
  HIP(hipGetSymbolSize(&size, HIP_SYMBOL(pairs)));
  Pair back[4] = {};
  HIP(hipMemcpy(back, address, sizeof(back), hipMemcpyDeviceToHost));
  std::printf("%d %zu %d %g\n", count, size, back[2].a, back[3].b);
  HIP(hipMemcpyFromSymbolAsync(back, HIP_SYMBOL(pairs), sizeof(Pair), sizeof(Pair), hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  std::printf("%d %g\n", back[0].a, back[0].b);
  HIP(hipStreamDestroy(stream));
  HIP(hipFree(out));
}
