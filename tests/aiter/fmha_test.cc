// Attention, forward: many queries to many keys, of several sequences and heads.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/attention.h"

namespace {

struct Variant {
  uint32_t d, tile;     // elements of q and k; queries of a work-group
  std::string rounding; // of p and of the result
  bool causal, group;   // group: sequences of several lengths, one after the other
};

class Fmha : public AiterTest {
protected:
  static constexpr uint32_t dv = 128, heads = 4, kv_heads = 2;

  // Sequences; of each [row][head][element].
  struct Problem {
    std::vector<uint32_t> q_start, k_start; // and the end of the last
    std::vector<uint16_t> q, k, v;
    uint32_t rows() const { return q_start.back(); }
    uint32_t count() const { return static_cast<uint32_t>(q_start.size() - 1); }
  };
  Problem problem(const Variant &variant)
  {
    Problem result;
    if (variant.group)
      result = {{0, 35, 36, 176}, {0, 35, 100, 240}, {}, {}, {}};
    else
      result = {{0, 270, 540}, {0, 291, 582}, {}, {}, {}};
    result.q = bfloats(random, result.rows() * heads * variant.d);
    result.k = bfloats(random, result.k_start.back() * kv_heads * variant.d);
    result.v = bfloats(random, result.k_start.back() * kv_heads * dv);
    return result;
  }

  Arguments arguments_of(const rawhal_device_kernel_t *kernel, const Variant &variant,
                         const Problem &data)
  {
    const uint32_t d = variant.d, q_pitch = heads * d * 2, k_pitch = kv_heads * d * 2,
                   v_pitch = kv_heads * dv * 2, o_pitch = heads * dv * 2;
    const uint32_t q_rows = variant.group ? data.rows() : data.q_start[1];
    const uint32_t k_rows = variant.group ? data.k_start.back() : data.k_start[1];
    Arguments arguments(kernel);
    arguments.set("Q", upload(data.q)).set("K", upload(data.k)).set("V", upload(data.v));
    arguments.set("scalar", static_cast<float>(1 / std::sqrt(d)));
    arguments.set("seq_len", q_rows).set("kv_seq_len", k_rows);
    arguments.set("Seqs", q_pitch).set("Ts", variant.tile * q_pitch).set("Hs", d * 2);
    arguments.set("k_Seqs", k_pitch).set("k_Hs", d * 2);
    arguments.set("v_Seqs", v_pitch).set("v_Hs", dv * 2);
    arguments.set("r_Seqs", o_pitch).set("r_Hs", dv * 2);
    arguments.set("Bs", variant.group ? 0u : q_rows * q_pitch);
    arguments.set("k_Bs", variant.group ? 0u : k_rows * k_pitch);
    arguments.set("v_Bs", variant.group ? 0u : k_rows * v_pitch);
    arguments.set("r_Bs", variant.group ? 0u : q_rows * o_pitch);
    arguments.set("gqa", heads / kv_heads).set("q_head_num", heads);
    arguments.set("qk_head_dim", d).set("v_head_dim", dv).set("lse", 1u).set("lse_Hs", q_rows * 4);
    // In what order work-groups take tiles: as the host code chooses it for so few heads.
    arguments.set("msk_opt", d == 192 && !is_gfx950() ? 0u : variant.causal ? 3u : 5u);
    const uint64_t nothing = 0;
    for (const char *each : {"ptr_qseq", "ptr_qseq_padding"})
      arguments.set(each, variant.group ? rawhal_buffer_address(upload(data.q_start)) : nothing);
    for (const char *each : {"ptr_kseq", "ptr_kseq_padding"})
      arguments.set(each, variant.group ? rawhal_buffer_address(upload(data.k_start)) : nothing);
    return arguments;
  }

  static Groups groups_of(const Variant &variant, const Problem &data)
  {
    const uint32_t rows = variant.group ? data.rows() : data.q_start[1];
    const uint32_t tiles = (rows + variant.tile - 1) / variant.tile, count = data.count();
    const bool heads_first = variant.d == 192 && !is_gfx950();
    const bool pairs = variant.causal && !heads_first; // of tiles, a short and a long one
    const uint32_t parts = pairs ? (tiles + 1) / 2 : tiles;
    if (variant.group)
      return {heads, count, parts};
    return heads_first ? Groups{heads, parts, count} : Groups{parts, heads, count};
  }

