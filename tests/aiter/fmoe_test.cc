// A layer of experts: each token's row times gate and up matrices of its experts, silu(gate) * up
// times their down matrices, weighted and added. Floats of eight bits with a scale for 128 elements
// of a row of X, and one for 128 by 128 of the matrices; what is between the two products becomes
// eight bits as well. Tokens come as aiter's moe_sorting() has them: those of an expert together,
// filled up to blocks with tokens that do not exist.
//
// These kernels have a race: waves exchange the largest elements of a block of 128 of what is
// between the products by LDS, and then those of the next by the same LDS, with nothing to keep a
// fast wave from doing so before a slow one has read the former but that waves run side by side.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/numbers.h"

namespace {

constexpr uint32_t rows = 32, block = 128; // tokens of a work-group; elements of a scale

struct Shape {
  uint32_t tokens, dim, inter, experts, topk, tile; // columns of inter of a work-group
};

struct Matrix {
  std::vector<uint8_t> codes; // of all experts, row by row
  std::vector<float> scales;  // of all experts' blocks of 128 rows by 128 columns
};

class Fmoe : public AiterTest {
protected:
  Matrix matrix(size_t count, uint32_t scale_rows, uint32_t columns)
  {
    Matrix result;
    for (size_t i = 0; i < count * columns; ++i)
      result.codes.push_back(static_cast<uint8_t>((random() & 0x80) | (random() % 32 + 0x20)));
    for (size_t i = 0; i < count / scale_rows * (columns / block); ++i)
      result.scales.push_back((1 + static_cast<float>(random() % 64) / 64) / 8);
    return result;
  }

  // The rows of each expert's matrix, `height` of them, in the order that the kernel expects.
  static std::vector<uint8_t> ordered(const Matrix &from, uint32_t height, uint32_t columns)
  {
    return shuffled(from.codes, from.codes.size() / columns / height * height, columns);
  }

  struct Sorted {
    std::vector<uint32_t> ids, experts, valid; // the token, and which of its experts in bits 24..31
    std::vector<float> weights;
  };
  Sorted sorted(const Shape &shape)
  {
    std::vector<std::vector<uint32_t>> chosen(shape.tokens);
    for (auto &each : chosen) {
      std::vector<uint32_t> all(shape.experts);
      for (uint32_t i = 0; i < shape.experts; ++i)
        all[i] = i;
      std::shuffle(all.begin(), all.end(), random);
      each.assign(all.begin(), all.begin() + shape.topk);
    }
    Sorted result;
    for (uint32_t expert = 0; expert < shape.experts; ++expert) {
      for (uint32_t token = 0; token < shape.tokens; ++token)
        for (uint32_t i = 0; i < shape.topk; ++i)
          if (chosen[token][i] == expert) {
            result.ids.push_back(i << 24 | token);
            result.weights.push_back(static_cast<float>(random() % 64 + 1) / 64);
          }
      for (; result.ids.size() % rows; result.weights.push_back(0))
        result.ids.push_back(shape.topk << 24 | shape.tokens);
      result.experts.resize(result.ids.size() / rows, expert);
    }
    result.valid = {static_cast<uint32_t>(result.ids.size()), shape.tokens};
    // What the host allocates for any choice; the rest is nobody's.
    const size_t most = shape.tokens * shape.topk + shape.experts * rows - shape.topk;
    result.ids.resize(most, shape.topk << 24 | shape.tokens);
    result.weights.resize(most);
    result.experts.resize((most + rows - 1) / rows);
    return result;
  }

  // The values where a page and the allocation end, so that nothing beyond them is anybody's; or
  // `spare` bytes before.
  template <typename T> uint64_t at_end(const std::vector<T> &values, size_t spare = 0)
  {
    const size_t size = values.size() * sizeof(T) + spare, whole = (size + 4095) / 4096 * 4096;
    rawhal_buffer_t *made = buffer(whole);
    EXPECT_OK(rawhal_buffer_write(made, whole - size, values.data(), size - spare, &error));
    return rawhal_buffer_address(made) + whole - size;
  }

  struct Problem {
    Shape shape;
    Matrix x, gu, d;
    Sorted sorted;
  };
  Problem problem(const Shape &shape)
  {
    const uint32_t e = shape.experts;
    return {shape, matrix(shape.tokens, 1, shape.dim),
            matrix(size_t(e) * 2 * shape.inter, block, shape.dim),
            matrix(size_t(e) * shape.dim, block, shape.inter), sorted(shape)};
  }

