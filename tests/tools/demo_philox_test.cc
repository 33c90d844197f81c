// The CPU Philox of the demo against the known-answer vectors its authors publish with Random123.
#include <array>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
#include "tools/demo/philox.h"
}

namespace {

struct KnownAnswer {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> result;
};

TEST(DemoPhilox, PassesThePublishedVectors)
{
  const KnownAnswer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      // The digits of pi.
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const KnownAnswer &answer : answers) {
    std::array<uint32_t, 4> result;
    philox4x32_10(answer.counter.data(), answer.key.data(), result.data());
    EXPECT_EQ(result, answer.result);
  }
}

TEST(DemoPhilox, TheStreamIsTheWordsOfConsecutiveCounters)
{
  std::vector<uint32_t> numbers(6);
  philox_stream(0, 0, numbers.data(), numbers.size());
  EXPECT_EQ(numbers[0], 0x6627e8d5u);
  EXPECT_EQ(numbers[3], 0x9b00dbd8u);
  const uint32_t counter[4] = {1, 0, 0, 0}, key[2] = {0, 0};
  uint32_t second[4];
  philox4x32_10(counter, key, second);
  EXPECT_EQ(numbers[4], second[0]);
  EXPECT_EQ(numbers[5], second[1]);
}

// A position beyond 2^34 needs the counter's second word; the seed's halves are the key.
TEST(DemoPhilox, TheStreamCarriesIntoTheSecondCounterWord)
{
  const uint64_t seed = 0x0123456789abcdefu;
  std::vector<uint32_t> numbers(7);
  philox_stream(seed, (uint64_t{1} << 34) - 3, numbers.data(), numbers.size());
  const uint32_t key[2] = {0x89abcdef, 0x01234567};
  const uint32_t before[4] = {0xffffffff, 0, 0, 0}, after[4] = {0, 1, 0, 0};
  uint32_t low[4], high[4];
  philox4x32_10(before, key, low);
  philox4x32_10(after, key, high);
  const std::vector<uint32_t> expected = {low[1],  low[2],  low[3], high[0],
                                          high[1], high[2], high[3]};
  EXPECT_EQ(numbers, expected);
}

TEST(DemoPhilox, AnEmptyStreamTouchesNothing)
{
  philox_stream(1, 2, nullptr, 0);
}

} // namespace
