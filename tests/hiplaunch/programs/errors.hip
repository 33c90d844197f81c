// What is wrong, and which number says so.
#include "show.h"

__global__ void set(int *out)
{
  out[threadIdx.x] = 1;
}

#define TRY(call)                                                                                  \
  do {                                                                                             \
    hipError_t error = (call);                                                                     \
    std::printf("%s = %s, then %s\n", #call, hipGetErrorName(error), hipGetErrorName(hipGetLastError())); \
    std::printf("  and then %s\n", hipGetErrorString(hipPeekAtLastError()));                       \
  } while (0)

int main()
{
  int *out = to_device(std::vector<int>(64)), count = -1;
  set<<<1, 2048>>>(out);
  std::printf("a work-group too large: %s\n", hipGetErrorName(hipGetLastError()));
  set<<<0, 64>>>(out);
  std::printf("no work-groups: %s\n", hipGetErrorName(hipGetLastError()));
  set<<<1, dim3(64, 0, 1)>>>(out);
  std::printf("no work-items: %s\n", hipGetErrorName(hipGetLastError()));
  TRY(hipMemcpy(out, nullptr, 4, hipMemcpyHostToDevice));
  TRY(hipGetDeviceCount(nullptr));
  TRY(hipSetDevice(99));
  TRY(hipGetDeviceCount(&count));
  TRY(hipHostMalloc(nullptr, 4, 0));
  TRY(hipStreamCreate(nullptr));
  TRY(hipEventRecord(nullptr, nullptr));
  TRY(hipEventSynchronize(nullptr));
  std::printf("%d\n", count);
  set<<<1, 64>>>(out);
  TRY(hipDeviceSynchronize());
  show("still", to_host(out, 64));
}
