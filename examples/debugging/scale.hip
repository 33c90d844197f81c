// out[i] = 3 * in[i], or so it should be: docs/debugging.md finds out why it is not.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void scale(int *out, const int *in)
{
  int i = blockIdx.x * 64 + threadIdx.x;
  int lane = threadIdx.x & 31;
  int value = in[blockIdx.x * 64 + lane];
  out[i] = 3 * value;
}

int main()
{
  enum { COUNT = 128 };
  int host[COUNT], *in, *out, wrong = 0;
  for (int i = 0; i < COUNT; ++i)
    host[i] = i;
  if (hipMalloc((void **)&in, sizeof(host)) || hipMalloc((void **)&out, sizeof(host)) ||
      hipMemcpy(in, host, sizeof(host), hipMemcpyHostToDevice))
    return 2;
  scale<<<COUNT / 64, 64>>>(out, in);
  if (hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost))
    return 2;
  for (int i = 0; i < COUNT; ++i)
    wrong += host[i] != 3 * i;
  printf("%d of %d are wrong\n", wrong, COUNT);
}
