// With SOFTGPU_CHECK_STORES=refuse, a scalar store that is not written back before the wave ends is told.
#include "check.h"

__global__ void store(unsigned *out)
{
  asm volatile("s_store_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)\n s_dcache_wb" ::"s"(7), "s"(out)
               : "memory");
}

__global__ void store_and_forget(unsigned *out)
{
  asm volatile("s_store_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" ::"s"(8), "s"(out) : "memory");
}

int main()
{
  unsigned *out = to_device(std::vector<unsigned>(1));
  store<<<1, 64>>>(out);
  HIP(hipDeviceSynchronize());
  CHECK(to_host(out, 1)[0] == 7);
  store_and_forget<<<1, 64>>>(out);
  (void)hipDeviceSynchronize();
}
