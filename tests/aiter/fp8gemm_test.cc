// C = A B^T of floats of eight bits, in bfloats: a scale for 128 elements of a row of A, and one
// for 128 by 128 of B.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

namespace {

class Fp8Gemm : public AiterTest {
protected:
  struct Shape {
    uint32_t rows, k, splits; // rows of a tile; its columns are 128
    bool exact;               // small integers and powers of two
  };

  std::vector<uint8_t> matrix(size_t count, bool exact)
  {
    std::vector<uint8_t> result(count);
    for (uint8_t &each : result)
      do
        each = exact ? to_fp8(static_cast<int>(random() % 3) - 1, !is_gfx950())
                     : static_cast<uint8_t>(random());
      while (std::isnan(from_fp8(each, !is_gfx950())));
    return result;
  }

  static std::vector<double> decoded(const std::vector<uint8_t> &codes)
  {
    std::vector<double> result;
    for (uint8_t code : codes)
      result.push_back(from_fp8(code, !is_gfx950()));
    return result;
  }

  void expect_product(const rawhal_device_kernel_t *kernel, const Shape &shape)
  {
    const uint32_t m = shape.rows + 3, n = 256, k = shape.k, blocks = k / 128;
    const auto a = matrix(m * k, shape.exact), b = matrix(n * k, shape.exact);
    const auto a_scales =
        scales(random, blocks * m, shape.exact); // of a block of k, all rows' together
    const auto b_scales = scales(random, n / 128 * blocks, shape.exact);
    const std::vector<float> bias(n);
    const std::vector<uint16_t> before(m * n, shape.splits > 1 ? 0 : 0x7fc1);
    rawhal_buffer_t *out = upload(before);
    Arguments arguments(kernel);
    arguments.set("C", out).set("A", upload(a)).set("B", upload(shuffled(b, n, k)));
    arguments.set("SA", upload(a_scales)).set("SB", upload(b_scales)).set("BIAS", upload(bias));
    arguments.set("M", m).set("Ndim", n).set("K", k).set("PA", k).set("PB", k).set("PC", n * 2);
    arguments.set("KS", shape.splits).set("scale_m", m).set("scale_n", n / 128);
    arguments.set("scale_k", blocks);
    if (!launch(arguments, {n / 128 * shape.splits, (m + shape.rows - 1) / shape.rows}))
      return;
    const auto got = download<uint16_t>(out, m * n);
    const auto a_values = decoded(a), b_values = decoded(b);
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        double sum = 0, magnitude = 0;
        for (uint32_t i = 0; i < k; ++i) {
          const double term = a_values[row * k + i] * b_values[column * k + i] *
                              a_scales[i / 128 * m + row] *
                              b_scales[column / 128 * blocks + i / 128];
          sum += term;
          magnitude += std::fabs(term);
        }
        ASSERT_TRUE(!shape.exact || std::fabs(sum) <= 256); // a bfloat holds it
        // Each of the k sums is rounded, and so is the scaling; the result is cut to a bfloat.
        const double tolerance =
            (k + 3) * float_unit * magnitude + 2 * bfloat_unit * std::fabs(sum);
        expect(from_bfloat(got[row * n + column]), sum, shape.exact ? 0 : tolerance,
               row * n + column);
      }
  }

  std::mt19937 random{17};
};

TEST_P(Fp8Gemm, Products)
{
  for (uint32_t rows : {32u, 48u, 64u, 80u, 96u, 128u}) {
    const std::string object = "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_" +
                               std::to_string(rows) + "x128.co";
    const rawhal_device_kernel_t *kernel = kernel_of(object);
    const Shape shapes[] = {{rows, 256, 1, true}, {rows, 384, 1, false}, {rows, 384, 3, true}};
    for (const Shape &shape : shapes) {
      if (!kernel)
        continue;
      begin(object + ", k " + std::to_string(shape.k) + " by " + std::to_string(shape.splits));
      expect_product(kernel, shape);
      end();
    }
  }
  summary("fp8gemm_blockscale");
}

AITER_CHIPS(Fp8Gemm);

} // namespace
