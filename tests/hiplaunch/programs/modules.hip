// Code objects in memory and in files, by name; argument 1 is one that hipcc --genco made of this file.
#include "show.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

__device__ int offset = 3;

extern "C" __global__ void scale(float *out, const float *in, float by, unsigned char add, unsigned n)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = in[i] * by + add + offset;
}

static void run(hipModule_t module)
{
  hipFunction_t function = nullptr;
  HIP(hipModuleGetFunction(&function, module, "scale"));
  hipDeviceptr_t address = nullptr;
  size_t size = 0;
  HIP(hipModuleGetGlobal(&address, &size, module, "offset"));
  int three = 0;
  HIP(hipMemcpyDtoH(&three, address, size));
  std::printf("%zu %d\n", size, three);
  std::vector<float> values(100, 2.0f);
  float *in = to_device(values), *out = to_device(values), by = 1.5f;
  unsigned char add = 200;
  unsigned n = 100;
  void *arguments[] = {&out, &in, &by, &add, &n};
  HIP(hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  show("by pointers", to_host(out, n));
  struct {
    float *out, *in;
    float by;
    unsigned char add;
    unsigned n;
  } packed = {out, in, 2.5f, 7, 50};
  size_t bytes = sizeof(packed);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  show("packed", to_host(out, n));
  HIP(hipModuleGetFunction(&function, module, "no such kernel"));
  HIP(hipFree(in));
  HIP(hipFree(out));
}

int main(int, char **argv)
{
  std::ifstream file(argv[1], std::ios::binary);
  std::string image{std::istreambuf_iterator<char>(file), {}};
  hipModule_t module = nullptr;
  HIP(hipModuleLoadData(&module, image.data()));
  run(module);
  HIP(hipModuleUnload(module));
  HIP(hipModuleLoad(&module, argv[1]));
  run(module);
  HIP(hipModuleUnload(module));
}
