// printf() in two streams and malloc(): both are too much for HIP 5.2 on softgpu, so this is compared with what it must be.
#include "show.h"

__global__ void say(int i)
{
  int *memory = (int *)malloc((100 + threadIdx.x) * sizeof(int));
  for (int k = 0; memory && k < 100; ++k)
    memory[k] = k * i;
  if (threadIdx.x == 0)
    printf("kernel %d: %d\n", i, memory ? memory[99] : -1);
  free(memory);
}

int main()
{
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (int i = 0; i < 6; ++i) {
    say<<<1, 64, 0, i % 2 ? stream : nullptr>>>(i);
    HIP(hipDeviceSynchronize());
  }
  HIP(hipStreamDestroy(stream));
}
