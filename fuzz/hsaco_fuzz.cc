// Any bytes as a code object.
#include "budget.h"
#include "hsaco_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  Budget budget(budget_of_object(size, 2));
  HsacoReader::open(data, size);
  return 0;
}
