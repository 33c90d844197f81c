// rocSPARSE's factorisations, tridiagonal solver and dense conversions: divisions and square roots
// on the way, so results are compared within what rounding explains; and complex numbers.
#include <climits>
#include <cmath>

#include "tests/libraries/sparse.h"

namespace {

template <typename T> constexpr double rounding()
{
  return sizeof(T) == 4 ? 1e-5 : 1e-13;
}

template <typename T>
void expect_close(const std::vector<double> &expected, const std::vector<T> &got)
{
  double largest = 0;
  for (double value : expected)
    largest = std::max(largest, std::fabs(value));
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(expected[i], static_cast<double>(got[i]), largest * rounding<T>()) << i;
}

// Symmetric, its diagonal larger than the rest of each row together.
template <typename T> Csr<T> dominant_matrix(int size, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<std::vector<T>> dense(static_cast<size_t>(size), std::vector<T>(size, 0));
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < row; ++column)
      if (random() % 8 == 0)
        dense[row][column] = dense[column][row] = T(1 + static_cast<int>(random() % 5));
  Csr<T> matrix = {size, size, {0}, {}, {}};
  for (int row = 0; row < size; ++row) {
    T sum = 1;
    for (T value : dense[row])
      sum += value;
    dense[row][row] = sum;
    for (int column = 0; column < size; ++column)
      if (dense[row][column] != 0) {
        matrix.indices.push_back(column);
        matrix.values.push_back(dense[row][column]);
      }
    matrix.offsets.push_back(matrix.count());
  }
  return matrix;
}

template <typename T> class RocsparseFactor : public RocsparseTyped<T> {
protected:
  static constexpr int M = 90;
  const Csr<T> a = dominant_matrix<T>(M, 91);
  int find(int row, int column) const // place of an entry, or -1
  {
    for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j)
      if (a.indices[j] == column)
        return j;
    return -1;
  }
  std::vector<int> diagonal() const
  {
    std::vector<int> result;
    for (int row = 0; row < M; ++row)
      result.push_back(find(row, row));
    return result;
  }
  std::vector<int> in_order() const
  {
    std::vector<int> result;
    for (int row = 0; row < M; ++row)
      result.push_back(row);
    return result;
  }
};
TYPED_TEST_SUITE(RocsparseFactor, FloatTypes);

// A wavefront for each row, a hash table of its columns in LDS, and spinning for the rows above.
TYPED_TEST(RocsparseFactor, IncompleteLu)
{
  using T = TypeParam;
  const int M = this->M;
  const Csr<T> &a = this->a;
  std::vector<double> lu(a.values.begin(), a.values.end());
  for (int row = 0; row < M; ++row)
    for (int j = a.offsets[row]; a.indices[j] < row; ++j) {
      const int above = a.indices[j];
      lu[j] /= lu[this->find(above, above)];
      for (int k = this->find(above, above) + 1; k < a.offsets[above + 1]; ++k)
        if (int at = this->find(row, a.indices[k]); at >= 0)
          lu[at] -= lu[j] * lu[k];
    }
  auto offsets = this->device(a.offsets), indices = this->device(a.indices);
  auto diagonal = this->device(this->diagonal()), map = this->device(this->in_order());
  auto done = this->device(std::vector<int>(M, 0)), pivot = this->device(std::vector<int>{INT_MAX});
  auto values = this->device(a.values);
  this->run("csrilu0_hash<256u, 64u, 2u, T, T, T>", groups_for(M * 64, 256), {256}, M, offsets,
            indices, values, diagonal, done, map, pivot, 0, 0, T(0), T(0));
  expect_close(lu, values.read());
  EXPECT_EQ(std::vector<int>{INT_MAX}, pivot.read());
}

