// Where texels are, in every layout that there is: sums of places that AMD's address library, as ROCr 5.2.3 has it, gave for
// an image of 1000 x 700 x 100 texels and the GB_ADDR_CONFIG that the runtime is told.
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
#include "softgpu/isa/memory/image.h"
#include "softgpu/isa/reference/memory.h"
}

namespace {

const uint32_t SIZES[3] = {1000, 700, 100}, PITCH = 1024;

struct Row {
  unsigned dimensions, mode;
  uint64_t sums[5]; // of texels of 1, 2, 4, 8, 16 bytes; 0: no such layout
};

const Row rows[] = {
    {2, 0, {0x111ba53bd097b, 0x22374a77a12f6, 0x446e94ef425ec, 0x88dd29de84bd8, 0x111ba53bd097b0}},
    {2, 1, {0x113464ac2823b, 0x2268d1cb69836, 0x44d1a3972b93c, 0x88dd213538fd8, 0x111ba42636e480}},
    {2, 2, {0x113464a8fa6e3, 0x2268d1cb69836, 0x44d1a3972d8bc, 0x88dd2136c1ab8, 0x111ba426bdc470}},
    {2, 3, {0x113464a72e58c, 0x2268d1c96dbc8, 0x44d1a39513020, 0x88dd21343d820, 0}},
    {2, 4, {0x113461be253c7, 0x2268c4c32a98e, 0x44d1895805bdc, 0x89a3254a27638, 0}},
    {2, 5, {0x113461c764c3b, 0x2268c4c325036, 0x44d18957eb53c, 0x89a32549723d8, 0x113464a27baf80}},
    {2, 6, {0x113461c4370e3, 0x2268c4c325036, 0x44d18957ed4bc, 0x89a3254afaeb8, 0x113464a3028f70}},
    {2, 7, {0x113461c26af8c, 0x2268c4c1293c8, 0x44d18955d2c20, 0x89a3254876c20, 0}},
    {2, 8, {0x12c1b359c63c7, 0x2581faa4c798e, 0x4b04021f50bdc, 0x89a30f540e638, 0}},
    {2, 9, {0x12c1b36305c3b, 0x2581faa4c2036, 0x4b04021f3653c, 0x89a30f53593d8, 0x113461bdb84f80}},
    {2, 10, {0x12c1b35fd80e3, 0x2581faa4c2036, 0x4b04021f384bc, 0x89a30f54e1eb8, 0x113461be3f2f70}},
    {2, 11, {0x12c1b35e0bf8c, 0x2581faa2c63c8, 0x4b04021d1dc20, 0x89a30f525dc20, 0}},
    {2, 16, {0x12c1b4aeabcc7, 0x2581fba52908e, 0x4b040310d46dc, 0x89a310b354138, 0}},
    {2, 17, {0x12c1b4b7eb53b, 0x2581fba523736, 0x4b040310ba03c, 0x89a310b29eed8, 0x113461c34dd480}},
    {2, 18, {0x12c1b4b4bd9e3, 0x2581fba523736, 0x4b040310bbfbc, 0x89a310b4279b8, 0x113461c3d4b470}},
    {2, 19, {0x12c1b4b2f188c, 0x2581fba327ac8, 0x4b04030ea1720, 0x89a310b1a3720, 0}},
    {2, 20, {0x11346279975c7, 0x2268c60abe58e, 0x44d18ae9905dc, 0x89a325b83a038, 0}},
    {2, 21, {0x11346282d6e3b, 0x2268c60ab8c36, 0x44d18ae975f3c, 0x89a325b784dd8, 0x1134648f446d80}},
    {2, 22, {0x1134627fa92e3, 0x2268c60ab8c36, 0x44d18ae977ebc, 0x89a325b90d8b8, 0x1134648fcb4d70}},
    {2, 23, {0x1134627ddd18c, 0x2268c608bcfc8, 0x44d18ae75d620, 0x89a325b689620, 0}},
    {2, 24, {0x12c1f026c85c7, 0x2582254f1d58e, 0x4b042404b25dc, 0x89a324e9da038, 0}},
    {2, 25, {0x12c1f03007e3b, 0x2582254f17c36, 0x4b04240497f3c, 0x89a324e924dd8, 0x113462c3f65d80}},
    {2, 26, {0x12c1f02cda2e3, 0x2582254f17c36, 0x4b04240499ebc, 0x89a324eaad8b8, 0x113462c47d3d70}},
    {2, 27, {0x12c1f02b0e18c, 0x2582254d1bfc8, 0x4b0424027f620, 0x89a324e829620, 0}},
    {3, 0, {0x111ba53bd097b, 0x22374a77a12f6, 0x446e94ef425ec, 0x88dd29de84bd8, 0x111ba53bd097b0}},
    {3, 4, {0x114c6846aa7f7, 0x2298d078d1dee, 0x44e380b44fa7c, 0x89c8127bf4a38, 0x1139025688bbf0}},
    {3, 5, {0x114c6854527bb, 0x2298d06aac7b6, 0x44e380b65263c, 0x89c81279d2e58, 0x1139025433ba40}},
    {3, 6, {0x113461c764c3b, 0x2268c4c325036, 0x44d18957eb53c, 0x89a32549723d8, 0x113464a27baf80}},
    {3, 8, {0x11777387287f7, 0x22eeeb13d1dee, 0x453108a4e5a7c, 0x8a63423482a38, 0x114c683c2a9bf0}},
    {3, 9, {0x11777394d07bb, 0x22eeeb05ac7b6, 0x453108a6e863c, 0x8a63423260e58, 0x114c6839d59a40}},
    {3, 10, {0x12c1b36305c3b, 0x2581faa4c2036, 0x4b04021f3653c, 0x89a30f53593d8, 0x113461bdb84f80}},
    {3, 16, {0x1177748c4b3f7, 0x22eeec3522dee, 0x45310a209ba7c, 0x8a63420ea9a38, 0x114c684feefbf0}},
    {3, 17, {0x11777499f33bb, 0x22eeec26fd7b6, 0x45310a229e63c, 0x8a63420c87e58, 0x114c684d99fa40}},
    {3, 18, {0x12c1b4b7eb53b, 0x2581fba523736, 0x4b040310ba03c, 0x89a310b29eed8, 0x113461c34dd480}},
    {3, 20, {0x114c69b25b2f7, 0x2298d144bc6ee, 0x44e382696487c, 0x89c8127792a38, 0x11390267eaa8f0}},
    {3, 21, {0x114c69b19aebb, 0x2298d1e1ffeb6, 0x44e3826b6743c, 0x89c8127e82458, 0x1139026960e540}},
    {3, 22, {0x11346282d6e3b, 0x2268c60ab8c36, 0x44d18ae975f3c, 0x89a325b784dd8, 0x1134648f446d80}},
    {3, 24, {0x117784c9e12f7, 0x22eef53bca6ee, 0x453116745a87c, 0x8a634de744a38, 0x114c679aaf28f0}},
    {3, 25, {0x117784c920ebb, 0x22eef5d90deb6, 0x453116765d43c, 0x8a634dee34458, 0x114c679c256540}},
    {3, 26, {0x12c1f03007e3b, 0x2582254f17c36, 0x4b04240497f3c, 0x89a324e924dd8, 0x113462c3f65d80}},
};

template <typename Place> uint64_t sum_of(Place place)
{
  uint64_t seed = 1, sum = 0;
  for (unsigned n = 1; n <= 4096; ++n) {
    uint32_t at[3];
    for (int i = 0; i < 3; ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      at[i] = uint32_t(seed >> 33) % SIZES[i];
    }
    sum += n * place(at);
  }
  return sum;
}

TEST(Tiling, PlacesAreTheAddressLibrarys)
{
  unsigned found = 0;
  for (const Row &row : rows)
    for (unsigned size = 0; size < 5; ++size) {
      SCOPED_TRACE(testing::Message()
                   << row.dimensions << "D, mode " << row.mode << ", " << (1u << size) << " bytes");
      isa_image_t image = {};
      image.dimensions = uint8_t(row.dimensions);
      image.pitch = PITCH;
      image.format.bytes = uint8_t(1 << size);
      memcpy(image.size, SIZES, sizeof image.size);
      ASSERT_EQ(isa_tiling_find(row.mode, row.dimensions, 1u << size, &image.tiling),
                row.sums[size] != 0);
      if (!row.sums[size])
        continue;
      ++found;
      EXPECT_EQ(
          sum_of([&](const uint32_t *at) { return isa_image_offset(&image, at[0], at[1], at[2]); }),
          row.sums[size]);
      EXPECT_EQ(sum_of([&](const uint32_t *at) {
                  return isa_reference_texel(row.mode, row.dimensions == 3, 1u << size, PITCH,
                                             SIZES[1], at);
                }),
                row.sums[size])
          << "reference";
    }
  EXPECT_EQ(found, 189u);
}

TEST(Tiling, OthersAreNone)
{
  isa_tiling_t tiling;
  for (unsigned mode = 0; mode < 32; ++mode)
    for (unsigned dimensions = 1; dimensions <= 3; ++dimensions) {
      bool is_listed = mode == 0;
      for (const Row &row : rows)
        is_listed |= row.mode == mode && row.dimensions == dimensions;
      EXPECT_EQ(isa_tiling_find(mode, dimensions, 4, &tiling), is_listed)
          << dimensions << "D, mode " << mode;
    }
  EXPECT_TRUE(isa_tiling_find(0, 2, 12, &tiling));
  EXPECT_FALSE(isa_tiling_find(5, 2, 12, &tiling)) << "three components of 32 bits are linear";
}

} // namespace
