/* What holds.hip does, by HSA itself: it is there in no time, to be killed by the thousand. */
#include "device.h"

enum { HELD = 16 };

int main(void)
{
  void *held[HELD] = {0};
  open_device();
  for (unsigned i = 0;; ++i) {
    void **one = &held[i * 7 % HELD];
    if (*one)
      (void)hsa_amd_memory_pool_free(*one);
    *one = NULL;
    if (hsa_amd_memory_pool_allocate(device_pools[0], (size_t)(i % 13 + 1) << 18, 0, one) !=
        HSA_STATUS_SUCCESS)
      *one = NULL;
    if (i == HELD) {
      puts("begun");
      fflush(stdout);
    }
  }
}