TYPED_TEST(RocsparseFactor, IncompleteCholesky)
{
  using T = TypeParam;
  const int M = this->M;
  const Csr<T> &a = this->a;
  std::vector<double> l(a.values.begin(), a.values.end());
  for (int row = 0; row < M; ++row)
    for (int j = a.offsets[row]; j <= this->find(row, row); ++j) {
      const int column = a.indices[j];
      for (int k = a.offsets[row]; a.indices[k] < column; ++k)
        if (int at = this->find(column, a.indices[k]); at >= 0)
          l[j] -= l[k] * l[at];
      l[j] = column == row ? std::sqrt(l[j]) : l[j] / l[this->find(column, column)];
    }
  auto offsets = this->device(a.offsets), indices = this->device(a.indices);
  auto diagonal = this->device(this->diagonal()), map = this->device(this->in_order());
  auto done = this->device(std::vector<int>(M, 0)), pivot = this->device(std::vector<int>{INT_MAX});
  auto values = this->device(a.values);
  this->run("csric0_hash_kernel<256u, 64u, 2u, T>", groups_for(M * 64, 256), {256}, M, offsets,
            indices, values, diagonal, done, map, pivot, 0);
  expect_close(l, values.read());
  EXPECT_EQ(std::vector<int>{INT_MAX}, pivot.read());
}

// Cyclic reduction of tridiagonal systems in LDS, a right-hand side for each work-group.
TYPED_TEST(RocsparseFactor, TridiagonalSystems)
{
  using T = TypeParam;
  const int size = 64, columns = 5;
  std::mt19937 random(92);
  std::vector<T> lower(size), middle(size), upper(size), right(size * columns);
  std::vector<double> solution(size * columns);
  for (int i = 0; i < size; ++i) {
    lower[i] = i ? small_value<T>(random) : T(0);
    upper[i] = i < size - 1 ? small_value<T>(random) : T(0);
    middle[i] = std::fabs(lower[i]) + std::fabs(upper[i]) + 2;
  }
  for (double &value : solution)
    value = small_value<T>(random);
  for (int i = 0; i < size * columns; ++i) {
    const int row = i % size;
    double sum = middle[row] * solution[i];
    if (row > 0)
      sum += lower[row] * solution[i - 1];
    if (row < size - 1)
      sum += upper[row] * solution[i + 1];
    right[i] = static_cast<T>(sum);
  }
  auto dl = this->device(lower), d = this->device(middle), du = this->device(upper);
  auto b = this->device(right);
  this->run("gtsv_nopivot_pcr_pow2_shared_kernel<64u, T>", {columns}, {size}, size, columns, size,
            dl, d, du, b);
  expect_close(solution, b.read());
}

TYPED_TEST(RocsparseFactor, DenseTimesSparseVector)
{
  using T = TypeParam;
  const int rows = 150, columns = 200, count = 40;
  const std::vector<T> a = small_vector<T>(rows * columns, 93), x = small_vector<T>(count, 94);
  const std::vector<T> y = small_vector<T>(rows, 95);
  std::vector<int> at;
  for (int i = 0; i < count; ++i)
    at.push_back(i * 5 + 2);
  std::vector<T> expected(y);
  for (int row = 0; row < rows; ++row) {
    T sum = 0;
    for (int i = 0; i < count; ++i)
      sum += a[at[i] * rows + row] * x[i];
    expected[row] = 3 * sum - 2 * y[row];
  }
  auto device_a = this->device(a), device_x = this->device(x), device_y = this->device(y);
  auto device_at = this->device(at);
  this->run("gemvi_kernel<1024u, 64u, int, T, T>", groups_for(rows, 64), {1024}, rows, columns,
            T(3), device_a, rows, count, device_x, device_at, T(-2), device_y, 0);
  EXPECT_EQ(expected, device_y.read());
}

