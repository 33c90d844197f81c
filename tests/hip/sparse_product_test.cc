// Products: vectors, matrix by vector, matrix by matrix, in every format.
#include "sparse.h"

namespace sparse {
namespace {

template <typename T> class SparseProduct : public Sparse<T> {
protected:
  using S = Sparse<T>;
  static constexpr int M = 301, N = 257;
  const Dense a = random(M, N, 0.06, 1);
  const Dense x = random(N, 1, 1, 2), xt = random(M, 1, 1, 3), y = random(M, 1, 1, 4),
              yt = random(N, 1, 1, 5);

  // 2 * op(a) * x - y
  std::vector<double> expected(bool transposed)
  {
    Dense product = transposed ? a.transposed() * xt : a * x;
    const Dense &before = transposed ? yt : y;
    for (size_t i = 0; i < product.values.size(); ++i)
      product.values[i] = 2 * product.values[i] - before.values[i];
    return product.values;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SparseProduct, Types);

TYPED_TEST(SparseProduct, vectors)
{
  USE(T);
  const int count = 700, size = 5000;
  std::vector<int> index(count);
  for (int i = 0; i < count; ++i)
    index[i] = 7 * i + i % 3;
  const Dense values = random(count, 1, 1, 6), dense = random(size, 1, 1, 7);
  Array<int> where(index);
  Array<T> x(t.numbers(values.values)), y(t.numbers(dense.values));
  T result = 0;
  t.typed("doti", t.handle, count, x.get(), where.get(), y.get(), &result, 0);
  double dot = 0;
  std::vector<double> sum = dense.values, gathered(count), scattered = dense.values;
  for (int i = 0; i < count; ++i) {
    dot += values.values[i] * dense.values[index[i]];
    sum[index[i]] += 2 * values.values[i];
    gathered[i] = dense.values[index[i]];
    scattered[index[i]] = values.values[i];
  }
  t.expect({(double)result}, {dot}, "doti");
  {
    Array<T> to(t.numbers(dense.values));
    t.typed("axpyi", t.handle, count, &t.two, x.get(), where.get(), to.get(), 0);
    t.expect(to.numbers(), sum, "axpyi");
  }
  {
    Array<T> to(t.numbers(dense.values));
    t.typed("sctr", t.handle, count, x.get(), where.get(), to.get(), 0);
    t.expect(to.numbers(), scattered, "sctr");
  }
  {
    Array<T> from(t.numbers(dense.values)), to(count);
    t.typed("gthr", t.handle, count, from.get(), to.get(), where.get(), 0);
    t.expect(to.numbers(), gathered, "gthr");
    t.typed("gthrz", t.handle, count, from.get(), to.get(), where.get(), 0);
    t.expect(to.numbers(), gathered, "gthrz");
    std::vector<double> cleared = dense.values;
    for (int at : index)
      cleared[at] = 0;
    t.expect(from.numbers(), cleared, "gthrz clears");
  }
  {
    const T c = T(0.6), s = T(0.8);
    std::vector<double> new_x(count), new_y = dense.values;
    for (int i = 0; i < count; ++i) {
      new_x[i] = (double)c * values.values[i] + (double)s * dense.values[index[i]];
      new_y[index[i]] = (double)c * dense.values[index[i]] - (double)s * values.values[i];
    }
    t.typed("roti", t.handle, count, x.get(), where.get(), y.get(), &c, &s, 0);
    t.expect(x.numbers(), new_x, "roti x");
    t.expect(y.numbers(), new_y, "roti y");
  }
}

TYPED_TEST(SparseProduct, csrmv_with_and_without_analysis)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  for (int operation : {NONE, TRANSPOSE}) {
    const bool is_transposed = operation == TRANSPOSE;
    for (bool is_analysed : {false, true}) {
      Array<T> x(t.numbers(is_transposed ? t.xt.values : t.x.values)),
          y(t.numbers(is_transposed ? t.yt.values : t.y.values));
      if (is_analysed)
        t.typed("csrmv_analysis", t.handle, operation, a.m, a.n, a.count, t.descr, a.value.get(),
                a.start.get(), a.column.get(), t.info);
      t.typed("csrmv", t.handle, operation, a.m, a.n, a.count, &t.two, t.descr, a.value.get(),
              a.start.get(), a.column.get(), is_analysed ? t.info : t.none, x.get(), &t.minus,
              y.get());
      t.expect(y.numbers(), t.expected(is_transposed), "csrmv");
      if (is_analysed)
        t.call("csrmv_clear", t.handle, t.info);
    }
  }
}

// Rows of every length that the adaptive kernel tells apart, among them one longer than LDS.
TYPED_TEST(SparseProduct, csrmv_adaptive_on_uneven_rows)
{
  USE(T);
  const int m = 400, n = 6000;
  Dense a(m, n);
  for (int i = 0; i < m; ++i) {
    const int length = i == 7 ? n : i % 50 == 3 ? 900 : i % 5;
    for (int k = 0; k < length; ++k)
      a.at(i, (i * 13 + k) % n) = (i + k) % 7 - 3.5;
  }
  const Dense x = random(n, 1, 1, 8);
  DeviceCsr<T> device(a);
  Array<T> device_x(t.numbers(x.values)), y(m);
  t.typed("csrmv_analysis", t.handle, NONE, m, n, device.count, t.descr, device.value.get(),
          device.start.get(), device.column.get(), t.info);
  t.typed("csrmv", t.handle, NONE, m, n, device.count, &t.one, t.descr, device.value.get(),
          device.start.get(), device.column.get(), t.info, device_x.get(), &t.zero, y.get());
  t.expect(y.numbers(), (a * x).values, "csrmv");
  t.call("csrmv_clear", t.handle, t.info);
}

TYPED_TEST(SparseProduct, coomv)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  Array<int> row(a.host.row);
  Array<T> x(t.numbers(t.x.values)), y(t.numbers(t.y.values));
  t.typed("coomv", t.handle, NONE, a.m, a.n, a.count, &t.two, t.descr, a.value.get(), row.get(),
          a.column.get(), x.get(), &t.minus, y.get());
  t.expect(y.numbers(), t.expected(false), "coomv");
  Array<T> xt(t.numbers(t.xt.values)), yt(t.numbers(t.yt.values));
  t.typed("coomv", t.handle, TRANSPOSE, a.m, a.n, a.count, &t.two, t.descr, a.value.get(),
          row.get(), a.column.get(), xt.get(), &t.minus, yt.get());
  t.expect(yt.numbers(), t.expected(true), "coomv, transposed");
}

TYPED_TEST(SparseProduct, ellmv_and_hybmv)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  int width = 0;
  t.call("csr2ell_width", t.handle, a.m, t.descr, a.start.get(), t.other, &width);
  Array<T> ell(size_t(width) * a.m);
  Array<int> ell_columns(size_t(width) * a.m);
  t.typed("csr2ell", t.handle, a.m, t.descr, a.value.get(), a.start.get(), a.column.get(), t.other,
          width, ell.get(), ell_columns.get());
  Array<T> x(t.numbers(t.x.values));
  {
    Array<T> y(t.numbers(t.y.values));
    t.typed("ellmv", t.handle, NONE, a.m, a.n, &t.two, t.other, ell.get(), ell_columns.get(), width,
            x.get(), &t.minus, y.get());
    t.expect(y.numbers(), t.expected(false), "ellmv");
  }
  {
    Array<T> xt(t.numbers(t.xt.values)), yt(t.numbers(t.yt.values));
    t.typed("ellmv", t.handle, TRANSPOSE, a.m, a.n, &t.two, t.other, ell.get(), ell_columns.get(),
            width, xt.get(), &t.minus, yt.get());
    t.expect(yt.numbers(), t.expected(true), "ellmv, transposed");
  }
  for (int partition : {0, 1}) { // by itself; 5 columns
    void *hyb = nullptr;
    t.call("create_hyb_mat", &hyb);
    t.typed("csr2hyb", t.handle, a.m, a.n, t.descr, a.value.get(), a.start.get(), a.column.get(),
            hyb, 5, partition);
    Array<T> y(t.numbers(t.y.values));
    t.typed("hybmv", t.handle, NONE, &t.two, t.descr, hyb, x.get(), &t.minus, y.get());
    t.expect(y.numbers(), t.expected(false), "hybmv");
    size_t bytes = 0;
    t.call("hyb2csr_buffer_size", t.handle, t.descr, hyb, a.start.get(), &bytes);
    Array<char> buffer(bytes);
    Array<int> start(a.m + 1), column(a.count);
    Array<T> value(a.count);
    t.typed("hyb2csr", t.handle, t.descr, hyb, value.get(), start.get(), column.get(),
            buffer.get());
    t.expect(dense(a.m, a.n, start, column, value).values, t.a.values, "hyb2csr");
    t.call("destroy_hyb_mat", hyb);
  }
}

