// Estimates by kernel, and device time by half seconds: fixed tables that forget, and whose words
// anybody may have written.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

extern "C" {
#include "tests/limit/tables_shim.h"
}

namespace {

using Estimates = std::unique_ptr<shim_estimates_t, decltype(&shim_estimates_destroy)>;
using Usage = std::unique_ptr<shim_usage_t, decltype(&shim_usage_destroy)>;

Estimates NewEstimates()
{
  return {shim_estimates_create(), shim_estimates_destroy};
}
Usage NewUsage()
{
  return {shim_usage_create(), shim_usage_destroy};
}

const uint64_t kSecond = 1000000000u;

TEST(Estimate, IsUnknownUntilItWasMeasuredAndThenFollows)
{
  Estimates table = NewEstimates();
  EXPECT_EQ(0u, shim_estimate_find(table.get(), 7));
  shim_estimate_learn(table.get(), 7, 803);
  EXPECT_EQ(803u, shim_estimate_find(table.get(), 7));
  EXPECT_EQ(0u, shim_estimate_find(table.get(), 8));
  for (int i = 0; i < 200; ++i)
    shim_estimate_learn(table.get(), 7, 803);
  EXPECT_NEAR(803, static_cast<double>(shim_estimate_find(table.get(), 7)), 8)
      << "it does not drift";
  for (int i = 0; i < 200; ++i)
    shim_estimate_learn(table.get(), 7, 80003);
  EXPECT_NEAR(80003, static_cast<double>(shim_estimate_find(table.get(), 7)), 800);
  for (int i = 0; i < 200; ++i)
    shim_estimate_learn(table.get(), 7, 803);
  EXPECT_NEAR(803, static_cast<double>(shim_estimate_find(table.get(), 7)), 16);
}

// A kernel that takes no time that a clock shows is a known one: unknown ones are let in one by one.
TEST(Estimate, OfNoTimeIsNotUnknown)
{
  Estimates table = NewEstimates();
  for (int i = 0; i < 50; ++i) {
    shim_estimate_learn(table.get(), 7, 0);
    ASSERT_NE(0u, shim_estimate_find(table.get(), 7)) << "after " << i + 1 << " measurements";
  }
}

// One damaged time stamp must not keep a kernel out for centuries.
TEST(Estimate, IsNeverMoreThanTheMost)
{
  Estimates table = NewEstimates();
  shim_estimate_learn(table.get(), 7, UINT64_MAX);
  EXPECT_LE(shim_estimate_find(table.get(), 7), shim_estimate_most_ns);
  for (int i = 0; i < 100; ++i)
    shim_estimate_learn(table.get(), 7, UINT64_MAX - i);
  EXPECT_LE(shim_estimate_find(table.get(), 7), shim_estimate_most_ns);
  for (int i = 0; i < 400; ++i)
    shim_estimate_learn(table.get(), 7, 1000);
  EXPECT_LE(shim_estimate_find(table.get(), 7), 2000u) << "and it is forgotten";
}

// More kernels than one place of the table has room for, at its very end.
TEST(Estimate, ATableThatIsFullForgetsAndStaysWithinItself)
{
  Estimates table = NewEstimates();
  std::vector<uint64_t> keys;
  for (uint64_t key = 1; keys.size() < 40; ++key)
    if (shim_estimate_start(key) >= shim_estimate_entries - 2)
      keys.push_back(key);
  for (uint64_t round = 0; round < 20; ++round)
    for (uint64_t key : keys) {
      shim_estimate_learn(table.get(), key, 1000 + 7 * round + key % 8);
      ASSERT_NE(0u, shim_estimate_find(table.get(), key)) << "what was measured last is known";
    }
  EXPECT_FALSE(shim_estimates_spilt(table.get()));
}

TEST(Usage, CountsWholeHalfSecondsOfTheWindow)
{
  Usage usage = NewUsage();
  const uint64_t now = 1000 * kSecond + 1;
  shim_usage_add(usage.get(), now, 5); // of the half second that is not over
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), now, kSecond));
  shim_usage_add(usage.get(), now - shim_bucket_ns, 100);
  shim_usage_add(usage.get(), now - 2 * shim_bucket_ns, 1000);
  shim_usage_add(usage.get(), now - 3 * shim_bucket_ns, 10000);
  EXPECT_EQ(100u, shim_usage_sum(usage.get(), now, kSecond / 2));
  EXPECT_EQ(1100u, shim_usage_sum(usage.get(), now, kSecond));
  EXPECT_EQ(11100u, shim_usage_sum(usage.get(), now, 10 * kSecond));
  EXPECT_EQ(11105u, shim_usage_sum(usage.get(), now + shim_bucket_ns, 10 * kSecond));
}

// The table goes round: what stands in a place from an earlier round is neither shown nor added to.
TEST(Usage, WhatWasUsedARoundAgoIsOver)
{
  Usage usage = NewUsage();
  const uint64_t then = 1000 * kSecond, round = shim_buckets * shim_bucket_ns;
  shim_usage_add(usage.get(), then, 77);
  EXPECT_EQ(77u, shim_usage_sum(usage.get(), then + shim_bucket_ns, kSecond));
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), then + round + shim_bucket_ns, kSecond));
  shim_usage_add(usage.get(), then + round, 5);
  EXPECT_EQ(5u, shim_usage_sum(usage.get(), then + round + shim_bucket_ns, kSecond));
  shim_usage_take(usage.get(), then + 2 * round, 1);
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), then + 2 * round + shim_bucket_ns, kSecond));
}

TEST(Usage, NeitherWrapsNorSpills)
{
  Usage usage = NewUsage();
  const uint64_t then = 1000 * kSecond, after = then + shim_bucket_ns;
  shim_usage_add(usage.get(), then, 10);
  shim_usage_take(usage.get(), then, 11);
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), after, kSecond));
  for (int i = 0; i < 4; ++i)
    shim_usage_add(usage.get(), then, UINT64_MAX - 3);
  uint64_t most = shim_usage_sum(usage.get(), after, kSecond);
  EXPECT_GE(most, 60 * kSecond) << "a kernel of a minute is counted whole";
  shim_usage_add(usage.get(), then, UINT64_MAX);
  EXPECT_EQ(most, shim_usage_sum(usage.get(), after, kSecond));
  shim_usage_take(usage.get(), then, UINT64_MAX);
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), after, kSecond));
}

// In the last half second before the stamp starts again, a word of all ones would be a real one.
TEST(Usage, TakesNoMoreThanThereIsAtAnyTime)
{
  Usage usage = NewUsage();
  const uint64_t then = 0xffffff * shim_bucket_ns;
  shim_usage_add(usage.get(), then, 10);
  shim_usage_take(usage.get(), then, 11);
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), then + shim_bucket_ns, kSecond));
}

// Shortly after the machine has started there is no minute to look back to.
TEST(Usage, AtTheBeginningOfTime)
{
  Usage usage = NewUsage();
  shim_usage_add(usage.get(), 0, 9);
  EXPECT_EQ(0u, shim_usage_sum(usage.get(), 0, 60 * kSecond));
  EXPECT_EQ(9u, shim_usage_sum(usage.get(), shim_bucket_ns, 60 * kSecond));
  EXPECT_EQ(9u, shim_usage_sum(usage.get(), shim_bucket_ns, UINT64_MAX));
}

} // namespace
