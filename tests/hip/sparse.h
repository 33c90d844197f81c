// rocSPARSE as programs call it, in float and double, on small matrices of small integers whose
// dense form is the reference. The library's headers are not needed: functions and the values of
// enumerations are part of its binary interface.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

#include "hip.h"
#include "unpacked.h"

namespace sparse {

enum { NONE = 111, TRANSPOSE = 112 };                   // rocsparse_operation
enum { ROW_MAJOR = 0, COLUMN_MAJOR = 1 };               // rocsparse_direction
enum { LOWER = 0, UPPER = 1 };                          // rocsparse_fill_mode
enum { INDEX_I32 = 2, FLOAT_32 = 151, FLOAT_64 = 152 }; // rocsparse_indextype, rocsparse_datatype

// Device memory with the values it was made of.
template <typename T> class Array {
public:
  explicit Array(size_t count) : Array(std::vector<T>(count)) {}
  explicit Array(const std::vector<T> &values) : count_(values.size())
  {
    EXPECT_EQ(hipMalloc((void **)&data_, (count_ ? count_ : 1) * sizeof(T)), hipSuccess);
    EXPECT_EQ(hipMemcpy(data_, values.data(), count_ * sizeof(T), hipMemcpyHostToDevice),
              hipSuccess);
  }
  ~Array() { EXPECT_EQ(hipFree(data_), hipSuccess); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;

  T *get() const { return data_; }
  std::vector<T> read() const
  {
    std::vector<T> values(count_);
    EXPECT_EQ(hipMemcpy(values.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost),
              hipSuccess);
    return values;
  }
  std::vector<double> numbers() const
  {
    const std::vector<T> values = read();
    return {values.begin(), values.end()};
  }

private:
  size_t count_;
  T *data_ = nullptr;
};

// Columns one after the other, as the library takes dense matrices.
struct Dense {
  Dense(int rows, int columns) : m(rows), n(columns), values(size_t(rows) * columns) {}
  double &at(int row, int column) { return values[size_t(column) * m + row]; }
  double at(int row, int column) const { return values[size_t(column) * m + row]; }
  Dense transposed() const
  {
    Dense result(n, m);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
  int m, n;
  std::vector<double> values;
};

inline Dense operator*(const Dense &a, const Dense &b)
{
  Dense c(a.m, b.n);
  for (int j = 0; j < b.n; ++j)
    for (int k = 0; k < a.n; ++k)
      for (int i = 0; i < a.m; ++i)
        c.at(i, j) += a.at(i, k) * b.at(k, j);
  return c;
}

// `share` of the elements are not 0; those are small integers.
inline Dense random(int m, int n, double share, unsigned seed)
{
  std::mt19937 engine(seed);
  Dense a(m, n);
  for (double &value : a.values)
    if (engine() % 1000 < share * 1000)
      value = double(engine() % 4 + 1) * (engine() % 2 ? 1 : -1);
  return a;
}

// Diagonally dominant, so that solving is well-conditioned; `keep` says which elements stay.
template <typename Keep> Dense dominant(int n, double share, unsigned seed, Keep keep)
{
  Dense a = random(n, n, share, seed);
  for (int i = 0; i < n; ++i) {
    double sum = 1;
    for (int j = 0; j < n; ++j) {
      if (i != j && !keep(i, j))
        a.at(i, j) = 0;
      sum += i != j ? std::fabs(a.at(i, j)) : 0;
    }
    a.at(i, i) = sum;
  }
  return a;
}

// Rows of the elements that are not 0. `block` rows by `block` columns make one element of a
// blocked matrix, which is kept whole.
struct Csr {
  explicit Csr(const Dense &a) : m(a.m), n(a.n), start{0}
  {
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j)
        if (a.at(i, j) != 0) {
          column.push_back(j);
          row.push_back(i);
          value.push_back(a.at(i, j));
        }
      start.push_back((int)column.size());
    }
  }
  int count() const { return (int)column.size(); }
  int m, n;
  std::vector<int> start, column, row;
  std::vector<double> value;
};

template <typename T> class DeviceCsr {
public:
  explicit DeviceCsr(const Dense &a)
      : host(a), m(host.m), n(host.n), count(host.count()), start(host.start), column(host.column),
        value(std::vector<T>(host.value.begin(), host.value.end()))
  {
  }
  const Csr host;
  const int m, n, count;
  Array<int> start, column;
  Array<T> value;
};

// The dense form of rows on the device.
template <typename T>
Dense dense(int m, int n, const Array<int> &start, const Array<int> &column, const Array<T> &value)
{
  Dense a(m, n);
  const std::vector<int> starts = start.read(), columns = column.read();
  const std::vector<T> values = value.read();
  for (int i = 0; i < m; ++i)
    for (int at = starts[i]; at < starts[i + 1]; ++at)
      a.at(i, columns[at]) += (double)values[at];
  return a;
}

template <typename T> class Sparse : public ::testing::Test {
public:
  static constexpr bool is_float = sizeof(T) == 4;
  static constexpr int type = is_float ? FLOAT_32 : FLOAT_64;
  static constexpr double tolerance = is_float ? 2e-4 : 1e-11;

  void SetUp() override
  {
    if (!rocsparse_library())
      GTEST_SKIP() << "librocsparse0 is not there";
    call("create_handle", &handle);
    call("create_mat_info", &info);
    for (void **made : {&descr, &other})
      call("create_mat_descr", made);
  }
  void TearDown() override
  {
    if (!rocsparse_library())
      return;
    for (void *made : {descr, other})
      call("destroy_mat_descr", made);
    call("destroy_mat_info", info);
    call("destroy_handle", handle);
  }

  template <typename... Arguments> void call(const std::string &name, Arguments... arguments)
  {
    auto *function =
        (int (*)(Arguments...))dlsym(rocsparse_library(), ("rocsparse_" + name).c_str());
    ASSERT_NE(function, nullptr) << name;
    ASSERT_EQ(function(arguments...), 0) << name;
  }
  // The one of this type: scsrmv or dcsrmv.
  template <typename... Arguments> void typed(const std::string &name, Arguments... arguments)
  {
    call((is_float ? "s" : "d") + name, arguments...);
  }

  static std::vector<T> numbers(const std::vector<double> &values)
  {
    return {values.begin(), values.end()};
  }
  static Array<T> array(const std::vector<double> &values) { return Array<T>(numbers(values)); }

  static void expect(const std::vector<double> &got, const std::vector<double> &expected,
                     const std::string &what)
  {
    ASSERT_EQ(got.size(), expected.size()) << what;
    size_t wrong = 0;
    for (size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i]))) &&
          wrong++ < 3)
        ADD_FAILURE() << what << " at " << i << ": " << got[i] << ", not " << expected[i];
    EXPECT_EQ(wrong, 0u) << what;
  }

  void *handle = nullptr, *info = nullptr, *descr = nullptr, *other = nullptr;
  void *none = nullptr; // an optional one left out
  const T one = 1, zero = 0, two = 2, minus = -1;
};

} // namespace sparse

// The type and the test, of templates.
#define USE(T)                                                                                     \
  using T [[maybe_unused]] = TypeParam;                                                            \
  auto &t = *this;                                                                                 \
  (void)t
