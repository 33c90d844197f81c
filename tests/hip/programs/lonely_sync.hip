// grid.sync() in a kernel that was not launched cooperatively, which hangs or worse on the hardware, is told.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

__global__ void sync(unsigned *out)
{
  cooperative_groups::this_grid().sync();
  out[blockIdx.x] = 1;
}

int main()
{
  unsigned *out = to_device(std::vector<unsigned>(4));
  sync<<<4, 64>>>(out);
  (void)hipDeviceSynchronize();
}