TYPED_TEST(SparseProduct, blocks_of_every_size)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  for (int block : {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 32, 40}) {
    for (int direction : {ROW_MAJOR, COLUMN_MAJOR}) {
      const std::string what = " of blocks of " + std::to_string(block);
      const int mb = (a.m + block - 1) / block, nb = (a.n + block - 1) / block;
      Array<int> start(mb + 1);
      int count = 0;
      t.call("csr2bsr_nnz", t.handle, direction, a.m, a.n, t.descr, a.start.get(), a.column.get(),
             block, t.other, start.get(), &count);
      Array<int> column(count);
      Array<T> value(size_t(count) * block * block);
      t.typed("csr2bsr", t.handle, direction, a.m, a.n, t.descr, a.value.get(), a.start.get(),
              a.column.get(), block, t.other, value.get(), start.get(), column.get());
      Dense padded(nb * block, 1), result(mb * block, 1);
      std::copy(t.x.values.begin(), t.x.values.end(), padded.values.begin());
      std::copy(t.y.values.begin(), t.y.values.end(), result.values.begin());
      Array<T> x(t.numbers(padded.values)), y(t.numbers(result.values));
      t.typed("bsrmv", t.handle, direction, NONE, mb, nb, count, &t.two, t.other, value.get(),
              start.get(), column.get(), block, x.get(), &t.minus, y.get());
      std::vector<double> got = y.numbers();
      got.resize(a.m);
      t.expect(got, t.expected(false), "bsrmv" + what);

      const int width = 19;
      Dense b = random(nb * block, width, 0.8, 9);
      Array<T> device_b(t.numbers(b.values)), c(size_t(mb) * block * width);
      t.typed("bsrmm", t.handle, direction, NONE, NONE, mb, width, nb, count, &t.two, t.other,
              value.get(), start.get(), column.get(), block, device_b.get(), b.m, &t.zero, c.get(),
              mb * block);
      Dense large(mb * block, nb * block);
      for (int i = 0; i < a.m; ++i)
        for (int j = 0; j < a.n; ++j)
          large.at(i, j) = 2 * t.a.at(i, j);
      t.expect(c.numbers(), (large * b).values, "bsrmm" + what);

      const int total = count * block * block;
      Array<int> csr_start(mb * block + 1), csr_column(total);
      Array<T> csr_value(total);
      t.typed("bsr2csr", t.handle, direction, mb, nb, t.other, value.get(), start.get(),
              column.get(), block, t.descr, csr_value.get(), csr_start.get(), csr_column.get());
      Dense back = dense(mb * block, nb * block, csr_start, csr_column, csr_value);
      for (double &one : back.values)
        one *= 2;
      t.expect(back.values, large.values, "bsr2csr" + what);
    }
  }
}

