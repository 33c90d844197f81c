// Problems for a kernel of Tensile: what is multiplied, and how it lies in memory.
#ifndef RAWHAL_TESTS_TENSILE_PROBLEM_H
#define RAWHAL_TESTS_TENSILE_PROBLEM_H

#include "tests/tensile/kernel.h"

#include <rawhal/rawhal.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

struct Shape {
  uint32_t m, n, k, batch;
  int alpha, beta;
  uint32_t padding; // between columns; four times that between matrices
};

// Whole tiles; parts of tiles at both edges; one number; no sum; a sum that staggers; no product;
// a sum that is shorter than one step.
inline std::vector<Shape> shapes_for(const Kernel &kernel)
{
  const uint32_t m = kernel.tile_m, n = kernel.tile_n, k = kernel.depth * kernel.splits;
  std::vector<Shape> shapes = {
      {2 * m, n, 4 * k, 1, 1, 0, 0},
      {m + 5, n + 3, 3 * k + 5, 2, 2, 1, 3},
      {1, 1, 1, 1, 1, 2, 0},
      {m - 3, 2 * n + 1, 0, 3, 1, 2, 1},
      {m / 2 + 7, n + n / 2, 11 * k + 3, 1, 2, 2, 8},
      {m + 1, n - 1, 2 * k, 1, 0, 1, 0},
      {3 * m + 2, 2 * n - 3, kernel.depth - 1, 1, 1, 1, 2},
  };
  for (Shape &each : shapes) {
    each.m = kernel.sizes[0].made(each.m);
    each.n = kernel.sizes[1].made(each.n);
    each.batch = kernel.sizes[2].made(each.batch);
    each.k = kernel.sizes[3].made(each.k);
    // rocBLAS makes k 0 where alpha is 0. What is not made for that need not clear its registers.
    if (kernel.sizes[3].least > 0)
      each.alpha = std::max(each.alpha, 1);
    each.alpha = kernel.alpha ? kernel.alpha : each.alpha;
    each.beta = kernel.beta ? kernel.beta : each.beta;
  }
  return shapes;
}

struct Number {
  int real = 0, imaginary = 0;
};

// Columns of numbers in memory, a few bytes of something else between them where there is padding,
// and a guard before and behind. `flush`: nothing is behind, the next page is not there.
struct Matrices {
  Matrices(const Format &format, uint32_t rows, uint32_t columns, uint32_t batch, uint32_t padding,
           bool flush)
      : format(format), rows(rows), columns(columns), batch(batch),
        stride(std::max(rows, 1u) + padding), batch_stride(stride * columns + 4 * padding)
  {
    constexpr size_t guard = 4096, align = 16;
    const size_t size = format.bytes * elements();
    const size_t behind = (size + align - 1) / align * align;
    start = flush ? (guard - behind % guard) % guard + guard : guard;
    // No number: NaN; of integers, -1 in all of them.
    bytes.assign(start + behind + (flush ? 0 : guard), format.fnuz ? 0x80 : 0xff);
  }
  // For what is written to: nothing that a kernel would make of NaN.
  Matrices &as_result()
  {
    std::fill(bytes.begin(), bytes.end(), uint8_t{0xa5});
    return *this;
  }
  // From the first to the last.
  size_t elements() const
  {
    return rows && columns ? size_t{batch - 1} * batch_stride + size_t{columns - 1} * stride + rows
                           : 0;
  }
  uint64_t of_one() const // without the other matrices of the batch
  {
    return 1 + (uint64_t{columns} - 1) * stride + uint64_t{rows} - 1;
  }
  uint8_t *at(uint32_t each, uint32_t row, uint32_t column)
  {
    return bytes.data() + start +
           (size_t{each} * batch_stride + size_t{column} * stride + row) * format.bytes;
  }
  void put(uint8_t *place, Number number) const
  {
    const unsigned size = format.complex ? format.bytes / 2 : format.bytes;
    const uint64_t real = encode(format, number.real), other = encode(format, number.imaginary);
    memcpy(place, &real, size);
    if (format.complex)
      memcpy(place + size, &other, size);
  }

  const Format &format;
  uint32_t rows, columns, batch, stride, batch_stride;
  size_t start;
  std::vector<uint8_t> bytes;
  rawhal_buffer_t *buffer = nullptr, *pointers = nullptr;
};

// What the matrices have: of each of the batch, `outer` rows or columns of `inner` numbers.
struct Numbers {
  Numbers(uint32_t batch, uint32_t outer, uint32_t inner, int limit, bool complex,
          std::mt19937 &random)
      : outer(outer), inner(inner), real(size_t{batch} * outer * inner),
        imaginary(complex ? real.size() : 0)
  {
    for (auto *part : {&real, &imaginary})
      for (int &each : *part)
        each = static_cast<int>(random() % static_cast<unsigned>(2 * limit + 1)) - limit;
  }
  Number at(uint32_t batch, uint32_t i, uint32_t l) const
  {
    const size_t index = (size_t{batch} * outer + i) * inner + l;
    return {real[index], imaginary.empty() ? 0 : imaginary[index]};
  }
  uint32_t outer, inner;
  std::vector<int> real, imaginary;
};

inline int dot(const int *a, const int *b, uint32_t count)
{
  int sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

#endif
