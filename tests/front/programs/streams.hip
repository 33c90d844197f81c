// Many short kernels from several streams and threads: each runs once, in its stream's order.
// usage: streams STREAMS LAUNCHES
#include <thread>

#include "../../hip/programs/check.h"

__global__ void step(unsigned *value, unsigned i)
{
  *value = *value * 3 + i; /* says so when one is lost, twice there or too early */
}

int main(int argc, char **argv)
{
  int streams = argc > 1 ? atoi(argv[1]) : 8;
  unsigned launches = argc > 2 ? (unsigned)atoi(argv[2]) : 2000, expected = 0;
  std::vector<hipStream_t> stream(streams);
  unsigned *values = to_device(std::vector<unsigned>(streams * 64));
  for (int s = 0; s < streams; s++)
    HIP(hipStreamCreateWithFlags(&stream[s], hipStreamNonBlocking));
  std::vector<std::thread> threads;
  for (int s = 0; s < streams; s++)
    threads.emplace_back([&, s] {
      for (unsigned i = 0; i < launches; i++)
        step<<<1, 1, 0, stream[s]>>>(values + s * 64, i);
      HIP(hipStreamSynchronize(stream[s]));
    });
  for (auto &thread : threads)
    thread.join();
  for (unsigned i = 0; i < launches; i++)
    expected = expected * 3 + i;
  auto got = to_host(values, streams * 64);
  for (int s = 0; s < streams; s++)
    CHECK(got[s * 64] == expected);
  std::puts("ok");
}
