// The CPU XORWOW of the demo: its step against a second formulation, its jumps against stepping,
// the algebra of the step matrix, and the powers rocRAND's own code object carries.
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

#include "tests/tools/demo_rocrand.h"

extern "C" {
#include "tools/demo/rocrand.h"
#include "tools/demo/xorwow.h"
}

namespace {

// As Marsaglia's paper writes it: five named words and the Weyl sequence, with his start values.
struct Paper {
  uint32_t x = 123456789, y = 362436069, z = 521288629, w = 88675123, v = 5783321, d = 6615241;
  uint32_t next()
  {
    uint32_t t = x ^ (x >> 2);
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    return (d += 362437) + v;
  }
};

xorwow_t paper_start()
{
  return {6615241, {123456789, 362436069, 521288629, 88675123, 5783321}};
}

TEST(DemoXorwow, StepsAsInThePaper)
{
  Paper paper;
  xorwow_t engine = paper_start();
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(xorwow_next(&engine), paper.next()) << "number " << i;
}

// By hand: t = x ^ x >> 2 = 0x068D3E50 and v ^ v << 4 = 0x05DBCE89, so the new word is
// 0x05DBCE89 ^ 0x068D3E50 ^ 0x0D1A7CA0 = 0x0E4C8C79; the Weyl sequence stands at 0x006A788E.
TEST(DemoXorwow, TheFirstNumberIsTheOneFoundByHand)
{
  xorwow_t engine = paper_start();
  EXPECT_EQ(xorwow_next(&engine), 0x0E4C8C79u + 0x006A788Eu);
}

TEST(DemoXorwow, TheSeedThatCancelsLeavesThePapersStart)
{
  xorwow_t engine;
  xorwow_seed(&engine, 0xA03697CB2C7F967Fu); // both halves become 0 before the multiplication
  const xorwow_t expected = paper_start();
  EXPECT_EQ(std::memcmp(&engine, &expected, sizeof(engine)), 0);
}

TEST(DemoXorwow, TheSeedsHalvesStirTheirOwnWords)
{
  xorwow_t engine;
  xorwow_seed(&engine, 0xA03697CB2C7F967Eu); // low half 1, high half 0
  const uint32_t low = 0x493C4AA1;
  const xorwow_t expected = {
      6615241 + low, {123456789 + low, 362436069 ^ low, 521288629, 88675123, 5783321 + low}};
  EXPECT_EQ(std::memcmp(&engine, &expected, sizeof(engine)), 0);
}

TEST(DemoXorwow, DiscardingIsStepping)
{
  for (uint64_t count : {0u, 1u, 2u, 3u, 5u, 31u, 64u, 1000u, 4097u}) {
    xorwow_t stepped, discarded;
    xorwow_seed(&stepped, 42);
    xorwow_seed(&discarded, 42);
    for (uint64_t i = 0; i < count; ++i)
      xorwow_next(&stepped);
    xorwow_discard(&discarded, count);
    EXPECT_EQ(std::memcmp(&stepped, &discarded, sizeof(stepped)), 0) << count;
  }
}

// The register's period is 2^160 - 1, so squaring the step 160 times gives the step again: this
// holds every squaring on the way, the one for 2^67 among them.
TEST(DemoXorwow, SquaringTheStepOnceForEachBitGivesTheStep)
{
  xorwow_jump_t step, jump;
  xorwow_jump_one(&step);
  jump = step;
  for (int i = 0; i < XORWOW_BITS; ++i) {
    xorwow_jump_square(&jump);
    EXPECT_EQ(std::memcmp(&jump, &step, sizeof(jump)) == 0, i == XORWOW_BITS - 1) << i;
  }
}

TEST(DemoXorwow, EnginesStandAtTheirSubsequencesAndOffsets)
{
  xorwow_t engines[4];
  xorwow_engines(7, 100, 2, engines, 4);
  xorwow_jump_t subsequence;
  xorwow_jump_one(&subsequence);
  for (int i = 0; i < 67; ++i)
    xorwow_jump_square(&subsequence);
  for (int i = 0; i < 4; ++i) {
    xorwow_t engine;
    xorwow_seed(&engine, 7);
    for (int jump = 0; jump < i; ++jump)
      xorwow_jump_apply(&subsequence, engine.x);
    for (int skip = 0; skip < (i < 2 ? 101 : 100); ++skip)
      xorwow_next(&engine);
    EXPECT_EQ(std::memcmp(&engine, &engines[i], sizeof(engine)), 0) << i;
  }
}

// rocRAND ships its powers as data: 4^0 .. 4^31, and 2^67 times those. All must be ours.
TEST(DemoXorwow, TheLibraryCarriesTheSameMatrices)
{
  std::string path = demo_rocrand();
  if (path.empty())
    GTEST_SKIP() << "no librocrand under " RAWHAL_BUILD_DIR "/rocrand";
  std::vector<char> object = demo_rocrand_object(path, "gfx90a");
  ASSERT_FALSE(object.empty());
  const char *found = nullptr;
  xorwow_jump_t jump;
  xorwow_jump_one(&jump);
  for (unsigned log2 = 0; log2 < 131; ++log2, xorwow_jump_square(&jump)) {
    if (log2 % 2 != (log2 < 67 ? 0 : 1) || (log2 > 62 && log2 < 67))
      continue;
    if (log2 == 0 || log2 == 67) // the head of either table is searched, the rest must follow it
      found = static_cast<const char *>(
          memmem(object.data(), object.size(), jump.image, sizeof(jump.image)));
    else
      found += sizeof(jump.image);
    ASSERT_TRUE(found && found + sizeof(jump.image) <= object.data() + object.size()) << log2;
    ASSERT_EQ(std::memcmp(found, jump.image, sizeof(jump.image)), 0) << "2^" << log2;
  }
}

TEST(DemoXorwow, UniformFloatsAreAboveZeroAndUpToOne)
{
  EXPECT_EQ(rocrand_uniform_float(0), 0x1p-32f);
  EXPECT_EQ(rocrand_uniform_float(1), 0x1p-31f);
  EXPECT_EQ(rocrand_uniform_float(0x80000000), 0.5f); // the sum's last bit is lost
  EXPECT_EQ(rocrand_uniform_float(0xffffffff), 1.0f);
  EXPECT_EQ(rocrand_uniform_float(0x00ffffff), 0x1p-8f);
}

} // namespace
