// Paged attention, decoding: one query of each sequence and head to keys and values in blocks of 16
// tokens, as halves or bfloats, or in eight bits with a scale for each token.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/attention.h"

namespace {

enum Cache { SAME, FP8, INT8 }; // what keys and values are: of the query's type, or ...

struct Variant {
  const char *name;
  bool halves; // query and result; else bfloats
  Cache cache;
  uint32_t gqa;
  // How p, times the value's scale, is rounded before it is multiplied: relative to itself, and to
  // the largest of all.
  double p_unit, p_step;
};
constexpr double fp8 = 0x1p-4, fp8_step = 0x1p-10 / 448; // gfx942's has smaller steps
const Variant variants[] = {
    {"bf16_noquant_gqa8_1tg_4w", false, SAME, 8, bfloat_unit, 0},
    {"bf16_noquant_gqa16_1tg_4w", false, SAME, 16, bfloat_unit, 0},
    {"fp16_noquant_gqa8_1tg_4w", true, SAME, 8, 2 * half_unit, 0x1p-24},
    {"fp16_noquant_gqa16_1tg_4w", true, SAME, 16, 2 * half_unit, 0x1p-24},
    {"bf16_pertokenFp8_gqa8_2tg_4w", false, FP8, 8, fp8, fp8_step},
    {"bf16_pertokenFp8_gqa8_2tg_4w_hp", false, FP8, 8, fp8, fp8_step},
    {"bf16_pertokenFp8_gqa8_2tg_4w_uhp", false, FP8, 8, 2 * bfloat_unit, 0},
    {"bf16_pertokenFp8_gqa16_2tg_4w", false, FP8, 16, fp8, fp8_step},
    {"fp16_pertokenFp8_gqa8_2tg_4w", true, FP8, 8, fp8, fp8_step},
    {"fp16_pertokenFp8_gqa8_2tg_4w_hp", true, FP8, 8, fp8, fp8_step},
    {"fp16_pertokenFp8_gqa8_2tg_4w_uhp", true, FP8, 8, 2 * bfloat_unit, 0},
    {"fp16_pertokenFp8_gqa16_2tg_4w", true, FP8, 16, fp8, fp8_step},
    {"bf16_pertokenInt8_gqa8_2tg_4w", false, INT8, 8, 0, 1.0 / 127},
    {"bf16_pertokenInt8_gqa16_2tg_4w", false, INT8, 16, 0, 1.0 / 127},
    {"fp16_pertokenInt8_gqa8_2tg_4w", true, INT8, 8, 0, 1.0 / 127},
    {"fp16_pertokenInt8_gqa16_2tg_4w", true, INT8, 16, 0, 1.0 / 127},
};

class Pa : public AiterTest {
protected:
  static constexpr uint32_t d = 128, block = 16, kv_heads = 2;

  // Keys or values: decoded, without scales, [block][head][token][element]; and as the kernel wants
  // them.
  struct Tensor {
    std::vector<double> plain;
    std::vector<float> scales; // [block][head][token]
    rawhal_buffer_t *elements, *scale_buffer;
  };

  uint16_t coded(bool half, float value) { return half ? to_half(value) : to_bfloat(value); }
  double decoded(bool half, uint16_t bits) { return half ? from_half(bits) : from_bfloat(bits); }

  // Where element `at` of token `token` is within a head of a block, if pieces of 16 bytes are
  // those of a token's elements (keys), or of an element's tokens (values).
  static uint32_t place(bool keys, uint32_t token, uint32_t at, uint32_t piece)
  {
    return keys ? (at / piece * block + token) * piece + at % piece
                : (token / piece * d + at) * piece + token % piece;
  }

  Tensor tensor(const Variant &variant, uint32_t blocks, bool keys)
  {
    Tensor result;
    const size_t count = size_t(blocks) * kv_heads * block * d;
    std::vector<uint16_t> wide(count);
    std::vector<uint8_t> narrow(count);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t token = i / d % block, at = i % d;
      const size_t to =
          i / (block * d) * (block * d) + place(keys, token, at, variant.cache == SAME ? 8 : 16);
      if (variant.cache == SAME) {
        wide[to] = coded(variant.halves, static_cast<float>(int(random() % 255) - 127) / 128);
        result.plain.push_back(decoded(variant.halves, wide[to]));
      } else if (variant.cache == FP8) {
        do
          narrow[to] = static_cast<uint8_t>(random());
        while (std::isnan(from_fp8(narrow[to], !is_gfx950())));
        result.plain.push_back(from_fp8(narrow[to], !is_gfx950()));
      } else {
        narrow[to] = static_cast<uint8_t>(random());
        result.plain.push_back(static_cast<int8_t>(narrow[to]));
      }
    }
    for (size_t i = 0; i < count / d; ++i)
      result.scales.push_back(
          variant.cache == SAME ? 1 : (1 + static_cast<float>(random() % 64) / 64) / 128);
    result.elements = variant.cache == SAME ? upload(wide) : upload(narrow);
    result.scale_buffer = upload(result.scales);
    return result;
  }

