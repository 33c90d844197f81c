// Sparse matrices whose numbers are small integers: every sum of products is exact in float, in
// any order, so that a kernel's result equals the reference bit for bit.
#ifndef TESTS_LIBRARIES_SPARSE_H
#define TESTS_LIBRARIES_SPARSE_H

#include <cstdint>
#include <random>
#include <vector>

#include "tests/libraries/library.h"

template <typename T> struct Csr {
  int rows, columns;
  std::vector<int> offsets, indices; // 0-based, sorted in each row
  std::vector<T> values;
  int count() const { return static_cast<int>(values.size()); }
  std::vector<int> row_indices() const
  {
    std::vector<int> result;
    for (int row = 0; row < rows; ++row)
      result.insert(result.end(), static_cast<size_t>(offsets[row + 1] - offsets[row]), row);
    return result;
  }
};

template <typename T> T small_value(std::mt19937 &random)
{
  return static_cast<T>(static_cast<int>(random() % 15) - 7);
}

template <typename T> std::vector<T> small_vector(size_t count, unsigned seed)
{
  std::mt19937 random(seed);
  std::vector<T> result(count);
  for (T &value : result)
    value = small_value<T>(random);
  return result;
}

// Some rows are empty, some hold many; no stored value is 0.
template <typename T> Csr<T> sparse_matrix(int rows, int columns, unsigned seed)
{
  std::mt19937 random(seed);
  Csr<T> matrix = {rows, columns, {0}, {}, {}};
  for (int row = 0; row < rows; ++row) {
    int sparsity = 2 + static_cast<int>(random() % 40);
    for (int column = 0; column < columns && row % 11 != 7; ++column)
      if (static_cast<int>(random() % static_cast<unsigned>(sparsity)) == 0) {
        T value = small_value<T>(random);
        matrix.indices.push_back(column);
        matrix.values.push_back(value == 0 ? T(5) : value);
      }
    matrix.offsets.push_back(matrix.count());
  }
  return matrix;
}

template <typename T>
std::vector<T> multiply(const Csr<T> &a, const std::vector<T> &x, T alpha, T beta,
                        const std::vector<T> &y)
{
  std::vector<T> result(y);
  for (int row = 0; row < a.rows; ++row) {
    T sum = 0;
    for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j)
      sum += a.values[j] * x[a.indices[j]];
    result[row] = alpha * sum + beta * y[row];
  }
  return result;
}

// y += alpha * transpose(a) * x
template <typename T>
std::vector<T> multiply_transposed(const Csr<T> &a, const std::vector<T> &x, T alpha,
                                   std::vector<T> y)
{
  for (int row = 0; row < a.rows; ++row)
    for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j)
      y[a.indices[j]] += alpha * a.values[j] * x[row];
  return y;
}

// Work-groups of `size` that hold `items` work-items.
inline Extent groups_for(int items, int size)
{
  return {static_cast<uint32_t>((items - 1) / size + 1)};
}

class Rocsparse : public LibraryTest {
protected:
  void SetUp() override
  {
    library = Library::rocsparse();
    if (!library)
      GTEST_SKIP() << "no librocsparse below the build folder (./dev test --extended fetches it)";
  }
};

template <typename T> class RocsparseTyped : public Rocsparse {
protected:
  template <typename... A>
  void run(const std::string &name, Extent workgroups, Extent workgroup, const A &...arguments)
  {
    Rocsparse::run(with_type<T>(name), workgroups, workgroup, arguments...);
  }
};

using FloatTypes = ::testing::Types<float, double>;

#endif
