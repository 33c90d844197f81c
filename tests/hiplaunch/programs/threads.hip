// Several threads, with streams of their own and with the null stream, from the first call on.
#include "show.h"

#include <cstdlib>
#include <thread>

__device__ int shared_sum;

__global__ void add(int *out, int n)
{
  atomicAdd(out, n);
  atomicAdd(&shared_sum, 1);
}

static void work(int number, int *result)
{
  hipStream_t stream = nullptr;
  if (number % 2)
    HIP(hipStreamCreate(&stream));
  int *out = to_device(std::vector<int>(1));
  for (int i = 0; i < 50; ++i)
    add<<<1, 1, 0, stream>>>(out, i * number);
  HIP(hipStreamSynchronize(stream));
  *result = to_host(out, 1)[0];
  HIP(hipFree(out));
  if (stream)
    HIP(hipStreamDestroy(stream));
}

int main()
{
  int results[8] = {}, sum = 0;
  // Debian's HIP 5.2 now and then crashes in hipStreamCreate() where several threads make the first call at once. Its
  // runs have no RAWHAL_DEVICE, see same.sh.
  if (!getenv("RAWHAL_DEVICE"))
    HIP(hipFree(nullptr));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(work, i, &results[i]);
  for (std::thread &thread : threads)
    thread.join();
  for (int result : results)
    std::printf("%d\n", result);
  HIP(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(shared_sum), sizeof(sum)));
  std::printf("%d\n", sum);
}
