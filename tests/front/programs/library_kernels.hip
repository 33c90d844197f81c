// Kernels of our own for some of rocRAND's and rocSPARSE's, with an argument more: how many elements each has made.
#include <hip/hip_runtime.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE (gridDim.x * blockDim.x)

typedef unsigned long long u64;

__device__ static void count(u64 *made, u64 how_many)
{
  atomicAdd(made, how_many);
}

__device__ static u64 mixed(u64 x) // of splitmix64
{
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

struct distribution {};

// generate_kernel of uniform_distribution<float>: another generator.
extern "C" __global__ void uniform(void *engines, unsigned first, float *data, size_t n, distribution, u64 *made)
{
  for (size_t i = INDEX; i < n; i += STRIDE) {
    data[i] = (float)((mixed(i) >> 40) + 1) * 0x1p-24f;
    count(made, 1);
  }
}

extern "C" __global__ void axpyi(int nonzeros, float alpha, const float *values, const int *places, float *y,
                                 int base, u64 *made)
{
  int i = INDEX;
  if (i < nonzeros) {
    y[places[i] - base] += alpha * values[i];
    count(made, 1);
  }
}

extern "C" __global__ void gthr(int nonzeros, const float *y, float *values, const int *places, int base, u64 *made)
{
  int i = INDEX;
  if (i < nonzeros) {
    values[i] = y[places[i] - base];
    count(made, 1);
  }
}

extern "C" __global__ void ellmvn(int rows, int columns, int width, float alpha, const int *places,
                                  const float *values, const float *x, float beta, float *y, int base, u64 *made)
{
  int row = INDEX;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    int column = places[k * rows + row] - base;
    if (column >= 0 && column < columns)
      sum = fmaf(values[k * rows + row], x[column], sum);
  }
  y[row] = beta == 0 ? alpha * sum : fmaf(beta, y[row], alpha * sum);
  count(made, 1);
}
