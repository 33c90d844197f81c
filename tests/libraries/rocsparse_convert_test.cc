// rocSPARSE's conversions between formats.
#include "tests/libraries/sparse.h"

namespace {

enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };

constexpr int M = 217, N = 150;

class RocsparseOffsets : public Rocsparse {
protected:
  const Csr<float> a = sparse_matrix<float>(M, N, 51);
};

TEST_F(RocsparseOffsets, Csr2coo)
{
  auto offsets = device(a.offsets);
  for (int lanes : {2, 16, 64}) {
    auto rows = device<int>(a.values.size());
    run("csr2coo_kernel<512u, " + std::to_string(lanes) + "u, int, int>",
        groups_for(M * lanes, 512), {512}, M, offsets, rows, 0);
    EXPECT_EQ(a.row_indices(), rows.read()) << lanes;
  }
}

TEST_F(RocsparseOffsets, Coo2csr)
{
  auto rows = device(a.row_indices()), offsets = device<int>(M + 1);
  run("coo2csr_kernel<512u, int, int>", groups_for(M + 1, 512), {512}, M, a.count(), rows, offsets,
      0);
  EXPECT_EQ(a.offsets, offsets.read());
}

TEST_F(RocsparseOffsets, Identity)
{
  std::vector<int> expected(1000);
  for (int i = 0; i < 1000; ++i)
    expected[i] = i;
  auto p = device<int>(1000);
  run("identity_kernel<512u, int>", groups_for(1000, 512), {512}, 1000, p);
  EXPECT_EQ(expected, p.read());
}

TEST_F(RocsparseOffsets, EllWidthInTwoParts)
{
  int expected = 0;
  for (int row = 0; row < M; ++row)
    expected = std::max(expected, a.offsets[row + 1] - a.offsets[row]);
  auto offsets = device(a.offsets), partial = device<int>(256);
  run("ell_width_kernel_part1<256u>", {256}, {256}, M, offsets, partial);
  run("ell_width_kernel_part2<256u>", {1}, {256}, 256, partial);
  EXPECT_EQ(expected, partial.read()[0]);
  auto most = device(std::vector<int>{0});
  run("csr_max_nnz_per_row<256u, int>", groups_for(M, 256), {256}, M, offsets, most);
  EXPECT_EQ(std::vector<int>{expected}, most.read());
}

template <typename T> class RocsparseConvert : public RocsparseTyped<T> {
protected:
  std::vector<T> dense() const
  {
    std::vector<T> result(M * N, 0);
    for (int row = 0; row < M; ++row)
      for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j)
        result[a.indices[j] * M + row] = a.values[j];
    return result;
  }
  const Csr<T> a = sparse_matrix<T>(M, N, 61);
};
TYPED_TEST_SUITE(RocsparseConvert, FloatTypes);

TYPED_TEST(RocsparseConvert, Csr2cscPermutes)
{
  using T = TypeParam;
  const int count = this->a.count();
  std::vector<int> map(static_cast<size_t>(count)), expected_indices;
  for (int i = 0; i < count; ++i)
    map[i] = i;
  std::shuffle(map.begin(), map.end(), std::mt19937(62));
  std::vector<T> expected_values;
  for (int place : map) {
    expected_indices.push_back(this->a.indices[place]);
    expected_values.push_back(this->a.values[place]);
  }
  auto indices = this->device(this->a.indices), order = this->device(map);
  auto values = this->device(this->a.values), out_values = this->template device<T>(count);
  auto out_indices = this->template device<int>(count);
  this->run("csr2csc_permute_kernel<512u, T>", groups_for(count, 512), {512}, count, indices,
            values, order, out_indices, out_values);
  EXPECT_EQ(expected_indices, out_indices.read());
  EXPECT_EQ(expected_values, out_values.read());
}

