// Copies and fills of all kinds: odd sizes and places, pinned and plain memory, in order of a stream and not.
#include "show.h"

__global__ void twice(unsigned char *bytes, unsigned n)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    bytes[i] *= 2;
}

int main()
{
  const size_t n = 300001;
  std::vector<unsigned char> plain(n);
  for (size_t i = 0; i < n; ++i)
    plain[i] = (unsigned char)(i * 7);
  unsigned char *device = to_device(plain), *other = nullptr, *pinned = nullptr;
  HIP(hipMalloc(&other, n));
  HIP(hipHostMalloc((void **)&pinned, n));
  HIP(hipMemset(other, 0xee, n - 1));
  HIP(hipMemcpy(other + n - 1, device, 1, hipMemcpyDeviceToDevice));
  HIP(hipMemcpy(other + 3, device + 5, 1001, hipMemcpyDeviceToDevice));
  for (size_t size : {4u, 8u, 1024u, 40000u}) // odd places are another test's: HIP 5.2 writes beyond them
    HIP(hipMemset(other + 1024 + size, (int)size, size));
  show("copied and filled", to_host(other, n));
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  HIP(hipMemcpyAsync(pinned, plain.data(), n, hipMemcpyHostToHost, stream));
  HIP(hipMemcpyAsync(device, pinned, n, hipMemcpyHostToDevice, stream));
  twice<<<(n + 255) / 256, 256, 0, stream>>>(device, n);
  HIP(hipMemsetAsync(device + 16, 9, 16, stream));
  HIP(hipMemcpyAsync(other, device, n, hipMemcpyDeviceToDevice, stream));
  HIP(hipMemcpyAsync(plain.data(), other, n, hipMemcpyDeviceToHost, stream));
  HIP(hipStreamSynchronize(stream));
  show("in a stream", plain);
  HIP(hipMemcpyAsync(pinned, other, n, hipMemcpyDefault, stream));
  HIP(hipStreamSynchronize(stream));
  show("pinned", std::vector<unsigned char>(pinned, pinned + n));
  twice<<<(n + 255) / 256, 256>>>(pinned, n); // the device reaches it
  HIP(hipDeviceSynchronize());
  show("pinned, by a kernel", std::vector<unsigned char>(pinned, pinned + n));
  HIP(hipMemcpyWithStream(pinned, device, n / 2, hipMemcpyDeviceToHost, stream));
  HIP(hipMemcpyHtoD(other, plain.data(), 17));
  HIP(hipMemcpyDtoD(other + 100, other, 17));
  HIP(hipMemcpyDtoH(plain.data(), other + 100, 17));
  show("driver's", plain);
  size_t available = 0, total = 0;
  HIP(hipMemGetInfo(&available, &total));
  std::printf("%d\n", available > 0 && available <= total);
  void *none = &none;
  HIP(hipMalloc(&none, 0));
  std::printf("%d %d\n", none == nullptr, (int)hipFree(nullptr));
  HIP(hipStreamDestroy(stream));
  HIP(hipHostFree(pinned));
  HIP(hipFree(device));
  HIP(hipFree(other));
}
