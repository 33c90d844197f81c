// C = A B^T of floats of four bits (e2m1, two in a byte), in bfloats: a scale that is a power of
// two for 32 elements of a row.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

namespace {

class F4Gemm : public AiterTest {
protected:
  struct Matrix {
    std::vector<uint8_t> codes, exponents; // pairs, the first in the low bits; of 32 elements
    std::vector<double> values;
  };

  static double value_of(unsigned code)
  {
    const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
  }

  Matrix matrix(size_t rows, size_t k, bool exact)
  {
    Matrix result;
    for (size_t i = 0; i < rows * k / 32; ++i)
      result.exponents.push_back(
          static_cast<uint8_t>(exact ? 127 + random() % 2 : 120 + random() % 16));
    for (size_t i = 0; i < rows * k; ++i) {
      const unsigned code = exact ? (random() % 3 ? 0 : 2 | (random() & 8)) : random() & 15;
      if (i % 2)
        result.codes.back() |= static_cast<uint8_t>(code << 4);
      else
        result.codes.push_back(static_cast<uint8_t>(code));
      result.values.push_back(std::ldexp(value_of(code), result.exponents[i / 32] - 127));
    }
    return result;
  }

  // aiter's shuffle_scale(): rows filled up to 256, and of 32 rows by 8 scales the places
  // [4 of the column][row of 16][half of the column][half of the row].
  static std::vector<uint8_t> scales(const Matrix &from, uint32_t rows, uint32_t columns)
  {
    const uint32_t height = (rows + 255) / 256 * 256, width = (columns + 7) / 8 * 8;
    std::vector<uint8_t> result;
    for (uint32_t row = 0; row < height; row += 32)
      for (uint32_t column = 0; column < width; column += 8)
        for (uint32_t i = 0; i < 256; ++i) {
          const uint32_t y = row + i % 2 * 16 + i / 4 % 16, x = column + i / 2 % 2 * 4 + i / 64;
          result.push_back(y < rows && x < columns ? from.exponents[y * columns + x] : 0);
        }
    return result;
  }

  void expect_product(const rawhal_device_kernel_t *kernel, uint32_t tile_m, uint32_t tile_n,
                      uint32_t k, bool exact)
  {
    const uint32_t m = tile_m + 5, n = 2 * tile_n, width = (k / 32 + 7) / 8 * 8;
    const Matrix a = matrix(m, k, exact), b = matrix(n, k, exact);
    // The host's result has rows for whole blocks of 32, too.
    const uint32_t there = (m + 31) / 32 * 32;
    rawhal_buffer_t *out = upload(std::vector<uint16_t>(size_t(there) * n, 0x7fc1));
    Arguments arguments(kernel);
    arguments.set("D", out).set("C", uint64_t{0}).set("A", upload(a.codes));
    arguments.set("B", upload(shuffled(b.codes, n, k / 2))).set("alpha", 1.0f).set("beta", 0.0f);
    for (const char *unused : {"strideD1", "strideC1", "strideA1", "strideB1", "strideScaleA1",
                               "strideScaleB1", "strideD0", "log2_k_split"})
      arguments.set_if_there(unused, 0u);
    arguments.set("strideC0", n).set("strideA0", k).set("strideB0", k);
    arguments.set("Mdim", m).set("Ndim", n).set("Kdim", k);
    arguments.set("ScaleA", upload(scales(a, m, k / 32)));
    arguments.set("ScaleB", upload(scales(b, n, k / 32)));
    arguments.set("strideScaleA0", width).set("strideScaleB0", width);
    if (!launch(arguments, {n / tile_n, (m + tile_m - 1) / tile_m}))
      return;
    const auto got = download<uint16_t>(out, size_t(m) * n);
    for (uint32_t row = 0; row < m; ++row)
      for (uint32_t column = 0; column < n; ++column) {
        double sum = 0, magnitude = 0;
        for (uint32_t i = 0; i < k; ++i) {
          const double term = a.values[row * k + i] * b.values[column * k + i];
          sum += term;
          magnitude += std::fabs(term);
        }
        ASSERT_TRUE(!exact || std::fabs(sum) <= 256); // a bfloat holds it
        const double tolerance = k * float_unit * magnitude + 2 * bfloat_unit * std::fabs(sum);
        expect(from_bfloat(got[size_t(row) * n + column]), sum, exact ? 0 : tolerance,
               size_t(row) * n + column);
      }
  }

  std::mt19937 random{37};
};

TEST_P(F4Gemm, Products)
{
  const struct {
    uint32_t m, n;
  } tiles[] = {{32, 128}, {64, 640}, {96, 256}, {128, 128}, {160, 128}, {256, 128}};
  for (const auto &tile : tiles) {
    const std::string object = "f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_" +
                               std::to_string(tile.m) + 'x' + std::to_string(tile.n) + ".co";
    const rawhal_device_kernel_t *kernel = kernel_of(object);
    for (bool exact : {true, false}) {
      if (!kernel)
        continue;
      begin(object + (exact ? ", exact" : ""));
      expect_product(kernel, tile.m, tile.n, exact ? 256 : 512, exact);
      end();
    }
  }
  summary("f4gemm");
}

AITER_CHIPS(F4Gemm);

} // namespace
