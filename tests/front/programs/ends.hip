// Work that the limit holds back while the program ends, and what still waits for it then: a
// destructor that asks again and again, or that waits, or nobody.
#include "../../hip/programs/check.h"

#include <unistd.h>

__global__ void turn(unsigned long long *out, unsigned long long rounds)
{
  unsigned long long sum = clock64();
  for (unsigned long long i = 0; i < rounds; ++i)
    sum += i * sum;
  *out = sum;
}

namespace {

hipStream_t stream;
hipEvent_t event;
bool polls, waits;

struct Late {
  ~Late()
  {
    while (polls && hipEventQuery(event) == hipErrorNotReady)
      usleep(1000);
    if (waits)
      HIP(hipEventSynchronize(event));
    printf("ended\n");
  }
} late; // before the runtime is there, and so destroyed after what the front registers

} // namespace

int main(int, char **arguments)
{
  unsigned long long *out;
  polls = arguments[1][0] == 'p', waits = arguments[1][0] == 'w';
  HIP(hipMalloc(&out, sizeof(*out)));
  HIP(hipStreamCreate(&stream));
  HIP(hipEventCreate(&event));
  for (int i = 0; i < 100; ++i)
    turn<<<1, 1, 0, stream>>>(out, 2000);
  HIP(hipEventRecord(event, stream));
  return 0;
}