TYPED_TEST(SparseProduct, rectangular_blocks)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  const struct {
    int rows, columns;
  } shapes[] = {{2, 3}, {3, 2}, {1, 4}, {4, 1}, {5, 3}, {8, 4}, {3, 16}, {17, 20}};
  for (auto [rows, columns] : shapes) {
    const std::string what =
        " of blocks of " + std::to_string(rows) + " x " + std::to_string(columns);
    const int mb = (a.m + rows - 1) / rows, nb = (a.n + columns - 1) / columns;
    size_t bytes = 0;
    t.typed("csr2gebsr_buffer_size", t.handle, ROW_MAJOR, a.m, a.n, t.descr, a.value.get(),
            a.start.get(), a.column.get(), rows, columns, &bytes);
    Array<char> buffer(bytes);
    Array<int> start(mb + 1);
    int count = 0;
    t.call("csr2gebsr_nnz", t.handle, ROW_MAJOR, a.m, a.n, t.descr, a.start.get(), a.column.get(),
           t.other, start.get(), rows, columns, &count, buffer.get());
    Array<int> column(count);
    Array<T> value(size_t(count) * rows * columns);
    t.typed("csr2gebsr", t.handle, ROW_MAJOR, a.m, a.n, t.descr, a.value.get(), a.start.get(),
            a.column.get(), t.other, value.get(), start.get(), column.get(), rows, columns,
            buffer.get());
    Dense padded(nb * columns, 1), result(mb * rows, 1);
    std::copy(t.x.values.begin(), t.x.values.end(), padded.values.begin());
    std::copy(t.y.values.begin(), t.y.values.end(), result.values.begin());
    Array<T> x(t.numbers(padded.values)), y(t.numbers(result.values));
    t.typed("gebsrmv", t.handle, ROW_MAJOR, NONE, mb, nb, count, &t.two, t.other, value.get(),
            start.get(), column.get(), rows, columns, x.get(), &t.minus, y.get());
    std::vector<double> got = y.numbers();
    got.resize(a.m);
    t.expect(got, t.expected(false), "gebsrmv" + what);

    const int width = 9, total = count * rows * columns;
    const Dense b = random(nb * columns, width, 0.8, 9);
    Dense large(mb * rows, nb * columns);
    for (int i = 0; i < a.m; ++i)
      for (int j = 0; j < a.n; ++j)
        large.at(i, j) = t.a.at(i, j);
    Array<T> device_b(t.numbers(b.values)), c(size_t(mb) * rows * width);
    t.typed("gebsrmm", t.handle, ROW_MAJOR, NONE, NONE, mb, width, nb, count, &t.one, t.other,
            value.get(), start.get(), column.get(), rows, columns, device_b.get(), b.m, &t.zero,
            c.get(), mb * rows);
    t.expect(c.numbers(), (large * b).values, "gebsrmm" + what);

    Array<int> csr_start(mb * rows + 1), csr_column(total);
    Array<T> csr_value(total);
    t.typed("gebsr2csr", t.handle, ROW_MAJOR, mb, nb, t.other, value.get(), start.get(),
            column.get(), rows, columns, t.descr, csr_value.get(), csr_start.get(),
            csr_column.get());
    t.expect(dense(mb * rows, nb * columns, csr_start, csr_column, csr_value).values, large.values,
             "gebsr2csr" + what);

    t.typed("gebsr2gebsc_buffer_size", t.handle, mb, nb, count, value.get(), start.get(),
            column.get(), rows, columns, &bytes);
    Array<char> more(bytes);
    Array<int> csc_start(nb + 1), csc_row(count);
    Array<T> csc_value(size_t(count) * rows * columns);
    t.typed("gebsr2gebsc", t.handle, mb, nb, count, value.get(), start.get(), column.get(), rows,
            columns, csc_value.get(), csc_row.get(), csc_start.get(), 1, 0, more.get());
    const std::vector<int> starts = csc_start.read(), block_rows = csc_row.read();
    const std::vector<double> values = csc_value.numbers();
    Dense back(large.m, large.n);
    for (int j = 0; j < nb; ++j)
      for (int at = starts[j]; at < starts[j + 1]; ++at)
        for (int k = 0; k < rows * columns; ++k)
          back.at(block_rows[at] * rows + k / columns, j * columns + k % columns) =
              values[size_t(at) * rows * columns + k];
    t.expect(back.values, large.values, "gebsr2gebsc" + what);
  }
}

