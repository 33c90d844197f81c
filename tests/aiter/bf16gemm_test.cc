// D = A B^T + bias of bfloats, in floats or bfloats, also with k split between work-groups, which
// add atomically after the first of them has cleared D. All numbers are small integers: exact.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

namespace {

struct Variant {
  const char *name;
  uint32_t rows; // of a tile; its columns are 64
  bool shuffled; // B
  bool splits;   // k, and has semaphores
};
const Variant variants[] = {
    {"32x64_splitk_clean", 32, false, true},
    {"48x64_splitk_clean", 48, false, true},
    {"64x64_splitk_clean", 64, false, true},
    {"80x64_splitk_clean", 80, false, true},
    {"96x64_splitk_clean", 96, false, true},
    {"32x64_bshuffle_splitk_clean", 32, true, true},
    {"48x64_bshuffle_splitk_clean", 48, true, true},
    {"64x64_bshuffle_splitk_clean", 64, true, true},
    {"80x64_bshuffle_splitk_clean", 80, true, true},
    {"96x64_bshuffle_splitk_clean", 96, true, true},
    {"128x64_bshuffle_splitk_clean", 128, true, true},
    {"160x64_bshuffle_splitk_clean", 160, true, true},
    {"32x64_pf3_splitk", 32, false, false},
    {"48x64_pf3_splitk", 48, false, false},
    {"64x64_pf3_splitk", 64, false, false},
    {"96x64_pf3_splitk", 96, false, false},
    {"32x64_bshuffle_splitk", 32, true, false},
    {"48x64_bshuffle_splitk", 48, true, false},
    {"64x64_bshuffle_splitk", 64, true, false},
    {"96x64_bshuffle_splitk", 96, true, false},
    {"128x64_bshuffle_splitk", 128, true, false},
    {"160x64_bshuffle_splitk", 160, true, false},
};

struct Shape {
  uint32_t n, k, splits;
  bool bfloats, bias; // of the result
};

class Bf16Gemm : public AiterTest {
protected:
  std::vector<uint16_t> matrix(size_t count)
  {
    std::vector<uint16_t> result(count);
    for (uint16_t &each : result)
      each = to_bfloat(static_cast<float>(static_cast<int>(random() % 5) - 2));
    return result;
  }

  template <typename T>
  void expect_product(const rawhal_device_kernel_t *kernel, const Variant &variant,
                      const Shape &shape, float (*value_of)(T))
  {
    const auto [n, k, splits, bfloats, biased] = shape;
    const uint32_t m = variant.rows + 5; // a tile, and a little of another
    const auto a = matrix(m * k), b = matrix(n * k), bias = matrix(n);
    const std::vector<T> never(m * n, T(0x7fc1));
    const std::vector<uint32_t> zeros(1024);
    rawhal_buffer_t *out = upload(never), *semaphores = upload(zeros);
    Arguments arguments(kernel);
    arguments.set("D", out).set("C", uint64_t{0}).set("A", upload(a));
    arguments.set("B", upload(variant.shuffled ? shuffled(b, n, k) : b));
    arguments.set("alpha", 1.0f).set("beta", 0.0f);
    for (const char *unused : {"strideD1", "strideC1", "strideA1", "strideB1"})
      arguments.set(unused, 0u);
    arguments.set("strideD0", uint32_t(n * sizeof(T))).set("strideC0", uint32_t(n * sizeof(T)));
    arguments.set("strideA0", k * 2).set("strideB0", k * 2);
    arguments.set("Mdim", m).set("Ndim", n).set("Kdim", k).set("splitk", splits);
    arguments.set("is_out_b16", uint32_t(bfloats)).set("Bias", upload(bias));
    arguments.set("add_bias", uint32_t(biased));
    arguments.set_if_there("ptr_semaphore",
                           splits > 1 ? rawhal_buffer_address(semaphores) : uint64_t{0});
    if (!launch(arguments, {n / 64, (m + variant.rows - 1) / variant.rows, splits}))
      return;
    const std::vector<T> got = download<T>(out, m * n);
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        float sum = biased ? from_bfloat(bias[column]) : 0;
        for (uint32_t i = 0; i < k; ++i)
          sum += from_bfloat(a[row * k + i]) * from_bfloat(b[column * k + i]);
        ASSERT_LE(std::fabs(sum), 256); // a bfloat holds it
        expect(value_of(got[row * n + column]), sum, 0, row * n + column);
      }
    EXPECT_EQ(download<uint32_t>(semaphores, zeros.size()), zeros); // for the next launch
  }

  std::mt19937 random{11};
};

TEST_P(Bf16Gemm, Products)
{
  const Shape shapes[] = {{128, 192, 1, false, false},
                          {64, 320, 1, true, true},
                          {128, 64, 1, false, true},
                          {128, 320, 3, false, true},
                          {64, 256, 2, true, false}};
  for (const Variant &variant : variants) {
    const std::string object = std::string("bf16gemm/bf16gemm_fp32bf16_tn_") + variant.name + ".co";
    const rawhal_device_kernel_t *kernel = kernel_of(object);
    for (const Shape &shape : shapes) {
      if (!kernel || (shape.splits > 1) != variant.splits)
        continue;
      begin(object + ", k " + std::to_string(shape.k) + " by " + std::to_string(shape.splits));
      if (shape.bfloats)
        expect_product<uint16_t>(kernel, variant, shape, from_bfloat);
      else
        expect_product<float>(kernel, variant, shape, [](float value) { return value; });
      end();
    }
  }
  summary("bf16gemm");
}

AITER_CHIPS(Bf16Gemm);

} // namespace
