// Kernels that take the place of replaced.hip's, well or badly.
#include <hip/hip_runtime.h>

#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void combine(float *out, const float *a, const float *b, unsigned n)
{
  if (INDEX < n)
    out[INDEX] = a[INDEX] * b[INDEX];
}

// Counts work-groups, and remembers which dispatch was the last and what it was given.
extern "C" __global__ void counted(float *out, const float *a, const float *b, unsigned n,
                                   unsigned long long *counts, unsigned dispatch, short factor)
{
  if (INDEX < n)
    out[INDEX] = a[INDEX] * b[INDEX] * (float)factor;
  if (threadIdx.x == 0) {
    atomicAdd(&counts[0], 1ull);
    atomicAdd(&counts[1 + dispatch], (unsigned long long)gridDim.x);
  }
}

// More group memory, static, and scratch.
extern "C" __global__ void reversed_large(float *data, unsigned n)
{
  extern __shared__ float tile[];
  __shared__ float padding[4096];
  volatile float stack[64];
  padding[threadIdx.x] = data[INDEX];
  for (int i = 0; i < 64; ++i)
    stack[i] = (float)i;
  tile[threadIdx.x] = padding[threadIdx.x];
  __syncthreads();
  data[INDEX] = tile[blockDim.x - 1 - threadIdx.x] * (float)n + stack[(threadIdx.x + n) % 64];
}

// More group memory than a device has, with what the dispatch asks for.
extern "C" __global__ void reversed_too_large(float *data, unsigned n)
{
  extern __shared__ float tile[];
  __shared__ float padding[16380];
  padding[threadIdx.x] = (float)n;
  tile[threadIdx.x] = data[INDEX];
  __syncthreads();
  data[INDEX] = tile[threadIdx.x] + padding[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(32) reversed_of_32(float *data, unsigned n)
{
  data[INDEX] = (float)n;
}

extern "C" __global__ void shorter(float *out, const float *a, unsigned n)
{
  if (INDEX < n)
    out[INDEX] = a[INDEX];
}

extern "C" __global__ void wider(float *out, const float *a, const float *b, unsigned long long n)
{
  if (INDEX < n)
    out[INDEX] = a[INDEX] + b[INDEX];
}

extern "C" __global__ void valued(float *out, const float *a, unsigned long long b, unsigned n)
{
  if (INDEX < n)
    out[INDEX] = a[INDEX] + (float)b;
}

// In the place of streams.hip's: what it makes, and how often and by which dispatches.
extern "C" __global__ void step(unsigned *value, unsigned i, unsigned long long *counts,
                                unsigned long long dispatch)
{
  *value = *value * 3 + i;
  atomicAdd(&counts[0], 1ull);
  atomicAdd(&counts[1], dispatch);
}
