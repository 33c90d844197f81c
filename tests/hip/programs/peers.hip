// Two devices: copies between them, and a kernel of one in the memory of the other.
#include "check.h"

__global__ void twice(int *out, const int *in, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = 2 * in[i];
}

int main()
{
  int devices = 0, can = 0;
  HIP(hipGetDeviceCount(&devices));
  CHECK(devices == 2);
  const int n = 3000;
  std::vector<int> values(n);
  for (int i = 0; i < n; i++)
    values[i] = 7 * i + 1;
  HIP(hipSetDevice(0));
  int *first = to_device(values);
  HIP(hipSetDevice(1));
  int *second = nullptr;
  HIP(hipMalloc(&second, n * sizeof(int)));
  HIP(hipMemcpyPeer(second, 1, first, 0, n * sizeof(int)));
  CHECK(to_host(second, n) == values);
  HIP(hipMemset(second, 0, n * sizeof(int)));
  HIP(hipMemcpy(second, first, n * sizeof(int), hipMemcpyDefault));
  CHECK(to_host(second, n) == values);

  HIP(hipDeviceCanAccessPeer(&can, 1, 0));
  CHECK(can == 1);
  HIP(hipDeviceEnablePeerAccess(0, 0));
  twice<<<(n + 255) / 256, 256>>>(second, first, n);
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
  std::vector<int> got = to_host(second, n);
  for (int i = 0; i < n; i++)
    CHECK(got[i] == 2 * values[i]);

  // Registered memory is for both.
  std::vector<int> mine(values);
  int *alias = nullptr;
  HIP(hipHostRegister(mine.data(), n * sizeof(int), hipHostRegisterPortable));
  HIP(hipHostGetDevicePointer((void **)&alias, mine.data(), 0));
  for (int device = 0; device < 2; device++) {
    HIP(hipSetDevice(device));
    twice<<<(n + 255) / 256, 256>>>(alias, alias, n);
    HIP(hipDeviceSynchronize());
  }
  for (int i = 0; i < n; i++)
    CHECK(mine[i] == 4 * values[i]);
  HIP(hipHostUnregister(mine.data()));
  std::puts("ok");
  return 0;
}
