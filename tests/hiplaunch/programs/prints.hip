// printf() and assertions that hold, one item at a time, so that the order is known.
#include "show.h"

#include <cassert>

__global__ void say(int i, const char *text, double d)
{
  assert(i >= 0);
  printf("%d of %s: %5.2f|%-4d|%04x|%s|%%|%c\n", i, text, d, i, i, "a text that is longer than one packet has room for", 'a' + i);
}

int main()
{
  char *text = nullptr;
  HIP(hipHostMalloc((void **)&text, 32));
  std::snprintf(text, 32, "the host's");
  for (int i = 0; i < 5; ++i) {
    std::printf("host %d\n", i);
    say<<<1, 1>>>(i, text, i * 0.75);
    HIP(hipDeviceSynchronize());
  }
  HIP(hipHostFree(text));
}