TYPED_TEST(SparseProduct, matrix_by_matrix)
{
  USE(T);
  const int width = 37;
  DeviceCsr<T> a(t.a);
  for (int operation_a : {NONE, TRANSPOSE})
    for (int operation_b : {NONE, TRANSPOSE}) {
      const Dense left = operation_a == NONE ? t.a : t.a.transposed();
      const Dense right = random(left.n, width, 0.9, 10), before = random(left.m, width, 1, 11);
      const Dense given = operation_b == NONE ? right : right.transposed();
      Array<T> b(t.numbers(given.values)), c(t.numbers(before.values));
      t.typed("csrmm", t.handle, operation_a, operation_b, a.m, width, a.n, a.count, &t.two,
              t.descr, a.value.get(), a.start.get(), a.column.get(), b.get(), given.m, &t.minus,
              c.get(), left.m);
      Dense expected = left * right;
      for (size_t i = 0; i < expected.values.size(); ++i)
        expected.values[i] = 2 * expected.values[i] - before.values[i];
      t.expect(c.numbers(), expected.values, "csrmm");
    }
  // Dense by the transpose of a sparse one.
  const Dense left = random(23, t.N, 0.9, 12);
  Array<T> dense_a(t.numbers(left.values)), c(size_t(23) * a.m);
  t.typed("gemmi", t.handle, NONE, TRANSPOSE, 23, a.m, a.n, a.count, &t.one, dense_a.get(), 23,
          t.descr, a.value.get(), a.start.get(), a.column.get(), &t.zero, c.get(), 23);
  t.expect(c.numbers(), (left * t.a.transposed()).values, "gemmi");
}

