// Fills of all sizes at all places, against the host's.
#include "show.h"

#include <cstring>

int main()
{
  const size_t n = 5000;
  std::vector<unsigned char> wanted(n, 0);
  unsigned char *device = to_device(wanted);
  unsigned value = 1;
  for (size_t at : {0u, 1u, 2u, 3u, 4u, 5u, 1022u, 4096u})
    for (size_t size : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 255u, 256u, 904u}) {
      std::memset(&wanted[at], (int)value, size);
      HIP(hipMemset(device + at, (int)value++, size));
      if (to_host(device, n) != wanted) {
        std::printf("%zu bytes at %zu\n", size, at);
        return 1;
      }
    }
  std::puts("ok");
}
