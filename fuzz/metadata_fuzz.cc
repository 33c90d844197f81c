// Any bytes as the metadata of an otherwise sound object with two kernels; and each place that may
// start a kernel's map through both parsers, which must agree.
#include "budget.h"
#include "hsaco_reader.h"
#include "tests/hsaco/builder.h"
#include "tests/hsaco/quick_oracle.h"

static void compare_parsers(const char *bytes, size_t size)
{
  enum { MOST_STARTS = 32 };
  unsigned starts = 0;
  for (size_t at = 0; at < size && starts < MOST_STARTS; ++at)
    if ((bytes[at] & 0xf0) == 0x80 && ++starts && !quick_fault(bytes + at, size - at).empty())
      __builtin_trap();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  build::Object object;
  object.kernels = {build::plain_kernel("a"), build::plain_kernel("b")};
  object.notes = {std::string(reinterpret_cast<const char *>(data), size)};
  object.build();
  {
    Budget budget(budget_of_object(object.bytes.size(), 2));
    HsacoReader::open(object.bytes.data(), object.bytes.size());
  }
  compare_parsers(reinterpret_cast<const char *>(data), size);
  return 0;
}