  // `gq_spare`, `dq_spare`: bytes that follow the scales.
  Arguments arguments_of(const rawhal_device_kernel_t *kernel, const Problem &data,
                         size_t gq_spare = 0, size_t dq_spare = 0)
  {
    const auto [tokens, dim, inter, experts, topk, tile] = data.shape;
    std::vector<float> x_scales(data.x.scales.size()); // of a block, all tokens' together
    for (uint32_t i = 0; i < tokens; ++i)
      for (uint32_t at = 0; at < dim / block; ++at)
        x_scales[at * tokens + i] = data.x.scales[i * (dim / block) + at];
    Arguments arguments(kernel);
    arguments.set("X", at_end(data.x.codes)).set("XQ", at_end(x_scales));
    arguments.set("G", at_end(ordered(data.gu, 2 * inter, dim)))
        .set("GQ", at_end(data.gu.scales, gq_spare));
    arguments.set("D", at_end(ordered(data.d, dim, inter)))
        .set("DQ", at_end(data.d.scales, dq_spare));
    arguments.set("U", at_end(data.sorted.valid)).set("STP", at_end(data.sorted.ids));
    arguments.set("SW", at_end(data.sorted.weights)).set("SEP", at_end(data.sorted.experts));
    arguments.set("SMQ", uint64_t{0}).set("dim", dim).set("hdim", inter).set("batch", tokens);
    arguments.set("eprt", experts).set("Xs", dim).set("GUs", dim).set("Ds", inter);
    arguments.set("Os", dim * 2).set("eGUs", 2 * inter * dim).set("eDs", dim * inter);
    arguments.set("eGUQs", 2 * inter / block * (dim / block) * 4);
    arguments.set("eDQs", dim / block * (inter / block) * 4).set("eSMQs", inter * 4);
    arguments.set("topk", topk);
    for (const char *persistent : {"_s_total_tgs", "total_tgs"})
      arguments.set_if_there(persistent, 0u);
    for (const char *tiles : {"_s_deno_tgs", "ps_deno"})
      arguments.set_if_there(tiles, inter / tile);
    return arguments.set_if_there("a2", uint64_t{0}).set_if_there("a2q", uint64_t{0});
  }

  // What a token's expert adds to its row, and how far a kernel may be from it.
  void add_expert(const Problem &data, uint32_t token, uint32_t expert, float weight,
                  std::vector<double> &out, std::vector<double> &error)
  {
    const auto [tokens, dim, inter, experts, topk, tile] = data.shape;
    const uint32_t blocks = dim / block;
    std::vector<double> sums(2 * inter);
    for (uint32_t row = 0; row < 2 * inter; ++row)
      for (uint32_t at = 0; at < dim; ++at)
        sums[row] +=
            value(data.x.codes[token * dim + at]) *
            value(data.gu.codes[(size_t(expert) * 2 * inter + row) * dim + at]) *
            data.x.scales[token * blocks + at / block] *
            data.gu.scales[(expert * 2 * inter / block + row / block) * blocks + at / block];
    std::vector<double> between(inter), most(inter / block);
    for (uint32_t i = 0; i < inter; ++i) {
      between[i] = sums[i] / (1 + std::exp(-sums[i])) * sums[inter + i];
      most[i / block] = std::max(most[i / block], std::fabs(between[i]));
    }
    for (uint32_t row = 0; row < dim; ++row)
      for (uint32_t i = 0; i < inter; ++i) {
        const double factor =
            weight * value(data.d.codes[(size_t(expert) * dim + row) * inter + i]) *
            data.d.scales[(expert * blocks + row / block) * (inter / block) + i / block];
        out[row] += factor * between[i];
        // Of eight bits: half a unit of the last place, or half the smallest number.
        error[row] += std::fabs(factor) * (std::fabs(between[i]) * (0x1p-4 + 0x1p-10) +
                                           most[i / block] * (0x1p-10 / 448));
      }
  }

  static double value(uint8_t code) { return from_fp8(code, !is_gfx950()); }

  void expect_layer(const rawhal_device_kernel_t *kernel, const Shape &shape)
  {
    const Problem data = problem(shape);
    const size_t count = size_t(shape.tokens) * shape.dim;
    const uint64_t out = at_end(std::vector<uint16_t>(count));
    rawhal_buffer_t *out_buffer = buffers.back();
    Arguments arguments = arguments_of(kernel, data);
    arguments.set("O", out);
    const uint32_t groups = static_cast<uint32_t>(data.sorted.experts.size());
    if (!launch(arguments, {shape.inter / shape.tile, groups}))
      return;
    const size_t before = (out - rawhal_buffer_address(out_buffer)) / 2;
    auto got = download<uint16_t>(out_buffer, before + count);
    got.erase(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(before));
    std::vector<std::vector<double>> right(shape.tokens, std::vector<double>(shape.dim)),
        errors = right;
    for (uint32_t i = 0; i < data.sorted.valid[0]; ++i) {
      const uint32_t token = data.sorted.ids[i] & 0xffffff;
      if (token < shape.tokens)
        add_expert(data, token, data.sorted.experts[i / rows], data.sorted.weights[i], right[token],
                   errors[token]);
    }
    // Each tile's and expert's part is a bfloat, and is added as one.
    const double adds = shape.topk * (shape.inter / shape.tile) + 1;
    for (size_t i = 0; i < count; ++i) {
      const double exact = right[i / shape.dim][i % shape.dim];
      const double error = errors[i / shape.dim][i % shape.dim];
      expect(from_bfloat(got[i]), exact,
             error + adds * 2 * bfloat_unit * (std::fabs(exact) + 8 * error), i);
    }
  }

