// Debian's rocRAND and rocSPARSE, called as programs call them. ./dev unpacks them beside the build
// folders; what is not there is skipped. Their headers are not needed: the functions and the values
// of the enumerations are part of the libraries' binary interface.
#include <algorithm>
#include <cmath>

#include "hip.h"
#include "unpacked.h"

namespace {

template <typename T> T *device_copy(const std::vector<T> &values)
{
  T *device = nullptr;
  EXPECT_EQ(hipMalloc((void **)&device, values.size() * sizeof(T)), hipSuccess);
  EXPECT_EQ(hipMemcpy(device, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice),
            hipSuccess);
  return device;
}

template <typename T> std::vector<T> host_copy(const T *device, size_t count)
{
  std::vector<T> values(count);
  EXPECT_EQ(hipMemcpy(values.data(), device, count * sizeof(T), hipMemcpyDeviceToHost), hipSuccess);
  return values;
}

class RocRand : public ::testing::TestWithParam<int> {
protected:
  void SetUp() override
  {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a minute or more each under a sanitizer";
#endif
    rocrand = rocrand_library();
    if (!rocrand)
      GTEST_SKIP() << "librocrand1 is not there";
  }

  template <typename... Arguments> void call(const char *name, Arguments... arguments)
  {
    auto *function = (int (*)(Arguments...))dlsym(rocrand, name);
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }

  void *rocrand = nullptr;
};

TEST_P(RocRand, a_million_uniform_and_normal_numbers)
{
  const size_t n = 1 << 20;
  void *generator = nullptr;
  call("rocrand_create_generator", &generator, GetParam());
  float *device = nullptr;
  HIP_OK(hipMalloc((void **)&device, n * sizeof(float)));
  call("rocrand_generate_uniform", generator, device, n);
  double sum = 0, squares = 0;
  for (float value : host_copy(device, n)) {
    ASSERT_GT(value, 0.0f);
    ASSERT_LE(value, 1.0f);
    sum += value;
    squares += (double)value * value;
  }
  // Six standard errors: of the mean 1 / sqrt(12 n), of the second moment sqrt(4 / 45 / n).
  EXPECT_NEAR(sum / n, 0.5, 6 * 0.2887 / 1024);
  EXPECT_NEAR(squares / n, 1.0 / 3, 6 * 0.2982 / 1024);
  call("rocrand_generate_normal", generator, device, n, 3.0f, 2.0f);
  sum = squares = 0;
  for (float value : host_copy(device, n)) {
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += ((double)value - 3) * ((double)value - 3);
  }
  EXPECT_NEAR(sum / n, 3.0, 6 * 2.0 / 1024);
  EXPECT_NEAR(squares / n, 4.0, 6 * 4 * std::sqrt(2.0) / 1024);
  HIP_OK(hipFree(device));
  call("rocrand_destroy_generator", generator);
}

// XORWOW, MRG32k3a, MTGP32, Philox4x32-10, Sobol32.
INSTANTIATE_TEST_SUITE_P(generators, RocRand, ::testing::Values(401, 402, 403, 404, 501),
                         testing::PrintToStringParamName());

TEST_F(RocRand, sobol_points_fill_the_line)
{
  // The first 2^k points of the first dimension are the multiples of 2^-k, in some order.
  const size_t n = 1 << 16;
  void *generator = nullptr;
  call("rocrand_create_generator", &generator, 501);
  uint32_t *device = nullptr;
  HIP_OK(hipMalloc((void **)&device, n * 4));
  call("rocrand_generate", generator, device, n);
  std::vector<uint32_t> points = host_copy(device, n);
  std::sort(points.begin(), points.end());
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(points[i], i << 16) << i;
  HIP_OK(hipFree(device));
  call("rocrand_destroy_generator", generator);
}

// A lower triangular matrix with small integers, so that every result is exact in float.
struct Matrix {
  int rows = 500;
  std::vector<int> row_start{0}, columns;
  std::vector<float> values;

  Matrix()
  {
    for (int row = 0; row < rows; ++row) {
      for (int column = row % 3; column < row; column += 7 + row % 11) {
        columns.push_back(column);
        values.push_back((float)((row + 3 * column) % 5 - 2));
      }
      columns.push_back(row);
      values.push_back(1);
      row_start.push_back((int)columns.size());
    }
  }

  int entries() const { return (int)columns.size(); }

  template <typename F> void each(F visit) const
  {
    for (int row = 0; row < rows; ++row)
      for (int at = row_start[row]; at < row_start[row + 1]; ++at)
        visit(row, at);
  }
};

class RocSparse : public ::testing::Test {
protected:
  void SetUp() override
  {
    rocsparse = rocsparse_library();
    if (!rocsparse)
      GTEST_SKIP() << "librocsparse0 is not there";
    call("rocsparse_create_handle", &handle);
    call("rocsparse_create_mat_descr", &descriptor);
    call("rocsparse_create_mat_info", &info);
    row_start = device_copy(a.row_start);
    columns = device_copy(a.columns);
    values = device_copy(a.values);
  }

  void TearDown() override
  {
    if (!rocsparse)
      return;
    call("rocsparse_destroy_mat_info", info);
    call("rocsparse_destroy_mat_descr", descriptor);
    call("rocsparse_destroy_handle", handle);
    for (void *memory : {(void *)row_start, (void *)columns, (void *)values})
      EXPECT_EQ(hipFree(memory), hipSuccess);
  }

  template <typename... Arguments> void call(const char *name, Arguments... arguments)
  {
    auto *function = (int (*)(Arguments...))dlsym(rocsparse, name);
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }

  void *buffer(size_t size)
  {
    void *memory = nullptr;
    EXPECT_EQ(hipMalloc(&memory, size), hipSuccess);
    return memory;
  }

