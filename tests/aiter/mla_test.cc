// Multi-head latent attention, decoding: all heads of a token share keys of 576 elements, the first
// 512 of which are the values too. Sequences are lists of pages; here a page is one token. Most of
// these objects name their arguments after those of paged attention, in the order of mla's.
#include "tests/aiter/aiter_test.h"
#include "tests/aiter/attention.h"

namespace {

class Mla : public AiterTest {
protected:
  static constexpr uint32_t d = 576, dv = 512;

  struct Problem {
    uint32_t heads, queries; // of each sequence
    std::vector<int32_t> start, pages;
    std::vector<uint16_t> q, kv;
    uint32_t count() const { return static_cast<uint32_t>(start.size() - 1); }
  };

  Problem problem(uint32_t heads, uint32_t queries, const std::vector<int32_t> &lengths)
  {
    Problem result = {heads, queries, {0}, {}, {}, {}};
    for (int32_t length : lengths)
      result.start.push_back(result.start.back() + length);
    const uint32_t used = static_cast<uint32_t>(result.start.back()), there = used + 50;
    for (uint32_t i = 0; i < there; ++i)
      result.pages.push_back(static_cast<int32_t>(i));
    std::shuffle(result.pages.begin(), result.pages.end(), random);
    result.pages.resize(used);
    result.q = bfloats(random, result.count() * queries * heads * d);
    result.kv = bfloats(random, there * d);
    return result;
  }

  Arguments arguments_of(const rawhal_device_kernel_t *kernel, const Problem &data, uint32_t splits)
  {
    Arguments arguments(kernel);
    const std::vector<int32_t> last(data.count(), 1); // tokens of a sequence's last page
    arguments.set("K", upload(data.q)).set("V", upload(data.kv));
    arguments.set("BT", upload(data.start)).set("CL", upload(data.pages)).set("KQ", upload(last));
    arguments.set("sclg", scale).set("mblk", data.heads * data.queries).set("batch", splits);
    arguments.set("Qs", data.queries * data.heads * d * 2).set("Bs", d * 2).set("Cs", 0u);
    return arguments;
  }

  Attention exact(const Problem &data, uint32_t sequence, uint32_t query, uint32_t head)
  {
    const size_t at = ((sequence * data.queries + query) * data.heads + head) * d;
    const uint32_t first = static_cast<uint32_t>(data.start[sequence]);
    const auto row = [&](size_t i) { return &kv[static_cast<size_t>(data.pages[first + i]) * d]; };
    return attention({&q[at], &q[at] + d}, keys(data, sequence, query), dv, scale, row, row);
  }
  // The last query sees all keys.
  static uint32_t keys(const Problem &data, uint32_t sequence, uint32_t query)
  {
    return static_cast<uint32_t>(data.start[sequence + 1] - data.start[sequence]) -
           (data.queries - 1 - query);
  }

  // Partial results of one query, as the project's second stage puts them together.
  void expect_sum(const Attention &right, uint32_t count, const float *out, const float *lse,
                  uint32_t pitch, uint32_t keys)
  {
    double most = lse[0], sum = 0;
    for (uint32_t i = 1; i < count; ++i)
      most = std::max<double>(most, lse[i * pitch]);
    for (uint32_t i = 0; i < count; ++i)
      sum += std::exp(lse[i * pitch] - most);
    for (uint32_t at = 0; at < dv; ++at) {
      double got = 0;
      for (uint32_t i = 0; i < count; ++i)
        got += std::exp(lse[i * pitch] - most) / sum * out[i * pitch * dv + at];
      expect(got, right.out[at], tolerance(right, at, keys, bfloat_unit, 4 * float_unit), at);
    }
    expect(most + std::log(sum), right.lse,
           right.error + float_unit * (keys + 8 + 4 * std::fabs(right.lse)), dv);
  }

