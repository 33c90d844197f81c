// A program whose kernels others may take the place of: says what they made, and in which order.
#include "../../hip/programs/check.h"

enum { COUNT = 1000, ROUNDS = 20 };

extern "C" __global__ void combine(float *out, const float *a, const float *b, unsigned n)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = a[i] + b[i];
}

// Static and dynamic group memory, and a partial work-group.
extern "C" __global__ void reversed(float *data, unsigned n)
{
  extern __shared__ float tile[];
  __shared__ unsigned last;
  if (threadIdx.x == 0)
    last = blockDim.x - 1;
  tile[threadIdx.x] = data[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * blockDim.x + threadIdx.x] = tile[last - threadIdx.x] * (float)n;
}

static double sum(const float *device)
{
  float host[COUNT];
  double total = 0;
  HIP(hipMemcpy(host, device, sizeof(host), hipMemcpyDeviceToHost));
  for (int i = 0; i < COUNT; ++i)
    total += host[i] * (i % 7);
  return total;
}

int main()
{
  float a[COUNT], b[COUNT], *da, *db, *dout;
  for (int i = 0; i < COUNT; ++i) {
    a[i] = (float)(i % 13);
    b[i] = (float)(i % 5);
  }
  HIP(hipMalloc(&da, sizeof(a)));
  HIP(hipMalloc(&db, sizeof(b)));
  HIP(hipMalloc(&dout, sizeof(a)));
  HIP(hipMemcpy(da, a, sizeof(a), hipMemcpyHostToDevice));
  HIP(hipMemcpy(db, b, sizeof(b), hipMemcpyHostToDevice));
  for (int round = 0; round < ROUNDS; ++round) {
    combine<<<(COUNT + 63) / 64, 64>>>(dout, da, db, COUNT);
    HIP(hipGetLastError());
  }
  std::printf("combine %.0f\n", sum(dout));
  reversed<<<COUNT / 50, 50, 50 * sizeof(float)>>>(dout, 2);
  HIP(hipGetLastError());
  std::printf("reversed %.0f\n", sum(dout));
}
