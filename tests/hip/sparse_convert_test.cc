// Conversions between formats, sorting, and leaving elements out.
#include "sparse.h"

namespace sparse {
namespace {

template <typename T> class SparseConvert : public Sparse<T> {
protected:
  static constexpr int M = 150, N = 210;
  const Dense a = random(M, N, 0.1, 31);
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SparseConvert, Types);

TYPED_TEST(SparseConvert, dense_to_sparse_and_back)
{
  USE(T);
  const int m = t.M, n = t.N;
  const Csr host(t.a);
  Array<T> a(t.numbers(t.a.values)), back(size_t(m) * n), value(host.count());
  Array<int> rows(m), columns(n), start(m + 1), column(host.count());
  int total = 0;
  t.typed("nnz", t.handle, ROW_MAJOR, m, n, t.descr, a.get(), m, rows.get(), &total);
  EXPECT_EQ(total, host.count());
  t.typed("dense2csr", t.handle, m, n, t.descr, a.get(), m, rows.get(), value.get(), start.get(),
          column.get());
  EXPECT_EQ(start.read(), host.start);
  EXPECT_EQ(column.read(), host.column);
  t.expect(value.numbers(), host.value, "dense2csr");
  t.typed("csr2dense", t.handle, m, n, t.descr, value.get(), start.get(), column.get(), back.get(),
          m);
  t.expect(back.numbers(), t.a.values, "csr2dense");
  {
    Array<int> row(host.count()), coo_column(host.count());
    t.typed("dense2coo", t.handle, m, n, t.descr, a.get(), m, rows.get(), value.get(), row.get(),
            coo_column.get());
    EXPECT_EQ(row.read(), host.row);
    EXPECT_EQ(coo_column.read(), host.column);
    Array<T> again(size_t(m) * n);
    t.typed("coo2dense", t.handle, m, n, host.count(), t.descr, value.get(), row.get(),
            coo_column.get(), again.get(), m);
    t.expect(again.numbers(), t.a.values, "coo2dense");
  }
  const Csr transposed(t.a.transposed());
  Array<int> csc_start(n + 1), csc_row(host.count());
  t.typed("nnz", t.handle, COLUMN_MAJOR, m, n, t.descr, a.get(), m, columns.get(), &total);
  EXPECT_EQ(total, host.count());
  t.typed("dense2csc", t.handle, m, n, t.descr, a.get(), m, columns.get(), value.get(),
          csc_start.get(), csc_row.get());
  EXPECT_EQ(csc_start.read(), transposed.start);
  EXPECT_EQ(csc_row.read(), transposed.column);
  t.expect(value.numbers(), transposed.value, "dense2csc");
  Array<T> again(size_t(m) * n);
  t.typed("csc2dense", t.handle, m, n, t.descr, value.get(), csc_start.get(), csc_row.get(),
          again.get(), m);
  t.expect(again.numbers(), t.a.values, "csc2dense");
}

TYPED_TEST(SparseConvert, rows_columns_and_coordinates)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  Array<int> row(a.count), start(a.m + 1);
  t.call("csr2coo", t.handle, a.start.get(), a.count, a.m, row.get(), 0);
  EXPECT_EQ(row.read(), a.host.row);
  t.call("coo2csr", t.handle, row.get(), a.count, a.m, start.get(), 0);
  EXPECT_EQ(start.read(), a.host.start);

  const Csr transposed(t.a.transposed());
  size_t bytes = 0;
  t.call("csr2csc_buffer_size", t.handle, a.m, a.n, a.count, a.start.get(), a.column.get(), 1,
         &bytes);
  Array<char> buffer(bytes);
  Array<int> csc_start(a.n + 1), csc_row(a.count);
  Array<T> value(a.count);
  t.typed("csr2csc", t.handle, a.m, a.n, a.count, a.value.get(), a.start.get(), a.column.get(),
          value.get(), csc_row.get(), csc_start.get(), 1, 0, buffer.get());
  EXPECT_EQ(csc_start.read(), transposed.start);
  EXPECT_EQ(csc_row.read(), transposed.column);
  t.expect(value.numbers(), transposed.value, "csr2csc");
}

TYPED_TEST(SparseConvert, ell)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  int width = 0, count = 0;
  t.call("csr2ell_width", t.handle, a.m, t.descr, a.start.get(), t.other, &width);
  Array<T> ell(size_t(width) * a.m), value(a.count);
  Array<int> ell_column(size_t(width) * a.m), start(a.m + 1), column(a.count);
  t.typed("csr2ell", t.handle, a.m, t.descr, a.value.get(), a.start.get(), a.column.get(), t.other,
          width, ell.get(), ell_column.get());
  t.call("ell2csr_nnz", t.handle, a.m, a.n, t.other, width, ell_column.get(), t.descr, start.get(),
         &count);
  ASSERT_EQ(count, a.count);
  t.typed("ell2csr", t.handle, a.m, a.n, t.other, width, ell.get(), ell_column.get(), t.descr,
          value.get(), start.get(), column.get());
  EXPECT_EQ(column.read(), a.host.column);
  t.expect(value.numbers(), a.host.value, "ell2csr");
}

