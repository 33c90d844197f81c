// Static and dynamic LDS, barriers, shuffles, atomics, grids of three dimensions with parts of work-groups.
#include "show.h"

template <typename T> __global__ void reduce(T *out, const T *in)
{
  extern __shared__ char raw[];
  T *part = reinterpret_cast<T *>(raw);
  unsigned i = threadIdx.x;
  part[i] = in[blockIdx.x * blockDim.x + i];
  for (unsigned half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (i < half)
      part[i] += part[i + half];
  }
  if (i == 0)
    out[blockIdx.x] = part[0];
}

__global__ void mixed(int *out)
{
  __shared__ int fixed[64];
  extern __shared__ int dynamic[];
  int i = threadIdx.x;
  fixed[i] = i;
  dynamic[63 - i] = i * i;
  __syncthreads();
  int value = fixed[63 - i] + dynamic[i];
  for (int offset = 32; offset; offset /= 2)
    value += __shfl_down(value, offset);
  if (i == 0)
    *out = value;
}

__global__ void places(unsigned long long *sum, unsigned *histogram)
{
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
           z = blockIdx.z * blockDim.z + threadIdx.z;
  atomicAdd(sum, (unsigned long long)x + 1000ull * y + 1000000ull * z + gridDim.y + blockDim.z);
  atomicAdd(&histogram[(x + y + z) % 16], 1u);
}

template <typename T> void run(const char *name)
{
  std::vector<T> in(8 * 256);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<T>(i % 77);
  T *from = to_device(in), *to = to_device(std::vector<T>(8));
  reduce<<<8, 256, 256 * sizeof(T)>>>(to, from);
  show(name, to_host(to, 8));
  HIP(hipFree(from));
  HIP(hipFree(to));
}

int main()
{
  run<int>("int");
  run<double>("double");
  int *out = to_device(std::vector<int>(1));
  mixed<<<1, 64, 64 * sizeof(int)>>>(out);
  std::printf("%d\n", to_host(out, 1)[0]);
  auto *sum = to_device(std::vector<unsigned long long>(1));
  auto *histogram = to_device(std::vector<unsigned>(16));
  places<<<dim3(3, 4, 5), dim3(8, 4, 2)>>>(sum, histogram);
  std::printf("%llu\n", to_host(sum, 1)[0]);
  show("histogram", to_host(histogram, 16));
}