  const float scale = static_cast<float>(1 / std::sqrt(double(d)));
  std::vector<double> q, kv;
  std::mt19937 random{23};
};

// One query, 16 heads; the keys are split between work-groups.
TEST_P(Mla, Decode)
{
  const std::string object = "mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co";
  const rawhal_device_kernel_t *kernel = kernel_of(object);
  for (uint32_t splits = 1; kernel && splits <= 3; ++splits) {
    begin(object + ", splits " + std::to_string(splits));
    const Problem data = problem(16, 1, {1, 64, 70, 200, 333});
    q = from_bfloats(data.q);
    kv = from_bfloats(data.kv);
    const uint32_t results = data.count() * splits * data.heads;
    rawhal_buffer_t *out = upload(std::vector<float>(results * dv, NAN));
    rawhal_buffer_t *lse = upload(std::vector<float>(results, NAN));
    Arguments arguments = arguments_of(kernel, data, splits);
    arguments.set("O", out).set("Q", lse);
    if (launch(arguments, {1, data.count(), splits})) {
      const auto got = download<float>(out, results * dv);
      const auto got_lse = download<float>(lse, results);
      for (uint32_t sequence = 0; sequence < data.count(); ++sequence)
        for (uint32_t head = 0; head < data.heads; ++head) {
          const uint32_t length = keys(data, sequence, 0);
          const uint32_t count = std::min(splits, (length + 63) / 64); // others write nothing
          const uint32_t at = sequence * splits * data.heads + head;
          expect_sum(exact(data, sequence, 0, head), count, &got[at * dv], &got_lse[at], data.heads,
                     length);
        }
    }
    end();
  }
  summary("mla");
}

// Two queries, 8 heads, and a list of work: work-groups that go on with the next piece when they
// are done with one. What is done in one piece becomes bfloats, the rest partial results.
TEST_P(Mla, DecodeByLists)
{
  const std::string object = "mla/mla_dec_stage1_bf16_a16w16_subQ16_mqa16_ps.co";
  const rawhal_device_kernel_t *kernel = kernel_of(object);
  if (kernel) {
    begin(object);
    const Problem data = problem(8, 2, {2, 75, 200, 130});
    q = from_bfloats(data.q);
    kv = from_bfloats(data.kv);
    // Sequence, where its partial results go, its queries' range, its keys' range, how many follow.
    const std::vector<int32_t> work = {0, -1, 0, 2, 0,   2,   0,   0, 1, -1, 2, 4, 2,   77,  0,  0,
                                       2, 0,  4, 6, 77,  141, 136, 0, 2, 2,  4, 6, 141, 205, 72, 0,
                                       2, 4,  4, 6, 205, 277, 0,   0, 3, -1, 6, 8, 277, 407, 0,  0};
    const std::vector<int32_t> lists = {0, 2, 3, 5, 6};
    const uint32_t rows = data.count() * data.queries, partials = 6;
    rawhal_buffer_t *final_out = upload(std::vector<uint16_t>(rows * data.heads * dv, 0x7fc1));
    rawhal_buffer_t *out = upload(std::vector<float>(partials * data.heads * dv, NAN));
    rawhal_buffer_t *lse = upload(std::vector<float>(partials * data.heads, NAN));
    std::vector<uint64_t> where(10);
    where[0] = rawhal_buffer_address(upload(lists));
    where[1] = rawhal_buffer_address(upload(work));
    Arguments arguments = arguments_of(kernel, data, 1);
    arguments.set("O", out).set("Q", lse).set("RP", final_out).set("ST", upload(where));
    arguments.set("QT", upload(std::vector<int32_t>{0, 2, 4, 6, 8}));
    if (launch(arguments, {4})) {
      const auto got_final = download<uint16_t>(final_out, rows * data.heads * dv);
      const auto got = download<float>(out, partials * data.heads * dv);
      const auto got_lse = download<float>(lse, partials * data.heads);
      for (uint32_t row = 0; row < rows; ++row)
        for (uint32_t head = 0; head < data.heads; ++head) {
          const uint32_t sequence = row / 2, length = keys(data, sequence, row % 2);
          const Attention right = exact(data, sequence, row % 2, head);
          const uint32_t at = row % 2 * data.heads + head;
          if (sequence == 2)
            expect_sum(right, 3, &got[at * dv], &got_lse[at], 2 * data.heads, length);
          for (uint32_t i = 0; sequence != 2 && i < dv; ++i)
            expect(from_bfloat(got_final[(row * data.heads + head) * dv + i]), right.out[i],
                   tolerance(right, i, length, bfloat_unit, bfloat_unit), i);
        }
    }
    end();
  }
  summary("mla");
}

AITER_CHIPS(Mla);

} // namespace