TYPED_TEST(RocsparseFactor, Dense2csr)
{
  using T = TypeParam;
  const int M = this->M, rows = sizeof(T) == 4 ? 16 : 8; // rows of a work-group
  std::vector<T> dense(M * M, 0);
  for (int row = 0; row < M; ++row)
    for (int j = this->a.offsets[row]; j < this->a.offsets[row + 1]; ++j)
      dense[this->a.indices[j] * M + row] = this->a.values[j];
  auto device_dense = this->device(dense), values = this->template device<T>(this->a.values.size());
  auto offsets = this->device(this->a.offsets);
  auto indices = this->template device<int>(this->a.indices.size());
  this->run("dense2csr_kernel<" + std::to_string(rows) + ", 64, int, int, T>", groups_for(M, rows),
            {static_cast<uint32_t>(rows * 64)}, 0, 1, M, M, device_dense, M, values, offsets,
            indices);
  EXPECT_EQ(this->a.values, values.read());
  EXPECT_EQ(this->a.indices, indices.read());
}

// ---- Complex numbers travel by value as two numbers ----

template <typename T> struct Complex {
  T re, im;
  bool operator==(const Complex &other) const { return re == other.re && im == other.im; }
  friend std::ostream &operator<<(std::ostream &out, const Complex &value)
  {
    return out << value.re << "+" << value.im << "i";
  }
};

template <typename T> Complex<T> operator*(Complex<T> a, Complex<T> b)
{
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename T> Complex<T> operator+(Complex<T> a, Complex<T> b)
{
  return {a.re + b.re, a.im + b.im};
}

template <typename T> std::vector<Complex<T>> complex_vector(size_t count, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<Complex<T>> result(count);
  for (Complex<T> &value : result)
    value = {small_value<T>(random), small_value<T>(random)};
  return result;
}

template <typename T> class RocsparseComplex : public RocsparseTyped<T> {
};
TYPED_TEST_SUITE(RocsparseComplex, FloatTypes);

TYPED_TEST(RocsparseComplex, Axpyi)
{
  using T = TypeParam;
  const int count = 500, size = 1000;
  const auto x = complex_vector<T>(count, 96), y = complex_vector<T>(size, 97);
  const Complex<T> alpha = {3, -2};
  std::vector<int> at;
  std::vector<Complex<T>> expected(y);
  for (int i = 0; i < count; ++i) {
    at.push_back(i * 2 + 1);
    expected[i * 2 + 1] = expected[i * 2 + 1] + alpha * x[i];
  }
  auto device_x = this->device(x), device_y = this->device(y);
  auto device_at = this->device(at);
  this->run("axpyi_kernel<256u, int, rocsparse_complex_num<T>, rocsparse_complex_num<T> >",
            groups_for(count, 256), {256}, count, alpha, device_x, device_at, device_y, 0);
  EXPECT_EQ(expected, device_y.read());
}

TYPED_TEST(RocsparseComplex, CsrTimesVector)
{
  using T = TypeParam;
  const Csr<T> pattern = sparse_matrix<T>(150, 120, 98);
  const auto values = complex_vector<T>(pattern.values.size(), 99);
  const auto x = complex_vector<T>(120, 100), y = complex_vector<T>(150, 101);
  const Complex<T> alpha = {1, 2}, beta = {-1, 1};
  std::vector<Complex<T>> expected;
  for (int row = 0; row < 150; ++row) {
    Complex<T> sum = {0, 0};
    for (int j = pattern.offsets[row]; j < pattern.offsets[row + 1]; ++j)
      sum = sum + values[j] * x[pattern.indices[j]];
    expected.push_back(alpha * sum + beta * y[row]);
  }
  auto offsets = this->device(pattern.offsets), indices = this->device(pattern.indices);
  auto device_values = this->device(values), device_x = this->device(x), device_y = this->device(y);
  this->run("csrmvn_general_kernel<512u, 8u, int, int, rocsparse_complex_num<T>, "
            "rocsparse_complex_num<T> >",
            groups_for(150 * 8, 512), {512}, false, 150, alpha, offsets, indices, device_values,
            device_x, beta, device_y, 0);
  EXPECT_EQ(expected, device_y.read());
}

} // namespace
