// The kernels whose times the bench compares with published ones (tests/fixtures/src/emulator.cl) compute what they are
// said to.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/softgpu/isa/published.h"

namespace {

class Published : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }

  static void run(const PublishedCase &c)
  {
    ASSERT_NE(c.dispatch.kernel_object, 0u);
    const device::Result result = device::run(c.dispatch, 60000);
    ASSERT_TRUE(result.ok) << result.fault.text;
  }

  // Of `each` floats a work-item.
  static void expect_copies(const char *kernel, uint32_t each);
};

float *results(PublishedCase &c, size_t count)
{
  return c.fill<float>(count, [](size_t) { return -77.0f; });
}

float wave(size_t i)
{
  return static_cast<float>(i * 37 % 101) * 0.05f - 2.5f;
}

TEST_P(Published, AddsButForSome)
{
  const uint32_t count = 1003;
  PublishedCase c("masked_add", 4, 256);
  const float *sum = results(c, count + 1), *a = c.fill<float>(count, wave),
              *b = c.fill<float>(count, [](size_t i) { return wave(i + 7); });
  c.pass(count);
  run(c);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(sum[i], i == count || i % 8 == 3 ? -77.0f : a[i] + b[i]) << i;
}

TEST_P(Published, AddsSixteenBytesEach)
{
  const uint32_t count = 1003;
  PublishedCase c("wide_add", 1, 256);
  const float *sum = results(c, count + 1), *a = c.fill<float>(count, wave),
              *b = c.fill<float>(count, [](size_t i) { return wave(i + 7); });
  c.pass(count);
  run(c);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(sum[i], i == count ? -77.0f : a[i] + b[i]) << i;
}

void Published::expect_copies(const char *kernel, uint32_t each)
{
  const uint32_t count = 1003;
  PublishedCase c(kernel, 4, 256);
  const float *to = results(c, (count + 1) * each), *from = c.fill<float>(count * each, wave);
  c.pass(count);
  run(c);
  for (uint32_t i = 0; i < (count + 1) * each; ++i)
    EXPECT_EQ(to[i], i < count * each ? from[i] : -77.0f) << i;
}

TEST_P(Published, Copies)
{
  expect_copies("copy", 1);
}

TEST_P(Published, CopiesSixteenBytesEach)
{
  expect_copies("wide_copy", 4);
}

TEST_P(Published, Gathers)
{
  const uint32_t count = 1003;
  PublishedCase c("gather", 4, 256);
  const float *to = results(c, count + 1), *from = c.fill<float>(count, wave);
  const uint32_t *index = c.fill<uint32_t>(
      count, [](size_t i) { return static_cast<uint32_t>(i * 2654435761u % count); });
  c.pass(count);
  run(c);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(to[i], i < count ? from[index[i]] : -77.0f) << i;
}

TEST_P(Published, Contends)
{
  const uint32_t count = 2051;
  PublishedCase c("contend", 9, 256);
  const uint32_t *counters = c.fill<uint32_t>(16, [](size_t) { return 5u; });
  c.pass(count);
  run(c);
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(counters[i], 5 + (count + 15 - i) / 16) << i;
}

TEST_P(Published, SoftmaxOfRows)
{
  const uint32_t rows = 3, columns = 700;
  PublishedCase c("softmax", rows, 256);
  const float *out = results(c, rows * columns), *in = c.fill<float>(rows * columns, wave);
  c.pass(columns);
  run(c);
  for (uint32_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (uint32_t i = 0; i < columns; ++i)
      sum += std::exp(static_cast<double>(in[row * columns + i]));
    for (uint32_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double expected = std::exp(static_cast<double>(in[i])) / sum;
      ASSERT_NEAR(out[i], expected, expected * 1e-5) << i;
    }
  }
}

TEST_P(Published, AttentionOfHeads)
{
  const uint32_t heads = 2, length = GetParam() ? 64 : 128, width = 64;
  const uint32_t count = heads * length * width;
  PublishedCase c("attention", length / 64, 64);
  c.dispatch.grid[1] = heads;
  const float *out = results(c, count), *q = c.fill<float>(count, wave),
              *k = c.fill<float>(count, [](size_t i) { return wave(i * 3 + 1); }),
              *v = c.fill<float>(count, [](size_t i) { return wave(i * 5 + 2); });
  c.pass(length);
  run(c);
  for (uint32_t query = 0; query < heads * length; query += 13) {
    const uint32_t head = query / length * length * width;
    std::vector<double> weights(length), wanted(width);
    double most = -1e9, sum = 0;
    for (uint32_t n = 0; n < length; ++n) {
      for (uint32_t i = 0; i < width; ++i)
        weights[n] += static_cast<double>(q[query * width + i]) * k[head + n * width + i];
      most = std::max(most, weights[n] /= 8);
    }
    for (uint32_t n = 0; n < length; ++n) {
      sum += weights[n] = std::exp(weights[n] - most);
      for (uint32_t i = 0; i < width; ++i)
        wanted[i] += weights[n] * v[head + n * width + i];
    }
    for (uint32_t i = 0; i < width; ++i)
      ASSERT_NEAR(out[query * width + i], wanted[i] / sum, 1e-4) << query << ' ' << i;
  }
}

// Of whole numbers, which are exact.
TEST_P(Published, MatrixProducts)
{
  const uint32_t n = GetParam() ? 128 : 256;
  const auto number = [](size_t i) { return static_cast<int>((i * 2654435761u >> 7) % 7) - 3; };
  const auto half = [number](size_t seed) {
    return [number, seed](size_t i) {
      const int value = number(i + seed), size = abs(value);
      const int bits = size == 0 ? 0 : size == 1 ? 0x3c00 : size == 2 ? 0x4000 : 0x4200;
      return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
    };
  };
  PublishedCase c("gemm", n / 128, 256);
  c.dispatch.grid[1] = n / 128;
  const float *d = results(c, n * n);
  c.fill<uint16_t>(n * n, half(0));
  c.fill<uint16_t>(n * n, half(99));
  c.pass(n);
  run(c);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      int sum = 0;
      for (uint32_t k = 0; k < n; ++k)
        sum += number(i * n + k) * number(j * n + k + 99);
      ASSERT_EQ(d[i * n + j], static_cast<float>(sum)) << i << ' ' << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Engines, Published, testing::Bool(), [](const auto &info) {
  return std::string(info.param ? "reference" : "fast");
});

} // namespace
