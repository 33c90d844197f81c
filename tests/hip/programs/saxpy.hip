// The program everybody writes first, plain and over a stride, with a template and a struct.
#include "check.h"

template <typename T> struct Line {
  T slope, offset;
};

template <typename T> __global__ void line(T *y, const T *x, Line<T> f, size_t n)
{
  size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = f.slope * x[i] + f.offset;
}

template <typename T> static void run(unsigned blocks, unsigned threads, size_t n)
{
  std::vector<T> x(n);
  for (size_t i = 0; i < n; i++)
    x[i] = (T)(i % 1000);
  T *device_x = to_device(x), *device_y = to_device(std::vector<T>(n, (T)-1));
  hipLaunchKernelGGL(line<T>, dim3(blocks), dim3(threads), 0, 0, device_y, device_x,
                     Line<T>{(T)3, (T)2}, n);
  HIP(hipGetLastError());
  std::vector<T> y = to_host(device_y, n);
  for (size_t i = 0; i < n; i++)
    CHECK(y[i] == (T)((T)3 * x[i] + (T)2));
  HIP(hipFree(device_x));
  HIP(hipFree(device_y));
}

// Three dimensions, partial blocks.
__global__ void coordinates(unsigned *out, unsigned width, unsigned height, unsigned depth)
{
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && z < depth)
    out[(z * height + y) * width + x] = x | y << 8 | z << 16;
}

int main(int argc, char **argv)
{
  run<float>(40, 256, 10000);
  run<double>(7, 192, 10001);
  run<int>(3, 64, 5000);
  run<unsigned char>(1, 1024, 999);

  const unsigned width = 33, height = 9, depth = 5;
  unsigned *device = to_device(std::vector<unsigned>(width * height * depth));
  coordinates<<<dim3(5, 3, 3), dim3(8, 4, 2)>>>(device, width, height, depth);
  HIP(hipDeviceSynchronize());
  std::vector<unsigned> found = to_host(device, width * height * depth);
  for (unsigned i = 0; i < found.size(); i++)
    CHECK(found[i] == (i % width | (i / width % height) << 8 | (i / width / height) << 16));
  HIP(hipFree(device));

  std::puts("ok");
  return argc > 1 ? std::atoi(argv[1]) : 0; // for the wrapper's test: any exit code
}
