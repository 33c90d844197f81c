// What the name of a kernel of Tensile says of it. rocBLAS' names have nearly all parameters of the
// generator in them:
//   Cijk_Alik_Bljk_HHS_BH_MT128x64x32_MI32x32x8x1_SE_..._GSU4_GSUAMB_..._SU32_SUM0_SUS256_..._WGM8
// hipBLASLt's names end sooner: splits, staggering and mapping its kernels are told at run time.
// D = alpha A B + beta C of matrices whose columns lie one after the other; index k counts products
// of a batch, l is summed over.
#ifndef RAWHAL_TESTS_TENSILE_KERNEL_H
#define RAWHAL_TESTS_TENSILE_KERNEL_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>

// A format of numbers: an integer where it has no bits of exponent. `fnuz`: of 8 bits, without
// negative zero.
struct Format {
  const char *name;
  unsigned bytes, exponent_bits, mantissa_bits;
  int bias;
  bool fnuz, complex;
};

// The bits of one number of the format (of a complex one, of a part), rounded to the nearest, ties
// to even. It must be in the range of normal numbers, or 0.
uint64_t encode(const Format &format, double value);
// And back; of what encode() gives.
double decode(const Format &format, uint64_t bits);

// What becomes of the sums of work-groups that share a tile.
enum class Split {
  kNone,     // no tile is shared
  kAtomic,   // added to D, which has beta C
  kSingle,   // added to a workspace, which has beta C: another kernel converts that
  kMultiple, // each in a workspace of its own, without alpha: another kernel does the rest
  kLast      // likewise, but the last work-group does the rest
};

struct Size {
  uint32_t least = 1, most = UINT32_MAX, multiple = 1;

  // The least that is made for and not less than `size`, or else the most.
  uint32_t made(uint32_t size) const;
};

struct Kernel {
  std::string problem; // "Alik_Bljk_HHS"
  const Format *a, *b, *d, *sum;
  bool a_transposed, b_transposed, a_conjugate, b_conjugate;
  bool pointers;       // to each matrix of a batch ("general batched")
  bool same_strides;   // of C and D
  bool in_place;       // C is D
  bool stays;          // its work-groups do several tiles, and
  bool stays_in_batch; // of several matrices
  uint32_t tile_m, tile_n, depth;
  uint32_t splits;       // of the sum
  Split split, if_split; // what it is, and would be with more than one
  uint32_t stagger, stagger_stride;
  int group_mapping;
  int alpha, beta;           // that it is made for, or 0 for any
  std::array<Size, 4> sizes; // that it is made for: m, n, of the batch, k
};

// Nothing where the name is none of Tensile's; `why` says what is not understood of one that is.
std::optional<Kernel> parse_kernel(const std::string &name, std::string *why);

// From how many places in the sum the work-groups start, less one: so that they do not all read the
// same channel of memory. Fewer where the sum is short.
uint32_t stagger_mask(const Kernel &kernel, uint32_t k);

// Work-groups are numbered in blocks of as many columns (or, negative, rows) as the mapping says;
// the last block can be smaller: full blocks, columns of the last one, and 2^31 over that, plus 1.
std::array<uint32_t, 3> group_blocks(const Kernel &kernel, uint32_t rows, uint32_t columns);

// What a kernel divides by: (n * magic >> 32) + (n where the highest bit of shift is set), shifted
// right. For numbers below 2^16.
std::array<uint32_t, 2> magic_and_shift(uint32_t divisor);

#endif
