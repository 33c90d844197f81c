// Any bytes as the metadata of an otherwise sound object with two kernels.
#include "budget.h"
#include "hsaco_reader.h"
#include "tests/hsaco/builder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  build::Object object;
  object.kernels = {build::plain_kernel("a"), build::plain_kernel("b")};
  object.notes = {std::string(reinterpret_cast<const char *>(data), size)};
  object.build();
  Budget budget(object.bytes.size());
  compare_parsers(reinterpret_cast<const char *>(data), size);
  HsacoReader::open(object.bytes.data(), object.bytes.size());
  return 0;
}
