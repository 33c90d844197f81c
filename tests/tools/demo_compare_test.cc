// The demo's verdicts: what counts as different, and what is said about it.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>

extern "C" {
#include "tools/demo/compare.h"
#include "tools/demo/report.h"
}

namespace {

TEST(DemoCompare, EqualIntegersAreCorrect)
{
  const uint32_t numbers[] = {1, 2, 0xffffffff};
  comparison_t comparison;
  compare_integers(numbers, numbers, 3, &comparison);
  EXPECT_EQ(comparison.count, 3u);
  EXPECT_EQ(comparison.different, 0u);
  EXPECT_EQ(comparison.error, 0.0);
  testing::internal::CaptureStdout();
  EXPECT_TRUE(compare_report(&comparison, "numbers"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "verdict   CORRECT: 3 of 3 numbers equal the CPU reference bit for bit\n"
            "          largest error 0\n");
}

TEST(DemoCompare, DifferentIntegersAreCountedAndTheFirstIsShown)
{
  const uint32_t got[] = {1, 7, 3, 0}, expected[] = {1, 2, 3, 10};
  comparison_t comparison;
  compare_integers(got, expected, 4, &comparison);
  EXPECT_EQ(comparison.different, 2u);
  EXPECT_EQ(comparison.first, 1u);
  EXPECT_EQ(comparison.error, 10.0);
  testing::internal::CaptureStdout();
  EXPECT_FALSE(compare_report(&comparison, "numbers"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "verdict   WRONG: 2 of 4 numbers equal the CPU reference bit for bit\n"
            "          largest error 10\n"
            "          first at 1: 0x00000007 instead of 0x00000002\n");
}

TEST(DemoCompare, FloatsAreComparedBitForBit)
{
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float got[] = {nan, 1.0f, -0.0f, 1.5f}, expected[] = {nan, 1.0f, 0.0f, 1.25f};
  comparison_t comparison;
  compare_floats(got, expected, 4, &comparison);
  EXPECT_EQ(comparison.different, 2u); // the zero's sign and the last
  EXPECT_EQ(comparison.first, 2u);
  EXPECT_STREQ(comparison.wrong, "-0 instead of 0");
  EXPECT_EQ(comparison.error, 0.25);
}

TEST(DemoCompare, ANanAgainstANumberIsAnInfiniteError)
{
  const float got[] = {std::numeric_limits<float>::quiet_NaN()}, expected[] = {1.0f};
  comparison_t comparison;
  compare_floats(got, expected, 1, &comparison);
  EXPECT_EQ(comparison.different, 1u);
  EXPECT_TRUE(std::isinf(comparison.error));
}

TEST(DemoReport, CountsAreGroupedByThousands)
{
  report_count_t buffer;
  EXPECT_STREQ(report_count(0, &buffer), "0");
  EXPECT_STREQ(report_count(999, &buffer), "999");
  EXPECT_STREQ(report_count(1000, &buffer), "1,000");
  EXPECT_STREQ(report_count(1234567, &buffer), "1,234,567");
  EXPECT_STREQ(report_count(UINT64_MAX, &buffer), "18,446,744,073,709,551,615");
}

} // namespace
