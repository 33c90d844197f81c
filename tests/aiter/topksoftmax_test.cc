// The k largest of the softmax of each row, and where they are: what chooses a token's experts.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

#include <algorithm>
#include <numeric>

namespace {

struct Variant {
  uint32_t tokens, experts, k; // tokens of a work-group
};
const Variant variants[] = {{4, 128, 4},  {4, 128, 6},  {4, 128, 8},  {4, 256, 6},
                            {4, 256, 8},  {4, 384, 8},  {4, 640, 8},  {12, 128, 4},
                            {12, 128, 6}, {12, 128, 8}, {12, 256, 6}, {12, 256, 8}};

class TopkSoftmax : public AiterTest {
protected:
  static constexpr uint32_t untouched = 0x7fc12345;

  // Logits that are no two the same, between 1/32 and 8 and their negatives, as bfloats.
  std::vector<uint16_t> logits(uint32_t rows, uint32_t columns)
  {
    std::vector<uint16_t> codes(2 * 8 * 128), result;
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<uint16_t>((i & 1 ? 0x8000 : 0) + 0x3d00 + i / 2);
    for (uint32_t row = 0; row < rows; ++row) {
      std::shuffle(codes.begin(), codes.end(), random);
      result.insert(result.end(), codes.begin(), codes.begin() + columns);
    }
    return result;
  }

  void expect_row(const uint16_t *codes, const Variant &variant, bool renormalize,
                  const uint32_t *indices, const float *weights, uint32_t stride)
  {
    const uint32_t n = variant.experts;
    std::vector<double> power(n);
    for (uint32_t i = 0; i < n; ++i)
      power[i] = std::exp(static_cast<double>(from_bfloat(codes[i])));
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return power[a] > power[b]; });
    double sum = std::accumulate(power.begin(), power.end(), 0.0), best = 0;
    for (uint32_t i = 0; i < variant.k; ++i)
      best += power[order[i]];
    // Roundings: of logits times log2(e), which itself is rounded, twice; of exponential functions
    // and reciprocals, of which the kernel has two, one unit of the last place each; of n
    // additions, and k more; of two products.
    const double tolerance = float_unit * (2 * 2 * 8 + 2 * 2 + 2 * 2 + n + variant.k + 2);
    for (uint32_t i = 0; i < stride; ++i) {
      if (i >= variant.k) {
        expect_bits(indices[i], untouched, i);
        uint32_t bits;
        memcpy(&bits, &weights[i], sizeof(bits));
        expect_bits(bits, untouched, i);
        continue;
      }
      const double weight = power[order[i]] / (renormalize ? best : sum);
      expect_bits(indices[i], order[i], i);
      expect(weights[i], weight, tolerance * weight, i);
    }
  }

  template <typename T>
  void expect_case(const rawhal_device_kernel_t *kernel, const Variant &variant, bool renormalize,
                   T (*element_of)(uint16_t))
  {
    const uint32_t rows = 2 * variant.tokens + 3, stride = variant.k + 3;
    const std::vector<uint16_t> codes = logits(rows, variant.experts);
    std::vector<T> elements;
    for (uint16_t code : codes)
      elements.push_back(element_of(code));
    const std::vector<uint32_t> pattern(rows * stride, untouched);
    rawhal_buffer_t *in = upload(elements), *indices = upload(pattern), *weights = upload(pattern);
    Arguments arguments(kernel);
    arguments.set("T", indices).set("W", weights).set("A", in).set("batch", rows);
    arguments.set("expert", variant.experts).set("topk", variant.k);
    arguments.set("renormalize", uint32_t(renormalize)).set("out_stride", stride * 4);
    if (!launch(arguments, {(rows + variant.tokens - 1) / variant.tokens}))
      return;
    const auto got = download<uint32_t>(indices, rows * stride);
    const auto got_weights = download<float>(weights, rows * stride);
    for (uint32_t row = 0; row < rows; ++row)
      expect_row(&codes[row * variant.experts], variant, renormalize, &got[row * stride],
                 &got_weights[row * stride], stride);
  }

  template <typename T> void expect_all(const char *suffix, T (*element_of)(uint16_t))
  {
    for (const Variant &variant : variants) {
      const std::string object = "topksoftmax/topksoftmax_" + std::to_string(variant.tokens) + 'x' +
                                 std::to_string(variant.experts) + 'x' + std::to_string(variant.k) +
                                 suffix + ".co";
      const rawhal_device_kernel_t *kernel = kernel_of(object);
      for (int renormalize = 0; kernel && renormalize < 2; ++renormalize) {
        begin(object + (renormalize ? ", renormalized" : ""));
        expect_case(kernel, variant, renormalize, element_of);
        end();
      }
    }
    summary("topksoftmax");
  }

  std::mt19937 random{7};
};

TEST_P(TopkSoftmax, Floats)
{
  expect_all<float>("", from_bfloat);
}

TEST_P(TopkSoftmax, Bfloats)
{
  expect_all<uint16_t>("_bf16", [](uint16_t code) { return code; });
}

AITER_CHIPS(TopkSoftmax);

} // namespace
