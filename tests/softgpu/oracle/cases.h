// Random instructions of a given row, and states in which they do something.
#pragma once

#include "tests/softgpu/isa/split_mix.h"
#include "tests/softgpu/oracle/machine.h"

namespace oracle {

struct Random : SplitMix {
  uint32_t below(uint32_t n) { return uint32_t(((*this)() >> 32) * n >> 32); }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <typename T, size_t N> T one_of(const T (&values)[N]) { return values[below(N)]; }
};

struct Case {
  uint32_t words[3] = {};
  unsigned dwords = 2;
};

inline bool has_vectors(const Row &row)
{
  return row.format < SOP1 && row.format != SMEM;
}

// Registers, MODE and EXEC. Vector registers, memory and LDS, which keep their sizes, only now and then.
void fill(Random &random, const Row &row, Machine &m);

// An instruction of the row, with registers changed so that its addresses are near something.
Case make(Random &random, const Row &row, Machine &m);

// The parts of make().
Case make_smem(Random &random, const Row &row, Machine &m);
Case make_ds(Random &random, const Row &row, Machine &m);
Case make_by_address(Random &random, const Row &row, Machine &m);
Case make_buffer(Random &random, const Row &row, Machine &m);
Case make_scalar(Random &random, const Row &row);
Case make_vector(Random &random, const Row &row);

} // namespace oracle
