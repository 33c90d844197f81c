// Random code on every chip, on both engines, from numbers: the fuzzer's scenes without a fuzzer.
// SOFTGPU_TEST_STREAMS in the environment says how many a chip gets; from the thousandth on it is told
// how far it is.
#include <gtest/gtest.h>

#include "fuzz/softgpu_scene.h"

extern "C" {
#include "softgpu/isa/describe/chips.h"
}

namespace {

class Streams : public testing::TestWithParam<unsigned> {
protected:
  void SetUp() override { softgpu_engine_threads(1); }
  void TearDown() override { softgpu_engine_threads(0); }
};

uint64_t wanted()
{
  const char *text = getenv("SOFTGPU_TEST_STREAMS");
  return text ? strtoull(text, nullptr, 10) : 200;
}

TEST_P(Streams, EndAlikeOnBothEngines)
{
  const unsigned chip = GetParam();
  const uint64_t before = softgpu_instruction_count(), count = wanted();
  ASSERT_GT(count, 0u);
  for (uint64_t number = 0; number < count; ++number) {
    if (number % 1000 == 0 && number)
      fprintf(stderr, "gfx%x: %llu streams, both engines equal\n", isa_chip(chip)->number,
              static_cast<unsigned long long>(number));
    uint8_t seed[9];
    memcpy(seed, &number, 8);
    seed[8] = static_cast<uint8_t>(chip);
    Choices choices(seed, sizeof seed);
    Scene(choices, chip, 1 + choices.below(16), true).run();
    softgpu_invalidate_code();
  }
  EXPECT_GT(softgpu_instruction_count() - before, count) << "next to nothing ran";
}

INSTANTIATE_TEST_SUITE_P(Chips, Streams, testing::Range(0u, unsigned(SOFTGPU_CHIP_OTHER)),
                         [](const testing::TestParamInfo<unsigned> &chip) {
                           char name[16];
                           snprintf(name, sizeof name, "gfx%x", isa_chip(chip.param)->number);
                           return std::string(name);
                         });

} // namespace
