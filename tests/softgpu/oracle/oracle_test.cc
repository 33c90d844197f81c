// The model of machine.h against both engines: random instructions of every mnemonic that it knows, registers, SCC,
// MODE, PC, memory and LDS compared. In release at least 2,000 cases each: lanes of vector instructions, executions of
// scalar ones.
#include <gtest/gtest.h>

#include "tests/softgpu/isa/llvm.h"
#include "tests/softgpu/oracle/trial.h"

using namespace oracle;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CASES = 500, EXECUTIONS = 60 };
#else
enum { CASES = 2000, EXECUTIONS = 200 };
#endif

// Where the engines do otherwise than the documents say, knowingly or not. Such cases are not compared, but each of these
// must still differ somewhere, so that the list shrinks when an engine is mended.
//  SCALAR_UNALIGNED: the two lowest bits of addresses are ignored (AMD's guide for CDNA, 8.2.1.1); the engines fault.
//  FLAT_APERTURE: the aperture is that of the register alone (LLVM's pull requests 132353 and 153001); the engines add the
//    instruction's offset first.
//  THREADS_UNCHECKED: buffers that add the thread id without an index have no range check (guide, 9.1.5.1; pull request
//    10928 of rocm-systems, from gfx950 hardware); here they have.
//  SCALAR_STORE_PARTLY: of scalar stores to buffers, only dwords out of range are not done (guide, 8.4); here none is.
//  MAXIMUM_OF_EQUALS: SCC is 1 (guide, S_MAX_I32: S0 >= S1); the engines follow GCN 3's words, S0 > S1.
//  SWIZZLE_FFT: the engines do not run this mode of ds_swizzle_b32 (guide, DS_SWIZZLE_B32).
enum {
  DIFFERENT = SCALAR_UNALIGNED | FLAT_APERTURE | THREADS_UNCHECKED | SCALAR_STORE_PARTLY |
              MAXIMUM_OF_EQUALS | SWIZZLE_FFT
};

struct Seen {
  unsigned facts, differing; // Fact of cases that were compared, and of those that differ
  uint64_t rows, cases;
};

// Cases of one mnemonic on both chips; fails with the first difference.
void check(Trial &trial, const Row &row, Seen &seen)
{
  Random random = {row.number + 1024u * row.format};
  uint64_t cases = 0, executions = 0;
  for (unsigned n = 0; cases < CASES || executions < EXECUTIONS; ++n) {
    ASSERT_LT(n, 40u * CASES) << row.name << ": too few cases are decided";
    trial.before.is_gfx942 = row.gfx942_only || n % 2;
    trial.before.has_sramecc = n / 2 % 4;
    fill(random, row, trial.before);
    const Case c = make(random, row, trial.before);
    ASSERT_EQ(decode(c.words), &row) << row.name;
    trial.before.pc += 4 * c.dwords;
    Outcome outcome;
    const std::string difference = trial.run(row, c, outcome);
    if (trial.facts() & DIFFERENT) {
      seen.differing |= difference.empty() ? 0 : trial.facts() & DIFFERENT;
      continue;
    }
    seen.facts |= trial.facts();
    ASSERT_EQ(difference, "") << trial.describe(row, c, difference);
    executions += outcome == DONE;
    seen.cases += outcome == FAULT;
    if (outcome == DONE)
      cases += has_vectors(row) ? uint64_t(__builtin_popcountll(trial.before.exec())) : 1;
  }
  ++seen.rows;
  seen.cases += cases;
}

// All of some formats, in which the facts `needed` are seen, and those of DIFFERENT that are `expected`.
void check_all(std::initializer_list<Format> formats, unsigned needed, unsigned expected)
{
  static Trial trial;
  Seen seen = {};
  for (const Row &row : rows())
    for (Format format : formats)
      if (row.format == format)
        check(trial, row, seen);
  ::testing::Test::RecordProperty("mnemonics", std::to_string(seen.rows));
  ::testing::Test::RecordProperty("cases", std::to_string(seen.cases));
  EXPECT_EQ(seen.facts & needed, needed);
  EXPECT_EQ(seen.differing, expected) << "take what no longer differs off the list of DIFFERENT";
}

TEST(Oracle, ScalarMemory)
{
  check_all({SMEM}, 0, SCALAR_UNALIGNED | SCALAR_STORE_PARTLY);
}
TEST(Oracle, Flat)
{
  check_all({FLAT}, D16_CLEARS, FLAT_APERTURE);
}
TEST(Oracle, Global)
{
  check_all({GLOBAL}, D16_CLEARS | LDS_OUTSIDE, 0);
}
TEST(Oracle, Scratch)
{
  check_all({SCRATCH}, D16_CLEARS, 0);
}
TEST(Oracle, Buffers)
{
  check_all({MUBUF}, D16_CLEARS | LDS_OUTSIDE | BUFFER_SATURATES, THREADS_UNCHECKED);
}
TEST(Oracle, Lds)
{
  check_all({DS}, D16_CLEARS | LDS_OUTSIDE, SWIZZLE_FFT);
}
TEST(Oracle, Scalar)
{
  check_all({SOP1, SOP2, SOPC, SOPK, SOPP}, 0, MAXIMUM_OF_EQUALS);
}
TEST(Oracle, Vector)
{
  check_all({VOP1, VOP2, VOPC, VOP3}, 0, 0);
}

// The words mean to LLVM what they mean here.
TEST(Oracle, LlvmAgreesAboutTheWords)
{
  if (!llvm::available())
    GTEST_SKIP() << "needs llvm-mc-19";
  static Trial trial;
  for (bool is_gfx942 : {false, true}) {
    std::vector<std::vector<uint32_t>> blocks = {
        {0xbf800000}}; // the first marker of disassemble() is 2.0 to LLVM
    std::vector<const Row *> expected = {nullptr};
    trial.before.is_gfx942 = is_gfx942;
    for (const Row &row : rows())
      for (unsigned n = 0; n < 8 && (is_gfx942 || !row.gfx942_only); ++n) {
        Random random = {row.number + 1024u * row.format + 65536 * n};
        const Case c = make(random, row, trial.before);
        blocks.push_back({c.words, c.words + c.dwords});
        expected.push_back(&row);
      }
    const auto lines = llvm::disassemble({is_gfx942 ? "gfx942" : "gfx90a"}, blocks);
    ASSERT_EQ(lines.size(), blocks.size());
    for (size_t i = 1; i < lines.size(); ++i) {
      EXPECT_TRUE(lines[i].valid) << expected[i]->name << " " << std::hex << blocks[i][0] << " "
                                  << blocks[i].back() << " is " << lines[i].text;
      EXPECT_EQ(lines[i].text.substr(0, lines[i].text.find(' ')), expected[i]->name);
      // It writes literals that are inline constants, too, as those.
      EXPECT_TRUE(lines[i].bytes == 4 * blocks[i].size() || lines[i].bytes == 4) << lines[i].text;
    }
  }
}

} // namespace