  std::mt19937 random{31};
};

// `dim` is a multiple of 512: the kernels put columns out in pairs of 256 and have one end for even
// and odd numbers of 256, which is that of even ones, so that of an odd one the last two come out
// wrong. (What they do with 256 alone they ask for.)
TEST_P(Fmoe, Blockscale)
{
  const Shape shapes[] = {{5, 512, 1, 3, 2, 0}, {40, 512, 1, 4, 2, 0}, {5, 1024, 2, 3, 2, 0}};
  for (uint32_t tile : {256u, 384u})
    for (const char *skips : {"vs", "novs"}) {
      const std::string object = std::string("fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_") + skips +
                                 (tile == 256 ? "_silu_1tg_32x" : "_silu_32x") +
                                 std::to_string(tile) + ".co";
      for (Shape shape : shapes)
        if (const rawhal_device_kernel_t *kernel = kernel_of(object)) {
          shape.inter *= shape.tile = tile;
          begin(object + ", " + std::to_string(shape.tokens) + " tokens, " +
                std::to_string(shape.dim) + " by " + std::to_string(shape.inter));
          expect_layer(kernel, shape);
          end();
        }
    }
  summary("fmoe");
}

// The project's issue 3471, by the object that was shipped from December 2025 (commit 92869e47) to
// June 2026, which is to be put into folder 2025: a tile of 384 columns has 3 scales where the
// kernel reads 4, those of the last one of the last expert beyond the end.
TEST_P(Fmoe, ReadsBeyondScales)
{
  const auto bytes = aiter_object(std::string("2025/") + chip() +
                                  "/fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_32x384.co");
  if (bytes.empty())
    GTEST_SKIP() << chip() << ": not the object of 2025";
  const rawhal_device_kernel_t *kernel = kernel_in(bytes);
  ASSERT_NE(kernel, nullptr);
  // The second one has the matrices, of fewer experts.
  for (const Shape &shape : {Shape{5, 512, 384, 3, 2, 384}, Shape{5, 3072, 1536, 2, 2, 384}}) {
    const Problem data = problem(shape);
    const Groups groups = {shape.inter / shape.tile,
                           static_cast<uint32_t>(data.sorted.experts.size())};
    const size_t gq_row = shape.dim / block * sizeof(float), dq_one = sizeof(float);
    const struct {
      size_t gq_spare, dq_spare; // bytes that somebody has beyond the end
      const char *report;        // or NULL
    } runs[] = {{0, dq_one, "buffer_load_dword v23, v12, s[32:35], 0 offen"},
                {gq_row, 0, "buffer_load_dword v23, v5, s[16:19], 0 offen"},
                {gq_row, dq_one, nullptr}};
    for (const auto &run : runs) {
      Arguments arguments = arguments_of(kernel, data, run.gq_spare, run.dq_spare);
      arguments.set("O", at_end(std::vector<uint16_t>(size_t(shape.tokens) * shape.dim)));
      const rawhal_status_t status = run_groups(arguments, groups);
      EXPECT_EQ(status == RAWHAL_OK, run.report == nullptr) << error.message;
      EXPECT_TRUE(!run.report || strstr(error.message, run.report)) << error.message;
    }
  }
}

AITER_CHIPS(Fmoe);

class FmoeRaces : public Fmoe {
protected:
  bool checks_races() const override { return true; }
};

TEST_P(FmoeRaces, Maxima)
{
  const rawhal_device_kernel_t *kernel =
      kernel_of("fmoe/silu/fmoe_bf16_blockscaleFp8_g1u1_vs_silu_32x384.co");
  if (!kernel)
    GTEST_SKIP() << chip() << ": no such object";
  const Problem data = problem({5, 512, 384, 3, 2, 384});
  Arguments arguments = arguments_of(kernel, data);
  arguments.set("O", upload(std::vector<uint16_t>(5 * 512)));
  EXPECT_NE(run_groups(arguments, {1, static_cast<uint32_t>(data.sorted.experts.size())}),
            RAWHAL_OK);
  EXPECT_TRUE(strstr(error.message, "race in LDS")) << error.message;
}

AITER_CHIPS(FmoeRaces);

} // namespace
