// What work-items of a block do together: tiles in LDS, shuffles, atomics, barriers.
#include "check.h"

constexpr unsigned tile = 16;

__global__ void multiply(float *c, const float *a, const float *b, unsigned n)
{
  __shared__ float left[tile][tile], right[tile][tile];
  unsigned row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (unsigned k = 0; k < n; k += tile) {
    left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (unsigned i = 0; i < tile; i++)
      sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void reduce(unsigned long long *total, const unsigned *values, unsigned n)
{
  extern __shared__ unsigned long long partial[];
  unsigned long long sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += values[i];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_down(sum, distance);
  if (threadIdx.x % warpSize == 0)
    partial[threadIdx.x / warpSize] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (unsigned i = 0; i < blockDim.x / warpSize; i++)
      sum += partial[i];
    atomicAdd(total, sum);
  }
}

__global__ void histogram(unsigned *bins, const unsigned *values, unsigned n)
{
  __shared__ unsigned mine[64];
  if (threadIdx.x < 64)
    mine[threadIdx.x] = 0;
  __syncthreads();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(&mine[values[i] % 64], 1u);
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void ballots(unsigned long long *out, const unsigned *values)
{
  unsigned long long odd = __ballot(values[threadIdx.x] & 1);
  if (threadIdx.x % warpSize == 0)
    out[threadIdx.x / warpSize] = odd;
}

int main()
{
  const unsigned side = 64;
  std::vector<float> a(side * side), b(side * side), c(side * side);
  for (unsigned i = 0; i < side * side; i++) {
    a[i] = (float)(i % 7);
    b[i] = (float)(i % 5) - 2;
  }
  float *device_a = to_device(a), *device_b = to_device(b), *device_c = to_device(c);
  multiply<<<dim3(side / tile, side / tile), dim3(tile, tile)>>>(device_c, device_a, device_b, side);
  c = to_host(device_c, c.size());
  for (unsigned y = 0; y < side; y++) {
    for (unsigned x = 0; x < side; x++) {
      float sum = 0; // of small integers: exact in any order
      for (unsigned k = 0; k < side; k++)
        sum += a[y * side + k] * b[k * side + x];
      CHECK(c[y * side + x] == sum);
    }
  }

  const unsigned n = 20000;
  std::vector<unsigned> values(n);
  unsigned long long expected = 0, bins[64] = {};
  for (unsigned i = 0; i < n; i++) {
    values[i] = i * 2654435761u;
    expected += values[i];
    bins[values[i] % 64]++;
  }
  unsigned *device = to_device(values);
  unsigned long long *total = to_device(std::vector<unsigned long long>(1));
  reduce<<<5, 256, 4 * sizeof(unsigned long long)>>>(total, device, n);
  CHECK(to_host(total, 1)[0] == expected);

  unsigned *counts = to_device(std::vector<unsigned>(64));
  histogram<<<(n + 255) / 256, 256>>>(counts, device, n);
  std::vector<unsigned> counted = to_host(counts, 64);
  for (unsigned i = 0; i < 64; i++)
    CHECK(counted[i] == bins[i]);

  int lanes = 0;
  HIP(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0));
  unsigned long long *votes = to_device(std::vector<unsigned long long>(256 / lanes));
  ballots<<<1, 256>>>(votes, device);
  std::vector<unsigned long long> voted = to_host(votes, 256 / lanes);
  for (unsigned i = 0; i < 256; i++)
    CHECK((voted[i / lanes] >> (i % lanes) & 1) == (values[i] & 1));
  std::puts("ok");
}