TYPED_TEST(SparseProduct, dense_matrix_by_sparse_vector)
{
  USE(T);
  const Dense a = random(133, 900, 0.9, 13);
  std::vector<int> index;
  std::vector<double> values;
  Dense x(900, 1);
  for (int i = 0; i < 60; ++i) {
    index.push_back(i * 15 + i % 4);
    values.push_back(i % 9 - 4.5);
    x.at(index.back(), 0) = values.back();
  }
  Array<int> where(index);
  Array<T> device_a(t.numbers(a.values)), device_x(t.numbers(values)), y(133);
  size_t bytes = 0;
  t.typed("gemvi_buffer_size", t.handle, NONE, a.m, a.n, 60, &bytes);
  Array<char> buffer(bytes);
  t.typed("gemvi", t.handle, NONE, a.m, a.n, &t.one, device_a.get(), a.m, 60, device_x.get(),
          where.get(), &t.zero, y.get(), 0, buffer.get());
  t.expect(y.numbers(), (a * x).values, "gemvi");
}

TYPED_TEST(SparseProduct, sparse_by_sparse)
{
  USE(T);
  const Dense right = random(t.N, 190, 0.05, 14), third = random(t.M, 190, 0.02, 15);
  DeviceCsr<T> a(t.a), b(right), d(third);
  void *third_descr = nullptr, *result = nullptr;
  t.call("create_mat_descr", &third_descr);
  t.call("create_mat_descr", &result);
  size_t bytes = 0;
  t.typed("csrgemm_buffer_size", t.handle, NONE, NONE, a.m, 190, a.n, &t.two, t.descr, a.count,
          a.start.get(), a.column.get(), t.other, b.count, b.start.get(), b.column.get(), &t.minus,
          third_descr, d.count, d.start.get(), d.column.get(), t.info, &bytes);
  Array<char> buffer(bytes);
  Array<int> start(a.m + 1);
  int count = 0;
  t.call("csrgemm_nnz", t.handle, NONE, NONE, a.m, 190, a.n, t.descr, a.count, a.start.get(),
         a.column.get(), t.other, b.count, b.start.get(), b.column.get(), third_descr, d.count,
         d.start.get(), d.column.get(), result, start.get(), &count, t.info, buffer.get());
  Array<int> column(count);
  Array<T> value(count);
  t.typed("csrgemm", t.handle, NONE, NONE, a.m, 190, a.n, &t.two, t.descr, a.count, a.value.get(),
          a.start.get(), a.column.get(), t.other, b.count, b.value.get(), b.start.get(),
          b.column.get(), &t.minus, third_descr, d.count, d.value.get(), d.start.get(),
          d.column.get(), result, value.get(), start.get(), column.get(), t.info, buffer.get());
  Dense expected = t.a * right;
  for (size_t i = 0; i < expected.values.size(); ++i)
    expected.values[i] = 2 * expected.values[i] - third.values[i];
  t.expect(dense(a.m, 190, start, column, value).values, expected.values, "csrgemm");
  for (void *made : {third_descr, result})
    t.call("destroy_mat_descr", made);
}

