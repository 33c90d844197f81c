// Launches that are wrong, each chosen by the argument; what is said of them is the test's concern.
#include "show.h"

#include <rawhal/hiplaunch.h>

#include <cstring>
#include <string>

__global__ void fill(int *out, const int *in, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in ? in[i] : i;
}

static void report(hipError_t error)
{
  std::printf("%s: %s\n", hipGetErrorName(error), hipRawhalLastMessage());
}

int main(int, char **argv)
{
  const std::string what = argv[1];
  int *out = nullptr, *in = nullptr, *freed = nullptr, host = 0;
  HIP(hipMalloc(&out, 4096));
  HIP(hipMalloc(&in, 40960));
  HIP(hipMalloc(&freed, 4096));
  HIP(hipFree(freed));
  if (what == "grid")
    fill<<<4, 4096>>>(out, in, 1);
  else if (what == "huge")
    fill<<<dim3(1, 1u << 31, 1), dim3(1, 4, 1)>>>(out, in, 1);
  else if (what == "lds")
    fill<<<1, 64, 100000>>>(out, in, 1);
  else if (what == "short")
    fill<<<20, 64>>>(out, in, 1280);
  else if (what == "freed")
    fill<<<1, 64>>>(out, freed, 0);
  else if (what == "end")
    fill<<<1, 64>>>(out, in + 40960 / sizeof(int), 0);
  else if (what == "copy")
    report(hipMemcpy(out, &host, 5000, hipMemcpyHostToDevice));
  else if (what == "stream")
    report(hipStreamSynchronize(reinterpret_cast<hipStream_t>(&host)));
  else if (what == "symbol")
    report(hipMemcpyToSymbol(&host, &host, 4));
  else if (what == "again")
    report(hipFree(freed));
  else if (what == "null") { // each says which of its conditions it was
    hipStream_t stream;
    hipFunction_t function;
    report(hipStreamCreateWithFlags(nullptr, 0x80));
    report(hipStreamCreateWithFlags(&stream, 0x80));
    report(hipModuleGetFunction(&function, nullptr, nullptr));
    report(hipModuleGetFunction(nullptr, nullptr, "fill"));
  }
  if (hipPeekAtLastError() != hipSuccess && what != "copy")
    report(hipGetLastError());
  hipError_t error = hipDeviceSynchronize();
  if (error != hipSuccess)
    report(error);
  else
    std::puts("went on");
}
