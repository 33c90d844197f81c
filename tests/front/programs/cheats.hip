// Uses the device as much as it gets, and tries to leave without paying. A page that is shared with
// whoever started it counts the device's ticks in which its kernels ran, up to the last of them, and has behind that what
// the longest of them took.
// usage: cheats PAGE loop | streams | destroy | fault | kill
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../hip/programs/check.h"

static const unsigned long long ms = 100000; /* in ticks */

__global__ void spin(unsigned long long *used, unsigned long long ticks, unsigned *wrong)
{
  unsigned long long begin = __builtin_amdgcn_s_memrealtime(), last = begin;
  while (last - begin < ticks) {
    unsigned long long now = __builtin_amdgcn_s_memrealtime();
    __hip_atomic_fetch_add(used, now - last, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_fetch_max(used + 1, now - begin, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    last = now;
  }
  if (wrong)
    *wrong = 0;
}

int main(int argc, char **argv)
{
  std::string mode = argc > 2 ? argv[2] : "";
  int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(page != MAP_FAILED);
  unsigned long long *used = nullptr;
  HIP(hipHostRegister(page, 4096, hipHostRegisterMapped));
  HIP(hipHostGetDevicePointer((void **)&used, page, 0));
  if (mode == "fault") {
    spin<<<1, 1>>>(used, 60 * ms, (unsigned *)64);
    HIP(hipDeviceSynchronize());
  }
  if (mode == "kill") {
    auto *seen = (volatile unsigned long long *)page;
    unsigned long long before = *seen;
    spin<<<1, 1>>>(used, 2000 * ms, nullptr);
    while (*seen < before + 60 * ms)
      usleep(200);
    raise(SIGKILL);
  }
  std::vector<hipStream_t> streams(mode == "streams" ? 16 : 0);
  for (auto &stream : streams)
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (;;) {
    if (mode == "destroy") {
      hipStream_t stream;
      HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
      spin<<<1, 1, 0, stream>>>(used, 10 * ms, nullptr);
      HIP(hipStreamDestroy(stream));
      continue;
    }
    for (auto &stream : streams)
      spin<<<1, 1, 0, stream>>>(used, 2 * ms, nullptr);
    if (streams.empty())
      spin<<<1, 1>>>(used, 2 * ms, nullptr);
    HIP(hipDeviceSynchronize());
  }
}
