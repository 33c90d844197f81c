// Allocates and frees for ever, and says when it has begun: to be killed.
#include "../../hip/programs/check.h"

int main()
{
  std::vector<void *> held(16, nullptr);
  for (unsigned i = 0;; i++) {
    void *&one = held[i * 7 % held.size()];
    if (one)
      HIP(hipFree(one));
    one = nullptr;
    if (hipMalloc(&one, (i % 13 + 1) << 18) != hipSuccess)
      one = nullptr;
    if (i == 64) {
      std::puts("begun");
      std::fflush(stdout);
    }
  }
}