TYPED_TEST(SparseProduct, sum_of_sparse_matrices)
{
  USE(T);
  const Dense right = random(t.M, t.N, 0.04, 16);
  DeviceCsr<T> a(t.a), b(right);
  void *result = nullptr;
  t.call("create_mat_descr", &result);
  Array<int> start(a.m + 1);
  int count = 0;
  t.call("csrgeam_nnz", t.handle, a.m, a.n, t.descr, a.count, a.start.get(), a.column.get(),
         t.other, b.count, b.start.get(), b.column.get(), result, start.get(), &count);
  Array<int> column(count);
  Array<T> value(count);
  t.typed("csrgeam", t.handle, a.m, a.n, &t.two, t.descr, a.count, a.value.get(), a.start.get(),
          a.column.get(), &t.minus, t.other, b.count, b.value.get(), b.start.get(), b.column.get(),
          result, value.get(), start.get(), column.get());
  Dense expected = t.a;
  for (size_t i = 0; i < expected.values.size(); ++i)
    expected.values[i] = 2 * expected.values[i] - right.values[i];
  t.expect(dense(a.m, a.n, start, column, value).values, expected.values, "csrgeam");
  t.call("destroy_mat_descr", result);
}

// The elements of a product of dense matrices that a sparse one has.
TYPED_TEST(SparseProduct, sampled_dense_product)
{
  USE(T);
  const int depth = 45;
  const Dense left = random(t.M, depth, 0.9, 17), right = random(depth, t.N, 0.9, 18);
  DeviceCsr<T> c(t.a);
  Array<T> device_a(t.numbers(left.values)), device_b(t.numbers(right.values));
  void *a = nullptr, *b = nullptr, *sampled = nullptr;
  t.call("create_dnmat_descr", &a, int64_t(t.M), int64_t(depth), int64_t(t.M),
         (void *)device_a.get(), t.type, 1);
  t.call("create_dnmat_descr", &b, int64_t(depth), int64_t(t.N), int64_t(depth),
         (void *)device_b.get(), t.type, 1);
  t.call("create_csr_descr", &sampled, int64_t(t.M), int64_t(t.N), int64_t(c.count),
         (void *)c.start.get(), (void *)c.column.get(), (void *)c.value.get(), INDEX_I32, INDEX_I32,
         0, t.type);
  size_t bytes = 0;
  t.call("sddmm_buffer_size", t.handle, NONE, NONE, (const void *)&t.two, a, b,
         (const void *)&t.minus, sampled, t.type, 0, &bytes);
  Array<char> buffer(bytes);
  t.call("sddmm_preprocess", t.handle, NONE, NONE, (const void *)&t.two, a, b,
         (const void *)&t.minus, sampled, t.type, 0, (void *)buffer.get());
  t.call("sddmm", t.handle, NONE, NONE, (const void *)&t.two, a, b, (const void *)&t.minus, sampled,
         t.type, 0, (void *)buffer.get());
  const Dense product = left * right;
  std::vector<double> expected;
  for (int i = 0; i < c.count; ++i)
    expected.push_back(2 * product.at(c.host.row[i], c.host.column[i]) - c.host.value[i]);
  t.expect(c.value.numbers(), expected, "sddmm");
  t.call("destroy_spmat_descr", sampled);
  for (void *made : {a, b})
    t.call("destroy_dnmat_descr", made);
}

TYPED_TEST(SparseProduct, sparse_by_dense_vector)
{
  USE(T);
  std::vector<int> index;
  std::vector<double> values;
  const Dense y = random(40000, 1, 1, 19);
  double expected = 0;
  for (int i = 0; i < 9000; ++i) {
    index.push_back(4 * i + i % 4);
    values.push_back(i % 5 - 2);
    expected += values.back() * y.values[index.back()];
  }
  Array<int> where(index);
  Array<T> device_x(t.numbers(values)), device_y(t.numbers(y.values));
  void *sparse_x = nullptr, *dense_y = nullptr;
  t.call("create_spvec_descr", &sparse_x, int64_t(40000), int64_t(9000), (void *)where.get(),
         (void *)device_x.get(), INDEX_I32, 0, t.type);
  t.call("create_dnvec_descr", &dense_y, int64_t(40000), (void *)device_y.get(), t.type);
  size_t bytes = 0;
  T result = 0;
  t.call("spvv", t.handle, NONE, sparse_x, dense_y, (void *)&result, t.type, &bytes, t.none);
  Array<char> buffer(bytes);
  t.call("spvv", t.handle, NONE, sparse_x, dense_y, (void *)&result, t.type, &bytes,
         (void *)buffer.get());
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  t.expect({(double)result}, {expected}, "spvv");
  t.call("destroy_spvec_descr", sparse_x);
  t.call("destroy_dnvec_descr", dense_y);
}

} // namespace
} // namespace sparse
