// clock64() ticks at the rate that clockRate says, wall_clock64() at 100 MHz. No time is measured: each is read between
// two readings of the other.
#include "check.h"

#ifndef __HIP_DEVICE_COMPILE__
__device__ long long wall_clock64(); // which HIP 5.2 declares for the device alone
#endif

__global__ void read_clocks(unsigned long long *out)
{
  out[0] = wall_clock64();
  out[1] = clock64();
  out[2] = wall_clock64();
}

int main()
{
  hipDeviceProp_t properties{};
  HIP(hipGetDeviceProperties(&properties, 0));
  int rate = 0;
  HIP(hipDeviceGetAttribute(&rate, hipDeviceAttributeClockRate, 0));
  CHECK(rate == properties.clockRate);

  const unsigned wall_rate = 100000; // kHz
  unsigned long long *device = to_device(std::vector<unsigned long long>(3)), last = 0;
  for (int i = 0; i < 20; i++) {
    read_clocks<<<1, 1>>>(device);
    const auto read = to_host(device, 3);
    using Wide = unsigned __int128;
    CHECK(read[0] >= last && read[2] >= read[0]);
    CHECK(Wide(read[0]) * rate <= Wide(read[1]) * wall_rate);
    CHECK(Wide(read[1]) * wall_rate <= Wide(read[2] + 1) * rate);
    last = read[2];
  }
  HIP(hipFree(device));
  std::puts("ok");
}
