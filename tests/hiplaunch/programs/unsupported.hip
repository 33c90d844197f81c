// Uses a call that is not served: it must not link.
#include "show.h"

int main()
{
  void *pointer = nullptr;
  size_t pitch = 0;
  HIP(hipMallocPitch(&pointer, &pitch, 100, 100));
}
