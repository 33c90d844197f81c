// rocSPARSE, level 1: sparse vectors.
#include "tests/libraries/sparse.h"

namespace {

constexpr int N = 5000, NNZ = 1777, BASE = 1;

// NNZ different places of N, 1-based, in no order.
std::vector<int> places()
{
  std::vector<int> result(N);
  for (int i = 0; i < N; ++i)
    result[i] = i;
  std::shuffle(result.begin(), result.end(), std::mt19937(11));
  result.resize(NNZ);
  for (int &place : result)
    place += BASE;
  return result;
}

template <typename T> class RocsparseLevel1 : public RocsparseTyped<T> {
protected:
  const std::vector<int> at = places();
  const std::vector<T> x = small_vector<T>(NNZ, 1), y = small_vector<T>(N, 2);
};
TYPED_TEST_SUITE(RocsparseLevel1, FloatTypes);

TYPED_TEST(RocsparseLevel1, Axpyi)
{
  using T = TypeParam;
  auto x = this->device(this->x), y = this->device(this->y);
  auto at = this->device(this->at);
  this->run("axpyi_kernel<256u, int, T, T>", groups_for(NNZ, 256), {256}, NNZ, T(3), x, at, y,
            BASE);
  std::vector<T> expected(this->y);
  for (int i = 0; i < NNZ; ++i)
    expected[this->at[i] - BASE] += 3 * this->x[i];
  EXPECT_EQ(expected, y.read());
}

TYPED_TEST(RocsparseLevel1, AxpyiWithAlphaOnTheDevice)
{
  using T = TypeParam;
  auto x = this->device(this->x), y = this->device(this->y);
  auto at = this->device(this->at);
  auto alpha = this->device(std::vector<T>{-5});
  this->run("axpyi_kernel<256u, int, T, T const*>", groups_for(NNZ, 256), {256}, NNZ, alpha, x, at,
            y, BASE);
  std::vector<T> expected(this->y);
  for (int i = 0; i < NNZ; ++i)
    expected[this->at[i] - BASE] += -5 * this->x[i];
  EXPECT_EQ(expected, y.read());
}

TYPED_TEST(RocsparseLevel1, DotiInTwoParts)
{
  using T = TypeParam;
  auto x = this->device(this->x), y = this->device(this->y);
  auto at = this->device(this->at);
  auto partial = this->template device<T>(256), result = this->template device<T>(1);
  this->run("doti_kernel_part1<256u, int, T>", {256}, {256}, NNZ, x, at, y, partial, BASE);
  this->run("doti_kernel_part2<256u, T>", {1}, {256}, partial, result);
  T expected = 0;
  for (int i = 0; i < NNZ; ++i)
    expected += this->x[i] * this->y[this->at[i] - BASE];
  EXPECT_EQ(std::vector<T>{expected}, result.read());
}

TYPED_TEST(RocsparseLevel1, Roti)
{
  using T = TypeParam;
  auto x = this->device(this->x), y = this->device(this->y);
  auto at = this->device(this->at);
  this->run("roti_kernel<512u, int, T, T>", groups_for(NNZ, 512), {512}, NNZ, x, at, y, T(3), T(4),
            BASE);
  std::vector<T> expected_x(this->x), expected_y(this->y);
  for (int i = 0; i < NNZ; ++i) {
    T &from = expected_x[i], &to = expected_y[this->at[i] - BASE];
    T rotated = 3 * from + 4 * to;
    to = 3 * to - 4 * from;
    from = rotated;
  }
  EXPECT_EQ(expected_x, x.read());
  EXPECT_EQ(expected_y, y.read());
}

TYPED_TEST(RocsparseLevel1, Gthr)
{
  using T = TypeParam;
  auto y = this->device(this->y), x = this->template device<T>(NNZ);
  auto at = this->device(this->at);
  this->run("gthr_kernel<512u, int, T>", groups_for(NNZ, 512), {512}, NNZ, y, x, at, BASE);
  std::vector<T> expected;
  for (int place : this->at)
    expected.push_back(this->y[place - BASE]);
  EXPECT_EQ(expected, x.read());
}

TYPED_TEST(RocsparseLevel1, Gthrz)
{
  using T = TypeParam;
  auto y = this->device(this->y), x = this->template device<T>(NNZ);
  auto at = this->device(this->at);
  this->run("gthrz_kernel<512u, T>", groups_for(NNZ, 512), {512}, NNZ, y, x, at, BASE);
  std::vector<T> expected_x, expected_y(this->y);
  for (int place : this->at) {
    expected_x.push_back(this->y[place - BASE]);
    expected_y[place - BASE] = 0;
  }
  EXPECT_EQ(expected_x, x.read());
  EXPECT_EQ(expected_y, y.read());
}

TYPED_TEST(RocsparseLevel1, Sctr)
{
  using T = TypeParam;
  auto x = this->device(this->x), y = this->device(this->y);
  auto at = this->device(this->at);
  this->run("sctr_kernel<512u, int, T>", groups_for(NNZ, 512), {512}, NNZ, x, at, y, BASE);
  std::vector<T> expected(this->y);
  for (int i = 0; i < NNZ; ++i)
    expected[this->at[i] - BASE] = this->x[i];
  EXPECT_EQ(expected, y.read());
}

TYPED_TEST(RocsparseLevel1, ScalesByAPowerOfTwo)
{
  using T = TypeParam;
  std::vector<T> expected(this->y);
  for (T &value : expected)
    value *= -2;
  auto y = this->device(this->y);
  this->run("axpby_scale_kernel<256u, int, T, T>", groups_for(N, 256), {256}, N, T(-2), y);
  EXPECT_EQ(expected, y.read());
  auto z = this->device(this->y);
  this->run("coomv_scale<1024u, int, T, T>", groups_for(N, 1024), {1024}, N, T(-2), z);
  EXPECT_EQ(expected, z.read());
}

} // namespace