TYPED_TEST(RocsparseConvert, Csr2dense)
{
  using T = TypeParam;
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), dense = this->device(std::vector<T>(M * N, 0));
  this->run("csr2dense_kernel<16, 64, int, int, T>", groups_for(M, 16), {16 * 64}, 0, M, N, values,
            offsets, indices, dense, M, int(COLUMN_MAJOR));
  EXPECT_EQ(this->dense(), dense.read());
}

TYPED_TEST(RocsparseConvert, Csc2denseIsTheTransposedMatrix)
{
  using T = TypeParam;
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), dense = this->device(std::vector<T>(M * N, 0));
  // Rows read as columns: a matrix of N rows and M columns, row-major.
  this->run("csc2dense_kernel<16, 64, int, int, T>", groups_for(M, 16), {16 * 64}, 0, N, M, values,
            offsets, indices, dense, M, int(ROW_MAJOR));
  EXPECT_EQ(this->dense(), dense.read());
}

TYPED_TEST(RocsparseConvert, Coo2dense)
{
  using T = TypeParam;
  auto rows = this->device(this->a.row_indices()), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), dense = this->device(std::vector<T>(M * N, 0));
  const int count = this->a.count();
  this->run("coo2dense_kernel<512u, int, T>", groups_for(count, 512), {512}, M, N, count, M, 0,
            values, rows, indices, dense, int(COLUMN_MAJOR));
  EXPECT_EQ(this->dense(), dense.read());
}

TYPED_TEST(RocsparseConvert, CountsNonzerosOfColumns)
{
  std::vector<int> expected(N, 0);
  for (int column : this->a.indices)
    ++expected[column];
  auto dense = this->device(this->dense());
  auto counts = this->template device<int>(N);
  this->run("nnz_kernel_col<256, int, int, T>", {N}, {256}, int(COLUMN_MAJOR), M, N, dense, M,
            counts);
  EXPECT_EQ(expected, counts.read());
}

TYPED_TEST(RocsparseConvert, CountsNonzerosOfRows)
{
  std::vector<int> expected;
  for (int row = 0; row < M; ++row)
    expected.push_back(this->a.offsets[row + 1] - this->a.offsets[row]);
  auto dense = this->device(this->dense());
  auto counts = this->template device<int>(M);
  this->run("nnz_kernel_row<64, 16, int, int, T>", groups_for(M, 256), {64, 16}, int(COLUMN_MAJOR),
            M, N, dense, M, counts);
  EXPECT_EQ(expected, counts.read());
}

TYPED_TEST(RocsparseConvert, ToEllAndBack)
{
  using T = TypeParam;
  int width = 0;
  for (int row = 0; row < M; ++row)
    width = std::max(width, this->a.offsets[row + 1] - this->a.offsets[row]);
  std::vector<int> expected_indices(static_cast<size_t>(width * M), -1);
  std::vector<T> expected_values(static_cast<size_t>(width * M), 0);
  for (int row = 0; row < M; ++row)
    for (int j = this->a.offsets[row]; j < this->a.offsets[row + 1]; ++j) {
      expected_indices[(j - this->a.offsets[row]) * M + row] = this->a.indices[j];
      expected_values[(j - this->a.offsets[row]) * M + row] = this->a.values[j];
    }
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values);
  auto ell_indices = this->template device<int>(expected_indices.size());
  auto ell_values = this->template device<T>(expected_values.size());
  this->run("csr2ell_kernel<512u, T>", groups_for(M, 512), {512}, M, values, offsets, indices, 0,
            width, ell_indices, ell_values, 0);
  EXPECT_EQ(expected_indices, ell_indices.read());
  EXPECT_EQ(expected_values, ell_values.read());

  auto back_indices = this->template device<int>(this->a.indices.size());
  auto back_values = this->template device<T>(this->a.values.size());
  this->run("ell2csr_fill<256u, T>", groups_for(M, 256), {256}, M, N, width, ell_indices,
            ell_values, 0, offsets, back_indices, back_values, 0);
  EXPECT_EQ(this->a.indices, back_indices.read());
  EXPECT_EQ(this->a.values, back_values.read());
}

} // namespace
