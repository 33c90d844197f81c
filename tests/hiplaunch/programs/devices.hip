// Two devices: variables, code, streams, events and memory of each, copies between them, and whose the current one is.
#include "show.h"

#include <thread>

__device__ int where = -1;
__constant__ int factor = 1;

__global__ void fill(int *out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = i * factor + where;
}

int main()
{
  constexpr int n = 1000, bytes = n * sizeof(int);
  int count = 0, current = -1;
  HIP(hipGetDeviceCount(&count));
  HIP(hipGetDevice(&current));
  std::printf("%d devices, %d is current\n", count, current);
  HIP(hipSetDevice(2));
  HIP(hipSetDevice(-1));
  (void)hipGetLastError(); // HIP 5 forgets it with the next call, we do not
  int *out[2];
  hipStream_t streams[2];
  hipEvent_t events[2];
  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    hipDeviceProp_t properties;
    HIP(hipGetDeviceProperties(&properties, d));
    std::printf("device %d: %s\n", d, properties.gcnArchName);
    HIP(hipStreamCreate(&streams[d]));
    HIP(hipEventCreate(&events[d]));
    HIP(hipMalloc(&out[d], bytes));
    int here = 100 * (d + 1), times = d + 2;
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(where), &here, sizeof(here))); // each device has its own
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(factor), &times, sizeof(times)));
  }
  for (int d = 0; d < 2; ++d) {
    HIP(hipSetDevice(d));
    fill<<<4, 256, 0, streams[d]>>>(out[d], n);
    HIP(hipGetLastError());
    HIP(hipEventRecord(events[d], streams[d]));
  }
  HIP(hipEventSynchronize(events[0]));
  show("device 0", to_host(out[0], n));
  HIP(hipStreamSynchronize(streams[1]));
  show("device 1", to_host(out[1], n));
  // The stream says which device, whichever is current; one waits for what the other records.
  HIP(hipSetDevice(0));
  int seven = 7;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(where), &seven, sizeof(seven)));
  fill<<<4, 256, 0, streams[0]>>>(out[0], n);
  HIP(hipEventRecord(events[0], streams[0]));
  HIP(hipStreamWaitEvent(streams[1], events[0], 0));
  HIP(hipMemcpyAsync(out[1], out[0], bytes, hipMemcpyDeviceToDevice, streams[1]));
  HIP(hipStreamSynchronize(streams[1]));
  show("copied", to_host(out[1], n));
  HIP(hipMemcpy(out[0], out[1], bytes / 2, hipMemcpyDefault));
  HIP(hipMemset(out[1], 0, bytes / 2)); // of a device that is not current
  HIP(hipMemsetAsync(out[1] + 4, 5, 64, streams[0]));
  HIP(hipStreamSynchronize(streams[0]));
  show("filled", to_host(out[1], n));
  std::thread other([] {
    int mine = -1;
    HIP(hipGetDevice(&mine));
    std::printf("another thread begins with %d\n", mine);
    HIP(hipSetDevice(1));
  });
  other.join();
  HIP(hipGetDevice(&current));
  std::printf("%d is still current\n", current);
  for (int d = 0; d < 2; ++d) {
    HIP(hipFree(out[d])); // also those of the device that is not current
    HIP(hipStreamDestroy(streams[d]));
    HIP(hipEventDestroy(events[d]));
  }
}
