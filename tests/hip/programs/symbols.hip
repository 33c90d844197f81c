// Variables of the device, mathematics, occupancy, streams and memory the host shares.
#include "check.h"

#include <cmath>

__constant__ float table[16];
__device__ unsigned launches;

__device__ __noinline__ float evaluate(float x, int degree)
{
  return degree == 0 ? table[0] : table[degree] + x * evaluate(x, degree - 1);
}

__global__ void polynomial(float *y, const float *x, int degree, unsigned n)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = evaluate(x[i], degree);
  if (i == 0)
    atomicAdd(&launches, 1u);
}

__global__ void functions(double *out, const double *x)
{
  unsigned i = threadIdx.x;
  out[i] = sin(x[i]) * cos(x[i]) + exp(-x[i]) + sqrt(x[i]) + pow(x[i], 1.5) + log1p(x[i]);
}

static float host_polynomial(const float *coefficients, float x, int degree)
{
  float y = coefficients[0];
  for (int i = 1; i <= degree; i++)
    y = std::fma(x, y, coefficients[i]);
  return y;
}

int main()
{
  float coefficients[16];
  for (int i = 0; i < 16; i++)
    coefficients[i] = (float)(i - 8);
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(table), coefficients, sizeof(coefficients)));
  unsigned zero = 0;
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(launches), &zero, sizeof(zero)));

  const unsigned n = 300;
  float *x = nullptr, *y = nullptr;
  HIP(hipMallocManaged(&x, n * sizeof(float)));
  HIP(hipHostMalloc(&y, n * sizeof(float)));
  for (unsigned i = 0; i < n; i++)
    x[i] = (float)i / 128;
  hipStream_t streams[3];
  for (int i = 0; i < 3; i++) {
    HIP(hipStreamCreate(&streams[i]));
    polynomial<<<2, 192, 0, streams[i]>>>(y, x, 5, n);
  }
  for (hipStream_t stream : streams) {
    HIP(hipStreamSynchronize(stream));
    HIP(hipStreamDestroy(stream));
  }
  for (unsigned i = 0; i < n; i++)
    CHECK(std::fabs(y[i] - host_polynomial(coefficients, x[i], 5)) <= 1e-4f * (1 + std::fabs(y[i])));
  unsigned launched = 0;
  HIP(hipMemcpyFromSymbol(&launched, HIP_SYMBOL(launches), sizeof(launched)));
  CHECK(launched == 3);

  std::vector<double> points(64);
  for (unsigned i = 0; i < 64; i++)
    points[i] = i * 0.37;
  double *device_points = to_device(points), *device_out = to_device(points);
  functions<<<1, 64>>>(device_out, device_points);
  std::vector<double> out = to_host(device_out, 64);
  for (unsigned i = 0; i < 64; i++) {
    double v = points[i];
    double expected =
        std::sin(v) * std::cos(v) + std::exp(-v) + std::sqrt(v) + std::pow(v, 1.5) + std::log1p(v);
    CHECK(std::fabs(out[i] - expected) <= 1e-12 * (1 + std::fabs(expected)));
  }

  int blocks = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)functions, 64, 0));
  CHECK(blocks > 0);
  hipFuncAttributes attributes{};
  HIP(hipFuncGetAttributes(&attributes, (const void *)functions));
  CHECK(attributes.maxThreadsPerBlock == 1024);
  HIP(hipFree(x));
  HIP(hipHostFree(y));
  std::puts("ok");
}
