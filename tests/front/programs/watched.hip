// What happens in a program that somebody watches, a step for each line of the standard input.
#include <hip/hip_runtime.h>

#include "../../hip/programs/check.h"

__global__ void count_up(unsigned *to)
{
  to[blockIdx.x * blockDim.x + threadIdx.x]++;
}
__global__ void never_launched(unsigned *to)
{
  *to = 0;
}

static void step(const char *said)
{
  char line[16];
  std::puts(said);
  std::fflush(stdout);
  if (!std::fgets(line, sizeof(line), stdin))
    std::exit(1);
}

int main()
{
  unsigned *memory = nullptr;
  hipStream_t stream;
  step("nothing");
  HIP(hipMalloc(&memory, 40000));
  HIP(hipMemset(memory, 0, 40000));
  HIP(hipStreamCreate(&stream));
  for (int i = 0; i < 5; i++)
    hipLaunchKernelGGL(count_up, dim3(10), dim3(64), 0, stream, memory);
  HIP(hipStreamSynchronize(stream));
  std::printf("%p\n", static_cast<void *>(memory));
  step("run");
  HIP(hipFree(memory));
  HIP(hipStreamDestroy(stream));
  step("freed");
  hipLaunchKernelGGL(count_up, dim3(10), dim3(64), 0, nullptr, memory + (1u << 28));
  (void)hipDeviceSynchronize();
  step("failed");
  return 0;
}
