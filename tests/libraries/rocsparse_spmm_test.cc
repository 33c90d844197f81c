// rocSPARSE, level 3: sparse matrix times dense matrix.
#include "tests/libraries/sparse.h"

namespace {

enum { COLUMN_MAJOR = 1 };

constexpr int M = 130, N = 21, K = 97;

template <typename T> class RocsparseSpmm : public RocsparseTyped<T> {
protected:
  const Csr<T> a = sparse_matrix<T>(M, K, 71);
};
TYPED_TEST_SUITE(RocsparseSpmm, FloatTypes);

template <typename T> std::vector<T> column(const std::vector<T> &matrix, int rows, int index)
{
  return {matrix.begin() + rows * index, matrix.begin() + rows * (index + 1)};
}

TYPED_TEST(RocsparseSpmm, CsrTimesColumnMajor)
{
  using T = TypeParam;
  const std::vector<T> b = small_vector<T>(K * N, 72), c = small_vector<T>(M * N, 73);
  std::vector<T> expected;
  for (int j = 0; j < N; ++j)
    for (T value : multiply<T>(this->a, column(b, K, j), 3, -2, column(c, M, j)))
      expected.push_back(value);
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), device_b = this->device(b),
       device_c = this->device(c);
  this->run("csrmmnn_general_kernel<256u, 8u, int, int, T, T>", {(M - 1) / 32 + 1, (N - 1) / 8 + 1},
            {256}, false, false, M, N, K, this->a.count(), 0, 0, T(3), offsets, indices, values,
            device_b, K, 0, T(-2), device_c, M, 0, int(COLUMN_MAJOR), 0);
  EXPECT_EQ(expected, device_c.read());
}

TYPED_TEST(RocsparseSpmm, TransposedCsrAndItsScaling)
{
  using T = TypeParam;
  const std::vector<T> b = small_vector<T>(M * N, 74), c = small_vector<T>(K * N, 75);
  std::vector<T> expected;
  for (int j = 0; j < N; ++j) {
    std::vector<T> scaled = column(c, K, j);
    for (T &value : scaled)
      value *= -2;
    for (T value : multiply_transposed<T>(this->a, column(b, M, j), 3, scaled))
      expected.push_back(value);
  }
  auto offsets = this->device(this->a.offsets), indices = this->device(this->a.indices);
  auto values = this->device(this->a.values), device_b = this->device(b),
       device_c = this->device(c);
  this->run("csrmm_scale<256u, 4u, int, T, T>", {(K - 1) / 256 + 1, (N - 1) / 4 + 1}, {256, 4}, K,
            N, T(-2), device_c, K, 0, int(COLUMN_MAJOR));
  this->run("csrmmtn_general_kernel<256u, 4u, int, int, T, T>", {(M - 1) / 64 + 1, (N - 1) / 4 + 1},
            {256}, false, false, M, N, K, this->a.count(), 0, 0, T(3), offsets, indices, values,
            device_b, M, 0, T(-2), device_c, K, 0, int(COLUMN_MAJOR), 0);
  EXPECT_EQ(expected, device_c.read());
}

} // namespace