TYPED_TEST(SparseConvert, blocks_to_blocks)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  const int shapes[] = {1, 2, 3, 4, 5, 8, 17};
  for (int from : {2, 5})
    for (int to : shapes) {
      const int mb = (a.m + from - 1) / from, nb = (a.n + from - 1) / from;
      const int mc = (mb * from + to - 1) / to, nc = (nb * from + to - 1) / to;
      int count = 0, wanted = 0;
      Array<int> start(mb + 1), start_c(mc + 1);
      t.call("csr2bsr_nnz", t.handle, ROW_MAJOR, a.m, a.n, t.other, a.start.get(), a.column.get(),
             from, t.descr, start.get(), &count);
      Array<int> column(count);
      Array<T> value(size_t(count) * from * from);
      t.typed("csr2bsr", t.handle, ROW_MAJOR, a.m, a.n, t.other, a.value.get(), a.start.get(),
              a.column.get(), from, t.descr, value.get(), start.get(), column.get());
      size_t bytes = 0;
      t.typed("gebsr2gebsr_buffer_size", t.handle, ROW_MAJOR, mb, nb, count, t.descr, value.get(),
              start.get(), column.get(), from, from, to, to, &bytes);
      Array<char> buffer(bytes);
      t.call("gebsr2gebsr_nnz", t.handle, ROW_MAJOR, mb, nb, count, t.descr, start.get(),
             column.get(), from, from, t.other, start_c.get(), to, to, &wanted, buffer.get());
      Array<int> column_c(wanted);
      Array<T> value_c(size_t(wanted) * to * to);
      t.typed("gebsr2gebsr", t.handle, ROW_MAJOR, mb, nb, count, t.descr, value.get(), start.get(),
              column.get(), from, from, t.other, value_c.get(), start_c.get(), column_c.get(), to,
              to, buffer.get());
      Dense back(mc * to, nc * to), expected(mc * to, nc * to);
      for (int i = 0; i < a.m; ++i)
        for (int j = 0; j < a.n; ++j)
          expected.at(i, j) = t.a.at(i, j);
      const std::vector<int> starts = start_c.read(), columns = column_c.read();
      const std::vector<double> values = value_c.numbers();
      for (int i = 0; i < mc; ++i)
        for (int at = starts[i]; at < starts[i + 1]; ++at)
          for (int k = 0; k < to * to; ++k)
            back.at(i * to + k / to, columns[at] * to + k % to) = values[size_t(at) * to * to + k];
      t.expect(back.values, expected.values,
               "gebsr2gebsr " + std::to_string(from) + " to " + std::to_string(to));
    }
}

TYPED_TEST(SparseConvert, elements_below_a_threshold_are_left_out)
{
  USE(T);
  const T threshold = T(2.5);
  const int m = t.M, n = t.N;
  DeviceCsr<T> a(t.a);
  Array<T> full(t.numbers(t.a.values));
  Dense kept = t.a;
  for (double &value : kept.values)
    value = std::fabs(value) > 2.5 ? value : 0;
  const Csr expected(kept);
  Array<int> start(m + 1), column(expected.count());
  Array<T> value(expected.count());
  size_t bytes = 0;
  int count = 0;
  t.typed("prune_dense2csr_buffer_size", t.handle, m, n, full.get(), m, &threshold, t.other,
          value.get(), start.get(), column.get(), &bytes);
  {
    Array<char> buffer(bytes);
    t.typed("prune_dense2csr_nnz", t.handle, m, n, full.get(), m, &threshold, t.other, start.get(),
            &count, buffer.get());
    ASSERT_EQ(count, expected.count());
    t.typed("prune_dense2csr", t.handle, m, n, full.get(), m, &threshold, t.other, value.get(),
            start.get(), column.get(), buffer.get());
    t.expect(dense(m, n, start, column, value).values, kept.values, "prune_dense2csr");
  }
  t.typed("prune_csr2csr_buffer_size", t.handle, m, n, a.count, t.descr, a.value.get(),
          a.start.get(), a.column.get(), &threshold, t.other, value.get(), start.get(),
          column.get(), &bytes);
  {
    Array<char> buffer(bytes);
    t.typed("prune_csr2csr_nnz", t.handle, m, n, a.count, t.descr, a.value.get(), a.start.get(),
            a.column.get(), &threshold, t.other, start.get(), &count, buffer.get());
    ASSERT_EQ(count, expected.count());
    t.typed("prune_csr2csr", t.handle, m, n, a.count, t.descr, a.value.get(), a.start.get(),
            a.column.get(), &threshold, t.other, value.get(), start.get(), column.get(),
            buffer.get());
    t.expect(dense(m, n, start, column, value).values, kept.values, "prune_csr2csr");
  }
  Array<int> rows(m);
  t.typed("nnz_compress", t.handle, m, t.descr, a.value.get(), a.start.get(), rows.get(), &count,
          threshold);
  ASSERT_EQ(count, expected.count());
  t.typed("csr2csr_compress", t.handle, m, n, t.descr, a.value.get(), a.start.get(), a.column.get(),
          a.count, rows.get(), value.get(), start.get(), column.get(), threshold);
  t.expect(dense(m, n, start, column, value).values, kept.values, "csr2csr_compress");
}

