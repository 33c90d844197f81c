// Copies as fast as they go, for a while: to and from the device, by stream and at once, with kernels
// in between. What comes back must be what went there. Then it says so, and waits for a line.
// usage: copies MILLISECONDS MODE: async (an engine's, no kernel), mixed (kernels, too), fill, device
#include <time.h>

#include "../../hip/programs/check.h"

__global__ void add(unsigned *values, unsigned count, unsigned more)
{
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
    values[i] += more;
}

static double seconds()
{
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
  double lasts = argc > 1 ? atof(argv[1]) / 1000 : 1;
  std::string mode = argc > 2 ? argv[2] : "async";
  const unsigned count = 1 << 20, some = 1 << 10;
  unsigned *there, *other, *from, *back;
  hipStream_t stream[2];
  HIP(hipMalloc((void **)&there, count * 4));
  HIP(hipMalloc((void **)&other, count * 4));
  HIP(hipHostMalloc((void **)&from, count * 4, 0));
  HIP(hipHostMalloc((void **)&back, count * 4, 0));
  for (auto &one : stream)
    HIP(hipStreamCreateWithFlags(&one, hipStreamNonBlocking));
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  unsigned rounds = 0;
  for (double began = seconds(); seconds() - began < lasts; rounds++) {
    for (unsigned i = 0; i < count; i += some)
      from[i] = rounds + i;
    HIP(hipMemcpyAsync(there, from, count * 4, hipMemcpyHostToDevice, stream[0]));
    if (mode == "mixed") {
      add<<<1, 256, 0, stream[0]>>>(there, count, 1);
      HIP(hipEventRecord(event, stream[0]));
      HIP(hipStreamWaitEvent(stream[1], event, 0));
      add<<<1, 256, 0, stream[1]>>>(there, count, 2);
      HIP(hipEventRecord(event, stream[1]));
      HIP(hipStreamWaitEvent(stream[0], event, 0));
    }
    if (mode == "device")
      HIP(hipMemcpyAsync(other, there, count * 4, hipMemcpyDeviceToDevice, stream[0]));
    HIP(hipMemcpyAsync(back, mode == "device" ? other : there, count * 4, hipMemcpyDeviceToHost,
                       stream[0]));
    HIP(hipStreamSynchronize(stream[0]));
    for (unsigned i = 0; i < count; i += some)
      CHECK(back[i] == rounds + i + (mode == "mixed" ? 3 : 0));
    HIP(hipMemcpy(there + some, back + some, some * 4, hipMemcpyHostToDevice));
  }
  std::printf("%u rounds\n", rounds);
  std::fflush(stdout);
  std::getchar();
}
