// What a program sees of a quota of 64 MiB: no more is allocated, it is told so, and what it frees
// it may have again. Without one it says "no quota".
#include "../../hip/programs/check.h"

static const size_t mi = 1 << 20;

int main()
{
  size_t available = 0, total = 0;
  void *first = nullptr, *more = nullptr;
  HIP(hipMemGetInfo(&available, &total));
  if (total > 64 * mi) {
    std::puts("no quota");
    return 0;
  }
  CHECK(total == 64 * mi);
  CHECK(available <= total && available >= 56 * mi);
  for (int round = 0; round < 3; round++) {
    HIP(hipMalloc(&first, 40 * mi));
    CHECK(hipMalloc(&more, 40 * mi) == hipErrorOutOfMemory);
    (void)hipGetLastError();
    HIP(hipMalloc(&more, 8 * mi));
    HIP(hipMemset(more, 1, 8 * mi));
    HIP(hipFree(more));
    HIP(hipFree(first));
    HIP(hipMalloc(&first, 40 * mi)); // not 56 at once: HIP 5.7 gives no more than three quarters of all in one piece
    HIP(hipMalloc(&more, 16 * mi));
    HIP(hipFree(more));
    HIP(hipFree(first));
  }
  HIP(hipDeviceSynchronize());
  std::puts("ok");
}
