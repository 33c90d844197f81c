// Triangular solves, whose rows wait for each other, incomplete factorisations, and banded systems.
#include "sparse.h"

namespace sparse {
namespace {

template <typename T> class SparseSolve : public Sparse<T> {
protected:
  static constexpr int M = 210;

  // Of a triangular matrix, in the descriptor's fill mode.
  Dense triangle(int fill) const
  {
    return dominant(M, 0.08, 21 + unsigned(fill),
                    [fill](int i, int j) { return fill == LOWER ? i > j : i < j; });
  }
  // A symmetric, positive definite one.
  static Dense symmetric(int n)
  {
    Dense a = random(n, n, 0.05, 23), s(n, n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < i; ++j)
        s.at(i, j) = s.at(j, i) = a.at(i, j);
    for (int i = 0; i < n; ++i) {
      double sum = 1;
      for (int j = 0; j < n; ++j)
        sum += std::fabs(s.at(i, j));
      s.at(i, i) = sum;
    }
    return s;
  }
  // Where `pattern` has elements, `product` must be `a`.
  void expect_on(const Dense &pattern, const Dense &product, const Dense &a, const char *what)
  {
    std::vector<double> got, expected;
    for (size_t i = 0; i < a.values.size(); ++i)
      if (pattern.values[i] != 0) {
        got.push_back(product.values[i]);
        expected.push_back(a.values[i]);
      }
    this->expect(got, expected, what);
  }
  static void split(const Dense &both, Dense &lower, Dense &upper)
  {
    for (int i = 0; i < both.m; ++i)
      for (int j = 0; j < both.n; ++j)
        (i > j ? lower : upper).at(i, j) = both.at(i, j);
    for (int i = 0; i < both.m; ++i)
      lower.at(i, i) = 1;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SparseSolve, Types);

TYPED_TEST(SparseSolve, csrsv)
{
  USE(T);
  for (int fill : {LOWER, UPPER})
    for (int operation : {NONE, TRANSPOSE}) {
      const Dense a = t.triangle(fill), x = random(t.M, 1, 1, 24);
      const Dense b = (operation == NONE ? a : a.transposed()) * x;
      DeviceCsr<T> d(a);
      Array<T> right(t.numbers(b.values)), y(t.M);
      t.call("set_mat_fill_mode", t.descr, fill);
      size_t bytes = 0;
      t.typed("csrsv_buffer_size", t.handle, operation, t.M, d.count, t.descr, d.value.get(),
              d.start.get(), d.column.get(), t.info, &bytes);
      Array<char> buffer(bytes);
      t.typed("csrsv_analysis", t.handle, operation, t.M, d.count, t.descr, d.value.get(),
              d.start.get(), d.column.get(), t.info, 1, 0, buffer.get());
      t.typed("csrsv_solve", t.handle, operation, t.M, d.count, &t.one, t.descr, d.value.get(),
              d.start.get(), d.column.get(), t.info, right.get(), y.get(), 0, buffer.get());
      t.expect(y.numbers(), x.values, "csrsv");
      t.call("csrsv_clear", t.handle, t.descr, t.info);
    }
}

TYPED_TEST(SparseSolve, csrsm)
{
  USE(T);
  const int width = 11;
  for (int fill : {LOWER, UPPER}) {
    const Dense a = t.triangle(fill), x = random(t.M, width, 1, 25), b = a * x;
    DeviceCsr<T> d(a);
    Array<T> right(t.numbers(b.values));
    t.call("set_mat_fill_mode", t.descr, fill);
    size_t bytes = 0;
    t.typed("csrsm_buffer_size", t.handle, NONE, NONE, t.M, width, d.count, &t.one, t.descr,
            d.value.get(), d.start.get(), d.column.get(), right.get(), t.M, t.info, 0, &bytes);
    Array<char> buffer(bytes);
    t.typed("csrsm_analysis", t.handle, NONE, NONE, t.M, width, d.count, &t.one, t.descr,
            d.value.get(), d.start.get(), d.column.get(), right.get(), t.M, t.info, 1, 0,
            buffer.get());
    t.typed("csrsm_solve", t.handle, NONE, NONE, t.M, width, d.count, &t.one, t.descr,
            d.value.get(), d.start.get(), d.column.get(), right.get(), t.M, t.info, 0,
            buffer.get());
    t.expect(right.numbers(), x.values, "csrsm");
    t.call("csrsm_clear", t.handle, t.info);
  }
}

// Blocked rows of the matrix, which is padded to whole blocks with ones on the diagonal.
template <typename T> struct Blocked {
  template <typename Test>
  Blocked(Test &t, const Dense &a, int size)
      : block(size), mb((a.m + size - 1) / size), padded(mb * size, mb * size), csr(pad(a)),
        start(mb + 1), count(nnz(t)), column(count), value(size_t(count) * size * size)
  {
    call(t, "csr2bsr", csr.value.get());
  }
  const Dense &pad(const Dense &a)
  {
    for (int i = 0; i < padded.m; ++i)
      for (int j = 0; j < padded.n; ++j)
        padded.at(i, j) = i < a.m && j < a.n ? a.at(i, j) : i == j;
    return padded;
  }
  template <typename Test> int nnz(Test &t)
  {
    int found = 0;
    nnz_of(t, &found);
    return found;
  }
  template <typename Test> void nnz_of(Test &t, int *found)
  {
    t.call("csr2bsr_nnz", t.handle, ROW_MAJOR, padded.m, padded.m, t.other, csr.start.get(),
           csr.column.get(), block, t.descr, start.get(), found);
  }
  template <typename Test> void call(Test &t, const char *name, T *from)
  {
    t.typed(name, t.handle, ROW_MAJOR, padded.m, padded.m, t.other, from, csr.start.get(),
            csr.column.get(), block, t.descr, value.get(), start.get(), column.get());
  }
  Dense read() const
  {
    Dense a(padded.m, padded.n);
    const std::vector<int> starts = start.read(), columns = column.read();
    const std::vector<double> values = value.numbers();
    for (int i = 0; i < padded.m; ++i)
      for (int at = starts[i / block]; at < starts[i / block + 1]; ++at)
        for (int k = 0; k < block; ++k)
          a.at(i, columns[at] * block + k) = values[(size_t(at) * block + i % block) * block + k];
    return a;
  }
  const int block, mb;
  Dense padded;
  DeviceCsr<T> csr;
  Array<int> start;
  const int count;
  Array<int> column;
  Array<T> value;
};

TYPED_TEST(SparseSolve, bsrsv_and_bsrsm)
{
  USE(T);
  const int width = 5;
  for (int block : {1, 2, 3, 5, 8, 13, 16, 23, 32})
    for (int fill : {LOWER, UPPER}) {
      const std::string what = " of blocks of " + std::to_string(block);
      t.call("set_mat_fill_mode", t.descr, fill);
      Blocked<T> a(t, t.triangle(fill), block);
      const int m = a.padded.m;
      const Dense x = random(m, width, 1, 26), b = a.padded * x;
      Array<T> right(t.numbers(b.values)), y(size_t(m) * width);
      size_t bytes = 0;
      t.typed("bsrsv_buffer_size", t.handle, ROW_MAJOR, NONE, a.mb, a.count, t.descr, a.value.get(),
              a.start.get(), a.column.get(), block, t.info, &bytes);
      {
        Array<char> buffer(bytes);
        t.typed("bsrsv_analysis", t.handle, ROW_MAJOR, NONE, a.mb, a.count, t.descr, a.value.get(),
                a.start.get(), a.column.get(), block, t.info, 1, 0, buffer.get());
        t.typed("bsrsv_solve", t.handle, ROW_MAJOR, NONE, a.mb, a.count, &t.one, t.descr,
                a.value.get(), a.start.get(), a.column.get(), block, t.info, right.get(), y.get(),
                0, buffer.get());
        std::vector<double> got = y.numbers();
        got.resize(m);
        t.expect(got, {x.values.begin(), x.values.begin() + m}, "bsrsv" + what);
        t.call("bsrsv_clear", t.handle, t.info);
      }
      t.typed("bsrsm_buffer_size", t.handle, ROW_MAJOR, NONE, NONE, a.mb, width, a.count, t.descr,
              a.value.get(), a.start.get(), a.column.get(), block, t.info, &bytes);
      Array<char> buffer(bytes);
      t.typed("bsrsm_analysis", t.handle, ROW_MAJOR, NONE, NONE, a.mb, width, a.count, t.descr,
              a.value.get(), a.start.get(), a.column.get(), block, t.info, 1, 0, buffer.get());
      t.typed("bsrsm_solve", t.handle, ROW_MAJOR, NONE, NONE, a.mb, width, a.count, &t.one, t.descr,
              a.value.get(), a.start.get(), a.column.get(), block, t.info, right.get(), m, y.get(),
              m, 0, buffer.get());
      t.expect(y.numbers(), x.values, "bsrsm" + what);
      t.call("bsrsm_clear", t.handle, t.info);
    }
}

TYPED_TEST(SparseSolve, incomplete_factors)
{
  USE(T);
  const Dense a = t.symmetric(190);
  for (const char *kind : {"csrilu0", "csric0"}) {
    const bool is_lu = !strcmp(kind, "csrilu0");
    const std::string name = kind;
    DeviceCsr<T> d(a);
    size_t bytes = 0;
    t.typed(name + "_buffer_size", t.handle, a.m, d.count, t.descr, d.value.get(), d.start.get(),
            d.column.get(), t.info, &bytes);
    Array<char> buffer(bytes);
    t.typed(name + "_analysis", t.handle, a.m, d.count, t.descr, d.value.get(), d.start.get(),
            d.column.get(), t.info, 1, 0, buffer.get());
    t.typed(name, t.handle, a.m, d.count, t.descr, d.value.get(), d.start.get(), d.column.get(),
            t.info, 0, buffer.get());
    const Dense both = dense(a.m, a.m, d.start, d.column, d.value);
    Dense lower(a.m, a.m), upper(a.m, a.m);
    t.split(both, lower, upper);
    if (!is_lu) { // the lower half with its diagonal, whose transpose is the other factor
      for (int i = 0; i < a.m; ++i)
        lower.at(i, i) = both.at(i, i);
      upper = lower.transposed();
    }
    t.expect_on(a, lower * upper, a, kind);
    t.call(name + "_clear", t.handle, t.info);
  }
}

TYPED_TEST(SparseSolve, incomplete_factors_of_blocks)
{
  USE(T);
  for (int block : {2, 3, 7, 8, 16, 17, 32, 40})
    for (const char *kind : {"bsrilu0", "bsric0"}) {
      const std::string name = kind;
      Blocked<T> a(t, t.symmetric(160), block);
      const Dense pattern = [&] { // blocks are factored whole
        Dense whole = a.padded;
        for (int i = 0; i < whole.m; i += block)
          for (int j = 0; j < whole.n; j += block) {
            bool any = false;
            for (int k = 0; k < block * block; ++k)
              any |= a.padded.at(i + k / block, j + k % block) != 0;
            for (int k = 0; k < block * block; ++k)
              whole.at(i + k / block, j + k % block) = any;
          }
        return whole;
      }();
      size_t bytes = 0;
      t.typed(name + "_buffer_size", t.handle, ROW_MAJOR, a.mb, a.count, t.descr, a.value.get(),
              a.start.get(), a.column.get(), block, t.info, &bytes);
      Array<char> buffer(bytes);
      t.typed(name + "_analysis", t.handle, ROW_MAJOR, a.mb, a.count, t.descr, a.value.get(),
              a.start.get(), a.column.get(), block, t.info, 1, 0, buffer.get());
      t.typed(name, t.handle, ROW_MAJOR, a.mb, a.count, t.descr, a.value.get(), a.start.get(),
              a.column.get(), block, t.info, 0, buffer.get());
      const Dense both = a.read();
      Dense lower(both.m, both.m), upper(both.m, both.m);
      t.split(both, lower, upper);
      if (name == "bsric0") {
        for (int i = 0; i < both.m; ++i)
          lower.at(i, i) = both.at(i, i);
        upper = lower.transposed();
      }
      t.expect_on(pattern, lower * upper, a.padded,
                  (name + " of blocks of " + std::to_string(block)).c_str());
      t.call(name + "_clear", t.handle, t.info);
    }
}

// `bands` diagonals, the middle one dominant; x = 1, 2, .. in each of `width` columns.
struct Banded {
  Banded(int size, int width, int bands) : m(size), x(size, width), b(size, width)
  {
    const int reach = bands / 2;
    for (int k = 0; k < bands; ++k)
      band.push_back(std::vector<double>(size));
    for (int i = 0; i < m; ++i)
      for (int k = -reach; k <= reach; ++k)
        band[size_t(k + reach)][i] = i + k < 0 || i + k >= m ? 0
                                     : k == 0                ? 9 + i % 3
                                                             : (i + k) % 3 - 1.5;
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < m; ++i) {
        x.at(i, j) = (i + 5 * j) % 13 - 6;
      }
    for (int j = 0; j < width; ++j)
      for (int i = 0; i < m; ++i)
        for (int k = -reach; k <= reach; ++k)
          if (i + k >= 0 && i + k < m)
            b.at(i, j) += band[size_t(k + reach)][i] * x.at(i + k, j);
  }
  int m;
  std::vector<std::vector<double>> band;
  Dense x, b;
};

TYPED_TEST(SparseSolve, tridiagonal)
{
  USE(T);
  for (int m : {5, 17, 64, 100, 255, 512, 700, 1500})
    for (const char *kind : {"gtsv", "gtsv_no_pivot"}) {
      const std::string name = kind;
      const Banded system(m, 3, 3);
      Array<T> lower(t.numbers(system.band[0])), middle(t.numbers(system.band[1])),
          upper(t.numbers(system.band[2])), b(t.numbers(system.b.values));
      size_t bytes = 0;
      t.typed(name + "_buffer_size", t.handle, m, 3, lower.get(), middle.get(), upper.get(),
              b.get(), m, &bytes);
      Array<char> buffer(bytes);
      t.typed(name, t.handle, m, 3, lower.get(), middle.get(), upper.get(), b.get(), m,
              buffer.get());
      t.expect(b.numbers(), system.x.values, name + " of " + std::to_string(m));
    }
}

TYPED_TEST(SparseSolve, tridiagonal_batches)
{
  USE(T);
  for (int m : {20, 64, 300, 600}) {
    const int batch = 37, stride = m + 3;
    const Banded system(m, 1, 3);
    std::vector<double> bands[3], b(size_t(batch) * stride), x = b;
    for (auto &band : bands)
      band.resize(b.size());
    for (int k = 0; k < batch; ++k)
      for (int i = 0; i < m; ++i) {
        for (int band = 0; band < 3; ++band)
          bands[band][size_t(k) * stride + i] = system.band[band][i];
        b[size_t(k) * stride + i] = system.b.at(i, 0) * (k + 1);
        x[size_t(k) * stride + i] = system.x.at(i, 0) * (k + 1);
      }
    Array<T> lower(t.numbers(bands[0])), middle(t.numbers(bands[1])), upper(t.numbers(bands[2])),
        right(t.numbers(b));
    size_t bytes = 0;
    t.typed("gtsv_no_pivot_strided_batch_buffer_size", t.handle, m, lower.get(), middle.get(),
            upper.get(), right.get(), batch, stride, &bytes);
    Array<char> buffer(bytes);
    t.typed("gtsv_no_pivot_strided_batch", t.handle, m, lower.get(), middle.get(), upper.get(),
            right.get(), batch, stride, buffer.get());
    t.expect(right.numbers(), x, "gtsv_no_pivot_strided_batch");
  }
}

TYPED_TEST(SparseSolve, interleaved_batches)
{
  USE(T);
  const int m = 60, batch = 100;
  for (int bands : {3, 5})
    for (int algorithm = 0; algorithm < (bands == 3 ? 4 : 2); ++algorithm) {
      const Banded system(m, 1, bands);
      std::vector<std::vector<double>> band(bands, std::vector<double>(m * batch));
      std::vector<double> b(m * batch), x(m * batch);
      for (int i = 0; i < m; ++i)
        for (int k = 0; k < batch; ++k) {
          for (int n = 0; n < bands; ++n)
            band[n][i * batch + k] = system.band[n][i];
          b[i * batch + k] = system.b.at(i, 0) * (k + 1);
          x[i * batch + k] = system.x.at(i, 0) * (k + 1);
        }
      std::vector<std::unique_ptr<Array<T>>> device;
      for (auto &one : band)
        device.push_back(std::make_unique<Array<T>>(t.numbers(one)));
      Array<T> right(t.numbers(b));
      size_t bytes = 0;
      if (bands == 3) {
        T *lower = device[0]->get(), *middle = device[1]->get(), *upper = device[2]->get();
        t.typed("gtsv_interleaved_batch_buffer_size", t.handle, algorithm, m, lower, middle, upper,
                right.get(), batch, batch, &bytes);
        Array<char> buffer(bytes);
        t.typed("gtsv_interleaved_batch", t.handle, algorithm, m, lower, middle, upper, right.get(),
                batch, batch, buffer.get());
      } else {
        T *at[5];
        for (int n = 0; n < 5; ++n)
          at[n] = device[n]->get();
        t.typed("gpsv_interleaved_batch_buffer_size", t.handle, algorithm, m, at[0], at[1], at[2],
                at[3], at[4], right.get(), batch, batch, &bytes);
        Array<char> buffer(bytes);
        t.typed("gpsv_interleaved_batch", t.handle, algorithm, m, at[0], at[1], at[2], at[3], at[4],
                right.get(), batch, batch, buffer.get());
      }
      t.expect(right.numbers(), x,
               "interleaved, " + std::to_string(bands) + " bands, algorithm " +
                   std::to_string(algorithm));
    }
}

// No two neighbours have the same colour.
TYPED_TEST(SparseSolve, colouring)
{
  USE(T);
  const Dense a = t.symmetric(300);
  DeviceCsr<T> d(a);
  Array<int> colours(a.m), order(a.m);
  const T all = 1;
  int count = 0;
  t.typed("csrcolor", t.handle, a.m, d.count, t.descr, d.value.get(), d.start.get(), d.column.get(),
          &all, &count, colours.get(), order.get(), t.info);
  const std::vector<int> colour = colours.read();
  for (int i = 0; i < d.count; ++i) {
    if (d.host.row[i] != d.host.column[i]) {
      ASSERT_NE(colour[d.host.row[i]], colour[d.host.column[i]]) << i;
    }
  }
  EXPECT_GT(count, 1);
  std::vector<int> permutation = order.read();
  std::sort(permutation.begin(), permutation.end());
  for (int i = 0; i < a.m; ++i)
    ASSERT_EQ(permutation[i], i);
}

} // namespace
} // namespace sparse
