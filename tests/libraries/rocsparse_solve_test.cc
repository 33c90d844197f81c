// rocSPARSE's triangular solves: a wavefront for each row, which spins until the rows it depends on
// have announced themselves. The systems are made so that every step is exact.
#include <climits>

#include "tests/libraries/sparse.h"

namespace {

enum { LOWER = 0, UPPER = 1, NON_UNIT = 0, UNIT = 1, BY_ROW = 0 };

constexpr int M = 200;

std::vector<int> counting(int count, bool down)
{
  std::vector<int> result(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    result[i] = down ? count - 1 - i : i;
  return result;
}

// A matrix with powers of two on its diagonal, and a right-hand side that makes `y` the solution of
// its lower or upper triangle times y = alpha x.
template <typename T> struct System {
  explicit System(unsigned seed) : a(sparse_matrix<T>(M, M, seed)), y(small_vector<T>(M, seed + 1))
  {
    std::mt19937 random(seed + 2);
    Csr<T> full = {M, M, {0}, {}, {}};
    for (int row = 0; row < M; ++row) {
      bool placed = false;
      auto place = [&](int column, T value) {
        full.indices.push_back(column);
        full.values.push_back(value);
      };
      for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j) {
        if (!placed && a.indices[j] >= row) {
          place(row, diagonal(random));
          placed = true;
        }
        if (a.indices[j] != row)
          place(a.indices[j], a.values[j]);
      }
      if (!placed)
        place(row, diagonal(random));
      full.offsets.push_back(full.count());
    }
    a = full;
  }
  static T diagonal(std::mt19937 &random)
  {
    static const T choices[] = {1, -1, 2, -2, 4, T(0.5)};
    return choices[random() % 6];
  }
  std::vector<T> right_side(bool upper, bool unit, T alpha) const
  {
    std::vector<T> x(M, 0);
    for (int row = 0; row < M; ++row) {
      for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j) {
        int column = a.indices[j];
        if (upper ? column > row : column < row)
          x[row] += a.values[j] * y[column] / alpha;
        else if (column == row)
          x[row] += (unit ? 1 : a.values[j]) * y[column] / alpha;
      }
    }
    return x;
  }
  Csr<T> a;
  std::vector<T> y;
};

template <typename T> class RocsparseSolve : public RocsparseTyped<T> {
protected:
  void csrsv(bool upper, bool unit)
  {
    const System<T> system(21);
    auto offsets = this->device(system.a.offsets), indices = this->device(system.a.indices);
    auto values = this->device(system.a.values),
         x = this->device(system.right_side(upper, unit, 2));
    auto y = this->template device<T>(M);
    auto done = this->device(std::vector<int>(M, 0)), map = this->device(counting(M, upper));
    auto pivot = this->device(std::vector<int>{INT_MAX});
    this->run("csrsv_kernel<1024u, 64u, false, int, int, T, T>", groups_for(M * 64, 1024), {1024},
              M, T(2), offsets, indices, values, x, y, done, map, 0, pivot, 0, int(upper),
              int(unit));
    EXPECT_EQ(system.y, y.read());
    EXPECT_EQ(std::vector<int>{INT_MAX}, pivot.read());
    EXPECT_EQ(std::vector<int>(M, 1), done.read());
  }
  // A system of square blocks with `dim` rows each.
  void bsrsv(const std::string &kernel, bool upper, int dim);
};
TYPED_TEST_SUITE(RocsparseSolve, FloatTypes);

TYPED_TEST(RocsparseSolve, CsrLower)
{
  this->csrsv(false, false);
}

TYPED_TEST(RocsparseSolve, CsrLowerUnitDiagonal)
{
  this->csrsv(false, true);
}

TYPED_TEST(RocsparseSolve, CsrUpper)
{
  this->csrsv(true, false);
}

template <typename T> void RocsparseSolve<T>::bsrsv(const std::string &kernel, bool upper, int dim)
{
  const System<T> system(31);
  const Csr<T> &a = system.a;
  std::mt19937 random(32);
  std::vector<T> values(a.values.size() * dim * dim);
  for (T &value : values)
    value = small_value<T>(random);
  const std::vector<T> y = small_vector<T>(static_cast<size_t>(M * dim), 33);
  std::vector<T> x(y.size(), 0);
  for (int row = 0; row < M; ++row)
    for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j)
      for (int i = 0; i < dim; ++i)
        for (int k = 0; k < dim; ++k) {
          int r = row * dim + i, c = a.indices[j] * dim + k;
          T &value = values[(j * dim + i) * dim + k];
          if (r == c)
            value = System<T>::diagonal(random);
          if (upper ? c >= r : c <= r)
            x[r] += value * y[c] / 2;
        }
  auto offsets = this->device(a.offsets), indices = this->device(a.indices);
  auto device_values = this->device(values), device_x = this->device(x);
  auto device_y = this->template device<T>(y.size());
  auto done = this->device(std::vector<int>(M, 0)), map = this->device(counting(M, upper));
  auto pivot = this->device(std::vector<int>{INT_MAX});
  this->run(kernel, groups_for(M * 64, 128), {128}, M, T(2), offsets, indices, device_values, dim,
            device_x, device_y, done, map, pivot, 0, int(NON_UNIT), int(BY_ROW));
  EXPECT_EQ(y, device_y.read());
  EXPECT_EQ(std::vector<int>{INT_MAX}, pivot.read());
}

TYPED_TEST(RocsparseSolve, BlocksLowerGeneral)
{
  this->bsrsv("bsrsv_lower_general<128u, 64u, false, T, T>", false, 5);
}

TYPED_TEST(RocsparseSolve, BlocksUpperGeneral)
{
  this->bsrsv("bsrsv_upper_general<128u, 64u, false, T, T>", true, 3);
}

TYPED_TEST(RocsparseSolve, BlocksLowerInLds)
{
  this->bsrsv("bsrsv_lower_shared<128u, 64u, 8, false, T, T>", false, 7);
}

TYPED_TEST(RocsparseSolve, BlocksUpperInLds)
{
  this->bsrsv("bsrsv_upper_shared<128u, 64u, 16, false, T, T>", true, 9);
}

using RocsparseAnalysis = Rocsparse;

// Depth in the graph of dependencies, found by spinning as the solve itself does.
TEST_F(RocsparseAnalysis, CsrsvLower)
{
  const System<float> system(41);
  const Csr<float> &a = system.a;
  std::vector<int> diagonal(M, -1), depth(M, 1);
  int longest = 0;
  for (int row = 0; row < M; ++row) {
    longest = std::max(longest, a.offsets[row + 1] - a.offsets[row]);
    for (int j = a.offsets[row]; j < a.offsets[row + 1]; ++j) {
      if (a.indices[j] < row)
        depth[row] = std::max(depth[row], depth[a.indices[j]] + 1);
      if (a.indices[j] == row)
        diagonal[row] = j;
    }
  }
  auto offsets = device(a.offsets), indices = device(a.indices);
  auto found = device(std::vector<int>(M, -1)), done = device(std::vector<int>(M, 0));
  auto most = device(std::vector<int>{0}), pivot = device(std::vector<int>{INT_MAX});
  run("csrsv_analysis_lower_kernel<1024u, 64u, false, int, int>", groups_for(M * 64, 1024), {1024},
      M, offsets, indices, found, done, most, pivot, 0, int(NON_UNIT));
  EXPECT_EQ(diagonal, found.read());
  EXPECT_EQ(depth, done.read());
  EXPECT_EQ(std::vector<int>{longest}, most.read());
  EXPECT_EQ(std::vector<int>{INT_MAX}, pivot.read());
}

} // namespace
