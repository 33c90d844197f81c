// rocSPARSE, level 2: sparse matrix times vector, in each format.
#include "tests/libraries/sparse.h"

namespace {

constexpr int M = 333, N = 271;

template <typename T> class RocsparseSpmv : public RocsparseTyped<T> {
protected:
  const Csr<T> a = sparse_matrix<T>(M, N, 5);
  const std::vector<T> x = small_vector<T>(N, 6), y = small_vector<T>(M, 7);
  const std::vector<T> tall = small_vector<T>(M, 8), wide = small_vector<T>(N, 9);
};
TYPED_TEST_SUITE(RocsparseSpmv, FloatTypes);

TYPED_TEST(RocsparseSpmv, CsrGeneralInWavefrontsOfEverySize)
{
  using T = TypeParam;
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), x = this->device(this->x);
  const std::vector<T> expected = multiply<T>(this->a, this->x, 3, -2, this->y);
  for (int lanes : {2, 4, 8, 16, 32, 64}) {
    auto y = this->device(this->y);
    this->run("csrmvn_general_kernel<512u, " + std::to_string(lanes) + "u, int, int, T, T>",
              groups_for(M * lanes, 512), {512}, false, M, T(3), offsets, indices, values, x, T(-2),
              y, 0);
    EXPECT_EQ(expected, y.read()) << lanes;
  }
}

TYPED_TEST(RocsparseSpmv, CsrTransposedWithAtomics)
{
  using T = TypeParam;
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), x = this->device(this->tall);
  auto y = this->device(this->wide);
  this->run("csrmvt_general_kernel<256u, 16u, int, int, T, T>", groups_for(M * 16, 256), {256},
            false, M, T(3), offsets, indices, values, x, y, 0);
  EXPECT_EQ(multiply_transposed<T>(this->a, this->tall, 3, this->wide), y.read());
}

TYPED_TEST(RocsparseSpmv, CooAtomic)
{
  using T = TypeParam;
  auto rows = this->device(this->a.row_indices()), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), x = this->device(this->x), y = this->device(this->y);
  const int count = this->a.count();
  this->run("coomvn_atomic_loops<256u, 1u, int, T, T>", groups_for(count, 256), {256}, count, T(3),
            rows, indices, values, x, y, 0);
  EXPECT_EQ(multiply<T>(this->a, this->x, 3, 1, this->y), y.read());
}

TYPED_TEST(RocsparseSpmv, CooSegmentedAndItsReduction)
{
  using T = TypeParam;
  auto rows = this->device(this->a.row_indices()), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), x = this->device(this->x), y = this->device(this->y);
  const int count = this->a.count(), loops = 3;
  Extent groups = groups_for(count, 256 * loops);
  const int blocks = static_cast<int>(groups.x);
  auto carried_rows = this->template device<int>(groups.x);
  auto carried = this->template device<T>(groups.x);
  this->run("coomvn_segmented_loops<256u, int, T, T>", groups, {256}, count, loops, T(3), rows,
            indices, values, x, y, carried_rows, carried, 0);
  this->run("coomvn_segmented_loops_reduce<256u, int, T, T>", {1}, {256}, blocks, T(3),
            carried_rows, carried, y);
  EXPECT_EQ(multiply<T>(this->a, this->x, 3, 1, this->y), y.read());
}

TYPED_TEST(RocsparseSpmv, CooTransposed)
{
  using T = TypeParam;
  auto rows = this->device(this->a.row_indices()), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), x = this->device(this->tall);
  auto y = this->device(this->wide);
  const int count = this->a.count(), transpose = 112;
  this->run("coomvt_kernel<1024u, int, T, T>", groups_for(count, 1024), {1024}, transpose, count,
            T(3), rows, indices, values, x, y, 0);
  EXPECT_EQ(multiply_transposed<T>(this->a, this->tall, 3, this->wide), y.read());
}

// Column-major rows of equal width, padded with column -1.
template <typename T> struct Ell {
  explicit Ell(const Csr<T> &a)
  {
    for (int row = 0; row < a.rows; ++row)
      width = std::max(width, a.offsets[row + 1] - a.offsets[row]);
    indices.assign(static_cast<size_t>(width * a.rows), -1);
    values.assign(static_cast<size_t>(width * a.rows), 0);
    for (int row = 0; row < a.rows; ++row)
      for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j) {
        int at = (j - a.offsets[row]) * a.rows + row;
        indices[at] = a.indices[j];
        values[at] = a.values[j];
      }
  }
  int width = 0;
  std::vector<int> indices;
  std::vector<T> values;
};

TYPED_TEST(RocsparseSpmv, Ell)
{
  using T = TypeParam;
  const Ell<T> ell(this->a);
  auto indices = this->device(ell.indices);
  auto values = this->device(ell.values), x = this->device(this->x), y = this->device(this->y);
  this->run("ellmvn_kernel<512u, int, T, T>", groups_for(M, 512), {512}, M, N, ell.width, T(3),
            indices, values, x, T(-2), y, 0);
  EXPECT_EQ(multiply<T>(this->a, this->x, 3, -2, this->y), y.read());
}

TYPED_TEST(RocsparseSpmv, EllTransposed)
{
  using T = TypeParam;
  const Ell<T> ell(this->a);
  auto indices = this->device(ell.indices);
  auto values = this->device(ell.values), x = this->device(this->tall);
  auto y = this->device(this->wide);
  this->run("ellmvt_kernel<1024u, int, T, T>", groups_for(M, 1024), {1024}, 112, M, N, ell.width,
            T(3), indices, values, x, y, 0);
  EXPECT_EQ(multiply_transposed<T>(this->a, this->tall, 3, this->wide), y.read());
}

TYPED_TEST(RocsparseSpmv, GeneralBlocks)
{
  using T = TypeParam;
  const int rows = 3, columns = 5; // of a block
  const std::vector<T> values = small_vector<T>(this->a.values.size() * rows * columns, 10);
  const std::vector<T> x = small_vector<T>(N * columns, 11), y = small_vector<T>(M * rows, 12);
  std::vector<T> expected(y);
  for (int row = 0; row < M; ++row)
    for (int i = 0; i < rows; ++i) {
      T sum = 0;
      for (int j = this->a.offsets[row]; j < this->a.offsets[row + 1]; ++j)
        for (int k = 0; k < columns; ++k)
          sum += values[(j * rows + i) * columns + k] * x[this->a.indices[j] * columns + k];
      expected[row * rows + i] = 3 * sum - 2 * y[row * rows + i];
    }
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto device_values = this->device(values), device_x = this->device(x), device_y = this->device(y);
  this->run("gebsrmvn_general_kernel<32u, 32u, T, T>", {M}, {32}, M, 0, T(3), offsets, indices,
            device_values, rows, columns, device_x, T(-2), device_y, 0);
  EXPECT_EQ(expected, device_y.read());
}

} // namespace
