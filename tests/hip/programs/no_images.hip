// On a chip without image instructions images do not work, and are not said to.
#include "check.h"

int main()
{
  hipDeviceProp_t facts;
  HIP(hipGetDeviceProperties(&facts, 0));
  CHECK(facts.maxTexture1D == 0 && facts.maxTexture2D[0] == 0 && facts.maxTexture2D[1] == 0);
  CHECK(facts.maxTexture3D[0] == 0 && facts.maxTexture3D[2] == 0);
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray *array = nullptr;
  CHECK(hipMallocArray(&array, &format, 64, 64, 0) != hipSuccess);
  // Which is no reason to refuse what is memory and no image.
  void *rows = nullptr;
  size_t pitch = 0;
  HIP(hipMallocPitch(&rows, &pitch, 400, 10));
  HIP(hipFree(rows));
  std::puts("ok");
}