// Of values that differ in size, the smaller part goes: found by sorting them all.
TYPED_TEST(SparseConvert, a_percentage_is_left_out)
{
  USE(T);
  const int m = t.M, n = t.N;
  Dense a(m, n);
  std::vector<int> order(size_t(m) * n);
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = int(i) + 1;
  std::shuffle(order.begin(), order.end(), std::mt19937(32));
  for (size_t i = 0; i < order.size(); ++i)
    a.values[i] = order[i] % 2 ? order[i] : -order[i];
  const T share = 70;
  Array<T> full(t.numbers(a.values));
  Array<int> start(m + 1);
  size_t bytes = 0;
  int count = 0;
  t.typed("prune_dense2csr_by_percentage_buffer_size", t.handle, m, n, full.get(), m, share,
          t.other, (T *)nullptr, start.get(), (int *)nullptr, t.info, &bytes);
  Array<char> buffer(bytes);
  t.typed("prune_dense2csr_nnz_by_percentage", t.handle, m, n, full.get(), m, share, t.other,
          start.get(), &count, t.info, buffer.get());
  Array<int> column(count);
  Array<T> value(count);
  t.typed("prune_dense2csr_by_percentage", t.handle, m, n, full.get(), m, share, t.other,
          value.get(), start.get(), column.get(), t.info, buffer.get());
  const double least = m * n - count;
  EXPECT_NEAR(count, 0.3 * m * n, 2);
  for (double &one : a.values)
    one = std::fabs(one) > least ? one : 0;
  t.expect(dense(m, n, start, column, value).values, a.values, "prune_dense2csr_by_percentage");
}

TYPED_TEST(SparseConvert, sorted_by_row_and_by_column)
{
  USE(T);
  Csr host(t.a);
  std::vector<int> order(host.count());
  for (int i = 0; i < host.count(); ++i)
    order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(33));
  std::vector<int> rows, columns;
  for (int from : order) {
    rows.push_back(host.row[from]);
    columns.push_back(host.column[from]);
  }
  for (const char *name : {"coosort_by_row", "coosort_by_column"}) {
    Array<int> row(rows), column(columns), permutation(rows.size());
    size_t bytes = 0;
    t.call("coosort_buffer_size", t.handle, t.M, t.N, host.count(), row.get(), column.get(),
           &bytes);
    Array<char> buffer(bytes);
    t.call("create_identity_permutation", t.handle, host.count(), permutation.get());
    t.call(name, t.handle, t.M, t.N, host.count(), row.get(), column.get(), permutation.get(),
           buffer.get());
    const bool by_row = !strcmp(name, "coosort_by_row");
    const Csr transposed(t.a.transposed());
    EXPECT_EQ(row.read(), by_row ? host.row : transposed.column) << name;
    EXPECT_EQ(column.read(), by_row ? host.column : transposed.row) << name;
    const std::vector<int> from = permutation.read(), sorted = row.read();
    for (size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(rows[size_t(from[i])], sorted[i]) << name;
  }
  const Csr transposed(t.a.transposed());
  std::vector<int> reversed = transposed.column;
  for (int i = 0; i < transposed.m; ++i)
    std::reverse(reversed.begin() + transposed.start[i],
                 reversed.begin() + transposed.start[i + 1]);
  Array<int> start(transposed.start), row(reversed), permutation(reversed.size());
  size_t bytes = 0;
  t.call("cscsort_buffer_size", t.handle, t.M, t.N, host.count(), start.get(), row.get(), &bytes);
  Array<char> buffer(bytes);
  t.call("create_identity_permutation", t.handle, host.count(), permutation.get());
  t.call("cscsort", t.handle, t.M, t.N, host.count(), t.descr, start.get(), row.get(),
         permutation.get(), buffer.get());
  EXPECT_EQ(row.read(), transposed.column);
}

TYPED_TEST(SparseConvert, damaged_matrices_are_found)
{
  USE(T);
  DeviceCsr<T> a(t.a);
  std::vector<int> damaged = a.host.column;
  damaged[100] = t.N + 5;
  std::vector<double> not_a_number = a.host.value;
  not_a_number[50] = NAN;
  Array<int> columns(damaged);
  Array<T> values(t.numbers(not_a_number));
  size_t bytes = 0;
  t.typed("check_matrix_csr_buffer_size", t.handle, a.m, a.n, a.count, a.value.get(), a.start.get(),
          a.column.get(), 0, 0, 0, 0, &bytes);
  Array<char> buffer(bytes);
  auto status = [&](const T *value, const int *column) {
    int found = -1;
    t.typed("check_matrix_csr", t.handle, a.m, a.n, a.count, value, a.start.get(), column, 0, 0, 0,
            0, &found, buffer.get());
    return found;
  };
  EXPECT_EQ(status(a.value.get(), a.column.get()), 0);
  EXPECT_EQ(status(a.value.get(), columns.get()), 4); // invalid index
  EXPECT_EQ(status(values.get(), a.column.get()), 2); // nan
}

} // namespace
} // namespace sparse