  static constexpr int none = 111; // rocsparse_operation_none
  const Matrix a;
  const float one = 1, zero = 0, *alpha = &one, *beta = &zero;
  void *rocsparse = nullptr, *handle = nullptr, *descriptor = nullptr, *info = nullptr;
  void *no_info = nullptr;
  int *row_start = nullptr, *columns = nullptr;
  float *values = nullptr;
};

TEST_F(RocSparse, csrmv)
{
  std::vector<float> x(a.rows), expected(a.rows, 0.0f);
  for (int i = 0; i < a.rows; ++i)
    x[i] = (float)(i % 9 - 4);
  a.each([&](int row, int at) { expected[row] += a.values[at] * x[a.columns[at]]; });
  float *device_x = device_copy(x), *device_y = device_copy(x);
  call("rocsparse_scsrmv", handle, none, a.rows, a.rows, a.entries(), alpha, descriptor, values,
       row_start, columns, no_info, device_x, beta, device_y);
  EXPECT_EQ(host_copy(device_y, x.size()), expected);
  HIP_OK(hipFree(device_x));
  HIP_OK(hipFree(device_y));
}

TEST_F(RocSparse, csrsv)
{
  // Rows wait for one another with flags in memory. The right side is that of a known solution.
  std::vector<float> solution(a.rows), right(a.rows, 0.0f);
  for (int i = 0; i < a.rows; ++i)
    solution[i] = (float)(i % 5 - 2);
  a.each([&](int row, int at) { right[row] += a.values[at] * solution[a.columns[at]]; });
  float *device_x = device_copy(right), *device_y = device_copy(right);
  size_t size = 0;
  call("rocsparse_set_mat_fill_mode", descriptor, 0); // lower
  call("rocsparse_scsrsv_buffer_size", handle, none, a.rows, a.entries(), descriptor, values,
       row_start, columns, info, &size);
  void *memory = buffer(size);
  call("rocsparse_scsrsv_analysis", handle, none, a.rows, a.entries(), descriptor, values,
       row_start, columns, info, 0, 0, memory);
  call("rocsparse_scsrsv_solve", handle, none, a.rows, a.entries(), alpha, descriptor, values,
       row_start, columns, info, device_x, device_y, 0, memory);
  EXPECT_EQ(host_copy(device_y, solution.size()), solution);
  for (void *gone : {memory, (void *)device_x, (void *)device_y})
    HIP_OK(hipFree(gone));
}

TEST_F(RocSparse, csrmm)
{
  const int width = 20;
  std::vector<float> b(a.rows * width), expected(a.rows * width, 0.0f);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = (float)(i % 7) - 3;
  for (int column = 0; column < width; ++column)
    a.each([&](int row, int at) {
      expected[column * a.rows + row] += a.values[at] * b[column * a.rows + a.columns[at]];
    });
  float *device_b = device_copy(b), *device_c = device_copy(b);
  call("rocsparse_scsrmm", handle, none, none, a.rows, width, a.rows, a.entries(), alpha,
       descriptor, values, row_start, columns, device_b, a.rows, beta, device_c, a.rows);
  EXPECT_EQ(host_copy(device_c, b.size()), expected);
  HIP_OK(hipFree(device_b));
  HIP_OK(hipFree(device_c));
}

TEST_F(RocSparse, csr2csc)
{
  const int numeric = 1;
  size_t size = 0;
  call("rocsparse_csr2csc_buffer_size", handle, a.rows, a.rows, a.entries(), row_start, columns,
       numeric, &size);
  void *memory = buffer(size);
  float *device_values = device_copy(a.values);
  int *device_rows = device_copy(a.columns), *device_start = device_copy(a.row_start);
  call("rocsparse_scsr2csc", handle, a.rows, a.rows, a.entries(), values, row_start, columns,
       device_values, device_rows, device_start, numeric, 0, memory);
  std::vector<int> start = host_copy(device_start, a.row_start.size()), rows;
  std::vector<float> found;
  for (int column = 0; column < a.rows; ++column) {
    EXPECT_EQ(start[column], (int)rows.size());
    a.each([&](int row, int at) {
      if (a.columns[at] == column) {
        rows.push_back(row);
        found.push_back(a.values[at]);
      }
    });
  }
  EXPECT_EQ(host_copy(device_rows, rows.size()), rows);
  EXPECT_EQ(host_copy(device_values, found.size()), found);
  for (void *gone : {memory, (void *)device_values, (void *)device_rows, (void *)device_start})
    HIP_OK(hipFree(gone));
}

TEST_F(RocSparse, csrsort)
{
  std::vector<int> shuffled = a.columns;
  for (int row = 0; row < a.rows; ++row)
    std::reverse(shuffled.begin() + a.row_start[row], shuffled.begin() + a.row_start[row + 1]);
  int *device_columns = device_copy(shuffled), *order = device_copy(shuffled);
  size_t size = 0;
  call("rocsparse_csrsort_buffer_size", handle, a.rows, a.rows, a.entries(), row_start,
       device_columns, &size);
  void *memory = buffer(size);
  call("rocsparse_create_identity_permutation", handle, a.entries(), order);
  call("rocsparse_csrsort", handle, a.rows, a.rows, a.entries(), descriptor, row_start,
       device_columns, order, memory);
  EXPECT_EQ(host_copy(device_columns, shuffled.size()), a.columns);
  std::vector<int> from = host_copy(order, shuffled.size());
  for (size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(shuffled[(size_t)from[i]], a.columns[i]) << i;
  for (void *gone : {memory, (void *)device_columns, (void *)order})
    HIP_OK(hipFree(gone));
}

} // namespace