  void expect_attention(const rawhal_device_kernel_t *kernel, const Variant &variant)
  {
    const Problem data = problem(variant);
    const uint32_t d = variant.d, rows = data.rows();
    const std::vector<uint16_t> never(rows * heads * dv, 0x7fc1);
    rawhal_buffer_t *out = upload(never), *lse = upload(std::vector<float>(rows * heads, -99.0f));
    Arguments arguments = arguments_of(kernel, variant, data);
    arguments.set("R", out).set("LSE", lse);
    if (!launch(arguments, groups_of(variant, data)))
      return;
    const auto got = download<uint16_t>(out, never.size());
    const auto got_lse = download<float>(lse, rows * heads);
    const auto q = from_bfloats(data.q), k = from_bfloats(data.k), v = from_bfloats(data.v);
    const double unit = variant.rounding == "rtz" ? 2 * bfloat_unit : bfloat_unit;
    for (uint32_t sequence = 0; sequence < data.count(); ++sequence)
      for (uint32_t row = data.q_start[sequence]; row < data.q_start[sequence + 1]; ++row)
        for (uint32_t head = 0; head < heads; ++head) {
          const uint32_t first = data.k_start[sequence], kv = head / (heads / kv_heads);
          uint32_t keys = data.k_start[sequence + 1] - first;
          if (variant.causal) // the last query sees all keys
            keys -= data.q_start[sequence + 1] - 1 - row;
          const double *query = &q[(row * heads + head) * d];
          const Attention exact = attention(
              {query, query + d}, keys, dv, 1 / std::sqrt(d),
              [&](size_t i) { return &k[((first + i) * kv_heads + kv) * d]; },
              [&](size_t i) { return &v[((first + i) * kv_heads + kv) * dv]; });
          for (uint32_t at = 0; at < dv; ++at)
            expect(from_bfloat(got[(row * heads + head) * dv + at]), exact.out[at],
                   tolerance(exact, at, keys, unit, unit), (row * heads + head) * dv + at);
          const uint32_t q_rows = variant.group ? rows : data.q_start[1];
          const uint32_t at =
              variant.group ? head * rows + row
                            : (sequence * heads + head) * q_rows + row - data.q_start[sequence];
          expect(got_lse[at], exact.lse,
                 exact.error + float_unit * (keys + 8 + 4 * std::fabs(exact.lse)), at);
        }
  }

  void expect_object(const std::string &object, const Variant &variant)
  {
    const rawhal_device_kernel_t *kernel = kernel_of("fmha_v3_fwd/" + object);
    if (!kernel)
      return;
    begin(object);
    expect_attention(kernel, variant);
    end();
  }

  static std::string object_950(uint32_t d, bool causal, bool group)
  {
    return std::string(d == 192 ? "fwd_hd192_hd128_bf16" : "fwd_hd128_bf16") +
           (causal ? "_causal" : "") + (group ? "_group.co" : ".co");
  }

  void expect_all(uint32_t d, uint32_t tile, bool causal, bool group)
  {
    const std::string middle = causal ? "_causal" : "", end = group ? "_group.co" : ".co";
    if (is_gfx950())
      return expect_object(object_950(d, causal, group), {d, tile, "rtne", causal, group});
    const std::string sizes = d == 192 ? "192x128" : "128";
    for (const char *chip : {"MI300", "MI308"})
      for (const char *rounding : {"rtne", "rtna", "rtz"})
        expect_object(std::string(chip) + "/fwd_hd" + sizes + "_bf16" + middle + '_' + rounding +
                          end,
                      {d, tile, rounding, causal, group});
  }

  std::mt19937 random{19};
};

TEST_P(Fmha, Bfloats)
{
  for (bool causal : {false, true})
    for (bool group : {false, true}) {
      expect_all(128, 256, causal, group);
      expect_all(192, 128, causal, group);
    }
  summary("fmha_v3_fwd");
}

AITER_CHIPS(Fmha);

class FmhaRaces : public Fmha {
protected:
  bool checks_races() const override { return true; }
};

// Five of the kernels for gfx950 load into LDS what comes next over what another wave may not have
// read yet, and rely on memory being slower than that wave: without the check they are right.
TEST_P(FmhaRaces, LoadsIntoLds)
{
  size_t tested = 0;
  for (uint32_t d : {128u, 192u})
    for (bool causal : {false, true})
      for (bool group : {false, true}) {
        const Variant variant = {d, d == 128 ? 256u : 128u, "rtne", causal, group};
        const std::string object = object_950(d, causal, group);
        const rawhal_device_kernel_t *kernel =
            is_gfx950() ? kernel_of("fmha_v3_fwd/" + object) : nullptr;
        if (!kernel)
          continue;
        const Problem data = problem(variant);
        Arguments arguments = arguments_of(kernel, variant, data);
        arguments.set("R", upload(std::vector<uint16_t>(data.rows() * heads * dv)))
            .set("LSE", upload(std::vector<float>(data.rows() * heads)));
        const bool races = d == 192 || (causal && !group);
        EXPECT_EQ(run_groups(arguments, groups_of(variant, data)) != RAWHAL_OK, races) << object;
        EXPECT_TRUE(!races || strstr(error.message, "race in LDS")) << error.message;
        ++tested;
      }
  if (!tested)
    GTEST_SKIP() << chip() << ": no such object";
}

AITER_CHIPS(FmhaRaces);

} // namespace
