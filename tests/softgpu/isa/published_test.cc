// The kernels whose times the bench compares with published ones (tests/fixtures/src/emulator.cl) compute what they are
// said to.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/softgpu/isa/device.h"

namespace {

class Published : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }

  template <typename T, typename Value> T *fill(size_t count, Value &&value)
  {
    buffers.push_back(std::make_unique<device::Memory>(count * sizeof(T)));
    T *at = buffers.back()->as<T>();
    for (size_t i = 0; i < count; ++i)
      at[i] = value(i);
    pass(buffers.back()->address());
    return at;
  }
  float *results(size_t count)
  {
    return fill<float>(count, [](size_t) { return -77.0f; });
  }
  template <typename T> void pass(T value)
  {
    passed = (passed + sizeof value - 1) / sizeof value * sizeof value;
    memcpy(kernarg.as<char>() + passed, &value, sizeof value);
    passed += sizeof value;
  }
  void run(const char *kernel, uint32_t groups, uint16_t items, uint32_t rows = 1)
  {
    const uint64_t descriptor = object.symbol(std::string(kernel) + ".kd");
    ASSERT_NE(descriptor, 0u);
    softgpu_dispatch_t dispatch =
        device::dispatch(descriptor, kernarg.as<void>(), groups, items, SOFTGPU_GFX90A);
    memcpy(&dispatch.group_bytes, reinterpret_cast<const void *>(descriptor), 4);
    dispatch.grid[1] = rows;
    const device::Result result = device::run(dispatch, 60000);
    ASSERT_TRUE(result.ok) << result.fault.text;
  }

private:
  device::CodeObject object{"emulator-gfx90a-v5.co"};
  std::vector<std::unique_ptr<device::Memory>> buffers;
  device::Memory kernarg{4096};
  size_t passed = 0;
};

float wave(size_t i)
{
  return static_cast<float>(i * 37 % 101) * 0.05f - 2.5f;
}

TEST_P(Published, AddsButForSome)
{
  const uint32_t count = 1003;
  const float *c = results(count + 1), *a = fill<float>(count, wave),
              *b = fill<float>(count, [](size_t i) { return wave(i + 7); });
  pass(count);
  run("masked_add", 4, 256);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(c[i], i == count || i % 8 == 3 ? -77.0f : a[i] + b[i]) << i;
}

TEST_P(Published, Copies)
{
  const uint32_t count = 1003;
  const float *to = results(count + 1), *from = fill<float>(count, wave);
  pass(count);
  run("copy", 4, 256);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(to[i], i < count ? from[i] : -77.0f) << i;
}

TEST_P(Published, CopiesSixteenBytesEach)
{
  const uint32_t count = 1003;
  const float *to = results((count + 1) * 4), *from = fill<float>(count * 4, wave);
  pass(count);
  run("wide_copy", 4, 256);
  for (uint32_t i = 0; i < (count + 1) * 4; ++i)
    EXPECT_EQ(to[i], i < count * 4 ? from[i] : -77.0f) << i;
}

TEST_P(Published, Gathers)
{
  const uint32_t count = 1003;
  const float *to = results(count + 1), *from = fill<float>(count, wave);
  const uint32_t *index = fill<uint32_t>(
      count, [](size_t i) { return static_cast<uint32_t>(i * 2654435761u % count); });
  pass(count);
  run("gather", 4, 256);
  for (uint32_t i = 0; i <= count; ++i)
    EXPECT_EQ(to[i], i < count ? from[index[i]] : -77.0f) << i;
}

TEST_P(Published, Contends)
{
  const uint32_t count = 2051;
  const uint32_t *counters = fill<uint32_t>(16, [](size_t) { return 5u; });
  pass(count);
  run("contend", 9, 256);
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(counters[i], 5 + (count + 15 - i) / 16) << i;
}

TEST_P(Published, SoftmaxOfRows)
{
  const uint32_t rows = 3, columns = 700;
  const float *out = results(rows * columns), *in = fill<float>(rows * columns, wave);
  pass(columns);
  run("softmax", rows, 256);
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
  const float *out = results(count), *q = fill<float>(count, wave),
              *k = fill<float>(count, [](size_t i) { return wave(i * 3 + 1); }),
              *v = fill<float>(count, [](size_t i) { return wave(i * 5 + 2); });
  pass(length);
  run("attention", length / 64, 64, heads);
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
  const float *d = results(n * n);
  fill<uint16_t>(n * n, half(0));
  fill<uint16_t>(n * n, half(99));
  pass(n);
  run("gemm", n / 128, 256, n / 128);
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
