// C = scale of the row * scale of the column * A B^T + bias: bytes, in bfloats.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

namespace {

class I8Gemm : public AiterTest {
protected:
  struct Shape {
    uint32_t rows, k, splits; // rows of a tile; its columns are 128
    int largest;              // of A and B
    bool exact;               // scales are powers of two and all sums are small
  };

  std::vector<int8_t> matrix(size_t count, int greatest)
  {
    std::vector<int8_t> result(count);
    const unsigned range = static_cast<unsigned>(2 * greatest + 1);
    for (int8_t &each : result)
      each = static_cast<int8_t>(static_cast<int>(random() % range) - greatest);
    return result;
  }

  void expect_product(const rawhal_device_kernel_t *kernel, const Shape &shape)
  {
    const uint32_t m = shape.rows + 3, n = 256, k = shape.k, pitch = k + 128;
    const auto b = matrix(n * k, shape.largest);
    auto a = matrix(m * pitch, shape.largest);
    const auto row_scales = scales(random, m, shape.exact),
               column_scales = scales(random, n, shape.exact);
    std::vector<float> bias(n);
    for (float &each : bias)
      each = static_cast<float>(static_cast<int>(random() % 9) - 4);
    const std::vector<uint16_t> before(m * n, shape.splits > 1 ? 0 : 0x7fc1);
    rawhal_buffer_t *out = upload(before);
    Arguments arguments(kernel);
    arguments.set("C", out).set("A", upload(a)).set("B", upload(shuffled(b, n, k)));
    arguments.set("SA", upload(row_scales)).set("SB", upload(column_scales));
    arguments.set("BIAS", upload(bias)).set("M", m).set("Ndim", n).set("K", k);
    arguments.set("PA", pitch).set("PB", k).set("PC", n * 2).set("KS", shape.splits);
    if (!launch(arguments, {n / 128 * shape.splits, (m + shape.rows - 1) / shape.rows}))
      return;
    const auto got = download<uint16_t>(out, m * n);
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        int sum = 0;
        for (uint32_t i = 0; i < k; ++i)
          sum += a[row * pitch + i] * b[column * k + i];
        const double product = double(sum) * row_scales[row] * column_scales[column];
        const double expected = product + bias[column];
        ASSERT_TRUE(!shape.exact || std::fabs(expected) <= 256); // a bfloat holds it
        // The sum becomes a float, is scaled twice, has the bias added and is cut to a bfloat.
        const double tolerance = 4 * float_unit * (std::fabs(product) + std::fabs(expected)) +
                                 2 * bfloat_unit * std::fabs(expected);
        expect(from_bfloat(got[row * n + column]), expected, shape.exact ? 0 : tolerance,
               row * n + column);
      }
  }

  std::mt19937 random{13};
};

TEST_P(I8Gemm, Products)
{
  for (uint32_t rows : {16u, 32u, 48u, 64u, 80u, 96u, 128u, 160u}) {
    const std::string object =
        "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_" + std::to_string(rows) + "x128.co";
    const rawhal_device_kernel_t *kernel = kernel_of(object);
    const Shape shapes[] = {
        {rows, 256, 1, 1, true}, {rows, 384, 1, 127, false}, {rows, 384, 3, 1, true}};
    for (const Shape &shape : shapes) {
      if (!kernel)
        continue;
      begin(object + ", k " + std::to_string(shape.k) + " by " + std::to_string(shape.splits));
      expect_product(kernel, shape);
      end();
    }
  }
  summary("i8gemm");
}

AITER_CHIPS(I8Gemm);

} // namespace
