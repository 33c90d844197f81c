// "Denormals are flushed", the ISA documents say of these, whatever the mode.
#include "tests/softgpu/isa/vmem_model.h"

using namespace vmem;

namespace {

TEST(Flush, DenormalSourcesOfFunctionsAreZerosOfTheirSign)
{
  device::Memory memory(64);
  State state = random_state(41, memory.size());
  const uint32_t descriptor[4] = {}, sources[] = {0, 1, 0x00400000, 0x007fffff};
  for (unsigned i = 0; i < 64; ++i) // an odd lane's are negative
    for (uint32_t &data : state.lanes[i].data)
      data = sources[i / 2 % 4] | i << 31;
  for (uint32_t float_mode : {0xf0u, 0xc0u, 0u}) {
    State expected = state;
    for (unsigned i = 0; i < 64; ++i) {
      const uint32_t sign = i << 31;
      const uint32_t results[4] = {sign, sign | 0x7f800000, 0xff800000, 0x3f800000};
      memcpy(expected.lanes[i].result, results, sizeof results);
    }
    expect_same("flushing", execute("flushing", state, memory, descriptor, float_mode), expected);
  }
}

} // namespace
