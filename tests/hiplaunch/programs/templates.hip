// Templates over types and numbers, structures and functors as arguments, a kernel in a namespace, one without arguments.
#include "show.h"

namespace {
struct Affine {
  double a;
  float b;
  char odd[3];
  __device__ double operator()(double x) const { return a * x + b + odd[2]; }
};
} // namespace

namespace deep::inside {
template <typename T, int STEP, typename F> __global__ void apply(T *out, const T *in, F function, unsigned n)
{
  for (unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * STEP, k = 0; k < STEP && i < n; ++i, ++k)
    out[i] = static_cast<T>(function(in[i]));
}
} // namespace deep::inside

template <typename... Ts> __global__ void sum(double *out, Ts... values)
{
  *out = (0.0 + ... + static_cast<double>(values));
}

__global__ void nothing() {}

template <typename T, int STEP> void run(const char *name)
{
  const unsigned n = 1000;
  std::vector<T> in(n);
  for (unsigned i = 0; i < n; ++i)
    in[i] = static_cast<T>(i % 100);
  T *from = to_device(in), *to = to_device(std::vector<T>(n));
  deep::inside::apply<T, STEP><<<(n / STEP + 127) / 128, 128>>>(to, from, Affine{1.5, 2.0f, {1, 2, 3}}, n);
  HIP(hipGetLastError());
  show(name, to_host(to, n));
  HIP(hipFree(from));
  HIP(hipFree(to));
}

int main()
{
  run<float, 1>("float");
  run<double, 3>("double");
  run<int, 2>("int");
  run<unsigned char, 4>("unsigned char");
  double *out = to_device(std::vector<double>(1));
  sum<<<1, 1>>>(out, 'a', (short)-3, 2.5f, 1e10, (long long)1 << 40, true);
  std::printf("%.1f\n", to_host(out, 1)[0]);
  nothing<<<7, 64>>>();
  HIP(hipDeviceSynchronize());
  HIP(hipFree(out));
}