  // Queries that the kernel can bring to eight bits, by the largest element of each, without error.
  std::vector<uint16_t> queries(const Variant &variant, size_t count)
  {
    std::vector<uint16_t> result;
    const uint8_t most = is_gfx950() ? 0x7e : 0x7f; // of fp8: 448, 240
    for (size_t i = 0; i < count; ++i) {
      float value = static_cast<float>(i % d == 77 ? 127 : int(random() % 253) - 126) / 128;
      if (variant.cache == FP8) {
        const uint8_t code = i % d == 77 ? most : static_cast<uint8_t>(random() % (most - 7) + 8);
        value = static_cast<float>(from_fp8(code, !is_gfx950())) / 64 * (random() % 2 ? 1 : -1);
      }
      result.push_back(coded(variant.halves, value));
    }
    return result;
  }

  void expect_attention(const rawhal_device_kernel_t *kernel, const Variant &variant)
  {
    const std::vector<uint32_t> lengths = {1, 15, 40, 256, 333};
    const uint32_t count = static_cast<uint32_t>(lengths.size()), heads = kv_heads * variant.gqa;
    const uint32_t most = (333 + block - 1) / block + 1, blocks = count * most;
    std::vector<uint32_t> table(blocks);
    for (uint32_t i = 0; i < blocks; ++i)
      table[i] = i;
    std::shuffle(table.begin(), table.end(), random);
    const auto q = queries(variant, count * heads * d);
    const Tensor k = tensor(variant, blocks, true), v = tensor(variant, blocks, false);
    const uint32_t bytes = variant.cache == SAME ? 2 : 1;
    rawhal_buffer_t *out = upload(std::vector<uint16_t>(count * heads * d, 0x7fff));
    Arguments arguments(kernel);
    arguments.set("O", out).set("Q", upload(q)).set("K", k.elements).set("V", v.elements);
    arguments.set("BT", upload(table)).set("CL", upload(lengths));
    arguments.set("KQ", k.scale_buffer).set("VQ", v.scale_buffer);
    arguments.set("sclg", static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(d)));
    arguments.set("mblk", most).set("batch", kv_heads).set("Qs", heads * d * 2);
    arguments.set("Bs", kv_heads * block * d * bytes).set("KVs", block * d * bytes);
    arguments.set("mtp", 0u).set("GQA", variant.gqa).set_if_there("QTP", uint64_t{0});
    if (!launch(arguments, {kv_heads, count}))
      return;
    const auto got = download<uint16_t>(out, count * heads * d);
    for (uint32_t row = 0; row < count * heads; ++row) {
      const uint32_t *pages = &table[row / heads * most];
      std::vector<double> query;
      for (uint32_t at = 0; at < d; ++at)
        query.push_back(decoded(variant.halves, q[row * d + at]));
      expect_row(variant, query, lengths[row / heads], k, v, &got[row * d], [=](size_t i) {
        return (pages[i / block] * kv_heads + row % heads / variant.gqa) * block + i % block;
      });
    }
  }

  void expect_row(const Variant &variant, const std::vector<double> &query, uint32_t keys,
                  const Tensor &k, const Tensor &v, const uint16_t *got,
                  const std::function<size_t(size_t)> &token)
  {
    std::vector<double> key_rows, value_rows;
    for (uint32_t i = 0; i < keys; ++i)
      for (uint32_t at = 0; at < d; ++at) {
        key_rows.push_back(k.plain[token(i) * d + at] * k.scales[token(i)]);
        value_rows.push_back(v.plain[token(i) * d + at] * v.scales[token(i)]);
      }
    const Attention exact = attention(
        query, keys, d, 1 / std::sqrt(d), [&](size_t i) { return &key_rows[i * d]; },
        [&](size_t i) { return &value_rows[i * d]; });
    double most = 0;
    for (uint32_t i = 0; i < keys; ++i)
      most = std::max(most, exact.p[i] * v.scales[token(i)]);
    for (uint32_t at = 0; at < d; ++at) {
      double sum = 0;
      for (uint32_t i = 0; i < keys; ++i)
        sum += std::fabs(v.plain[token(i) * d + at]);
      expect(
          decoded(variant.halves, got[at]), exact.out[at],
          tolerance(exact, at, keys, variant.p_unit, variant.halves ? 2 * half_unit : bfloat_unit) +
              variant.p_step * most * sum,
          at);
    }
  }

  std::mt19937 random{29};
};

TEST_P(Pa, Decode)
{
  for (const Variant &variant : variants) {
    const std::string object = std::string("pa/pa_") + variant.name + ".co";
    if (const rawhal_device_kernel_t *kernel = kernel_of(object)) {
      begin(object);
      expect_attention(kernel, variant);
      end();
    }
  }
  summary("pa");
}

AITER_CHIPS(Pa);

} // namespace
