// Images do not work, and are not said to.
#include "check.h"

int main()
{
  hipDeviceProp_t facts;
  HIP(hipGetDeviceProperties(&facts, 0));
  CHECK(facts.maxTexture1D == 0 && facts.maxTexture2D[0] == 0 && facts.maxTexture2D[1] == 0);
  CHECK(facts.maxTexture3D[0] == 0 && facts.maxTexture3D[2] == 0);
  int supported = -1;
  HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeImageSupport, 0));
  CHECK(supported == 0);
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 0, 0, 0, hipChannelFormatKindFloat);
  hipArray *array = nullptr;
  CHECK(hipMallocArray(&array, &format, 64, 64, 0) != hipSuccess);
  std::puts("ok");
}
