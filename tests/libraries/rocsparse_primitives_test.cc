// The primitives inside of rocSPARSE: rocPRIM's scans, reductions and radix sorts.
#include <algorithm>
#include <numeric>

#include "tests/libraries/sparse.h"

namespace {

// Classes without members still occupy a byte of the kernarg segment.
struct Empty {
  uint8_t byte = 0;
};

const std::string prim = "rocprim::detail::";

std::vector<int> numbers(size_t count, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<int> result(count);
  for (int &value : result)
    value = static_cast<int>(random());
  return result;
}

std::vector<int> sums(const std::vector<int> &values, bool exclusive, int initial)
{
  std::vector<int> result;
  uint32_t sum = exclusive ? static_cast<uint32_t>(initial) : 0;
  for (int value : values) {
    if (exclusive)
      result.push_back(static_cast<int>(sum));
    sum += static_cast<uint32_t>(value);
    if (!exclusive)
      result.push_back(static_cast<int>(sum));
  }
  return result;
}

class Rocprim : public Rocsparse {};

TEST_F(Rocprim, ScanInOneWorkGroup)
{
  const std::vector<int> values = numbers(3001, 81);
  auto in = device(values), out = device<int>(values.size());
  for (bool exclusive : {false, true}) {
    run(prim + "single_scan_kernel<" + (exclusive ? "true" : "false") +
            ", rocprim::detail::default_scan_config<0u, int>, int*, int*, rocprim::plus<int>, int>",
        {1}, {256}, in, values.size(), 17, out, Empty());
    EXPECT_EQ(sums(values, exclusive, 17), out.read()) << exclusive;
  }
}

// Each work-group waits for the prefix that the one before it publishes.
TEST_F(Rocprim, ScanThatLooksBackAtOtherWorkGroups)
{
  const uint32_t items = 256 * 16, blocks = 7;
  const std::vector<int> values = numbers(items * (blocks - 1) + 77, 82);
  const std::string state = "rocprim::detail::lookback_scan_state<int, false, true> >";
  auto in = device(values), out = device<int>(values.size());
  auto prefixes = device<uint64_t>(1024);
  auto next_block = device<uint32_t>(1);
  run(prim + "init_lookback_scan_state_kernel<" + state, {1}, {256}, prefixes, blocks, next_block,
      uint32_t(0), uint64_t(0));
  run(prim +
          "lookback_scan_kernel<false, rocprim::detail::default_scan_config<0u, int>, int*, int*, "
          "rocprim::plus<int>, int, " +
          state,
      {blocks}, {256}, in, out, values.size(), 0, Empty(), prefixes, blocks, next_block,
      uint64_t(0), uint64_t(0), false, false);
  EXPECT_EQ(sums(values, false, 0), out.read());
}

TEST_F(Rocprim, ReducesWorkGroups)
{
  const std::vector<int> values = numbers(1000, 83);
  auto in = device(values), out = device<int>(1);
  run(prim + "block_reduce_kernel<false, rocprim::detail::default_reduce_config<0u, int>, int, "
             "int*, int*, int, rocprim::maximum<int> >",
      {1}, {256}, in, values.size(), out, 0, Empty());
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), out.read()[0]);
}

// Keys with their values, by all 32 bits, in one work-group.
TEST_F(Rocprim, SortsPairsInOneWorkGroup)
{
  for (auto [threads, each, count] : {std::tuple(1024u, 1u, 900u), {256u, 4u, 1001u}}) {
    std::vector<int> keys = numbers(count, 84), values(count), order(count);
    std::iota(values.begin(), values.end(), 5);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < count; i += 3)
      keys[i] %= 16; // equal ones keep their order
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    std::vector<int> expected_keys, expected_values;
    for (int place : order) {
      expected_keys.push_back(keys[place]);
      expected_values.push_back(values[place]);
    }
    auto keys_in = device(keys), keys_out = device<int>(count);
    auto values_in = device(values), values_out = device<int>(count);
    run(prim + "sort_single_kernel<" + std::to_string(threads) + "u, " + std::to_string(each) +
            "u, false, int*, int*, int*, int*>",
        {1}, {threads}, keys_in, keys_out, values_in, values_out, count, 0u, 32u);
    EXPECT_EQ(expected_keys, keys_out.read()) << threads;
    EXPECT_EQ(expected_values, values_out.read()) << threads;
  }
}

template <typename T> class RocprimFloats : public RocsparseTyped<T> {
};
TYPED_TEST_SUITE(RocprimFloats, FloatTypes);

TYPED_TEST(RocprimFloats, SortsKeys)
{
  using T = TypeParam;
  std::mt19937 random(85);
  std::vector<T> keys(2500);
  for (T &key : keys)
    key = std::ldexp(static_cast<T>(static_cast<int>(random())),
                     static_cast<int>(random() % 60) - 30);
  auto in = this->device(keys), out = this->template device<T>(keys.size());
  this->run(prim + "sort_single_kernel<256u, 10u, false, T*, T*, rocprim::empty_type*, "
                   "rocprim::empty_type*>",
            {1}, {256}, in, out, uint64_t(0), uint64_t(0), static_cast<uint32_t>(keys.size()), 0u,
            static_cast<uint32_t>(8 * sizeof(T)));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, out.read());
}

// Radix sort over several work-groups: six bits a pass, four kernels a pass.
TEST_F(Rocprim, RadixSortOfManyWorkGroups)
{
  const uint32_t items = 256 * 15, blocks = 5, count = items * (blocks - 1) + 123, bits = 6;
  std::vector<int> keys = numbers(count, 86), values(count), order(count);
  std::iota(values.begin(), values.end(), 0);
  std::iota(order.begin(), order.end(), 0);
  for (int &key : keys)
    key &= 0xfff; // two passes do
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  auto keys_a = device(keys), values_a = device(values);
  auto keys_b = device<int>(count), values_b = device<int>(count);
  auto batch_counts = device<uint32_t>(64 * blocks), counts = device<uint32_t>(64);
  for (uint32_t pass = 0; pass < 2; ++pass) {
    auto &keys_in = pass ? keys_b : keys_a, &keys_out = pass ? keys_a : keys_b;
    auto &values_in = pass ? values_b : values_a, &values_out = pass ? values_a : values_b;
    const uint32_t bit = pass * bits;
    run(prim + "fill_digit_counts_kernel<256u, 15u, 6u, false, int*, unsigned int>", {blocks},
        {256}, keys_in, count, batch_counts, bit, bits, 1u, blocks);
    run(prim + "scan_batches_kernel<256u, 2u, 6u, unsigned int>", {64}, {256}, batch_counts, counts,
        blocks);
    run(prim + "scan_digits_kernel<6u, unsigned int>", {1}, {64}, counts);
    run(prim +
            "sort_and_scatter_kernel<256u, 15u, 6u, false, int*, int*, int*, int*, unsigned int>",
        {blocks}, {256}, keys_in, keys_out, values_in, values_out, count, batch_counts, counts, bit,
        bits, 1u, blocks);
  }
  EXPECT_EQ(order, values_a.read());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, keys_a.read());
}

} // namespace
