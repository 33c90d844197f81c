// Any bytes as a code object.
#include "budget.h"
#include "hsaco_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Budget budget(size);
  HsacoReader::open(data, size);
  return 0;
}
