// Names and numbers, as the tests of the kernels understand them. The names are shortened.
#include "tests/tensile/kernel.h"

#include <cmath>

#include <gtest/gtest.h>

namespace {

Kernel kernel_of(const std::string &name)
{
  std::string why;
  const std::optional<Kernel> kernel = parse_kernel(name, &why);
  EXPECT_TRUE(kernel) << name << ": " << why;
  return kernel.value_or(Kernel{});
}

TEST(TensileName, OfOneFormat)
{
  const Kernel kernel =
      kernel_of("Cijk_Ailk_BjlkC_CB_MT64x32x8_MI16x16x4x1_SE_GSU3_GSUASB_SU32_SUM0_SUS256_WGMn5");
  EXPECT_EQ(kernel.problem, "Ailk_BjlkC_C");
  EXPECT_STREQ(kernel.a->name, "C");
  EXPECT_EQ(kernel.sum, kernel.d);
  EXPECT_FALSE(kernel.a_transposed);
  EXPECT_TRUE(kernel.b_transposed);
  EXPECT_FALSE(kernel.a_conjugate);
  EXPECT_TRUE(kernel.b_conjugate);
  EXPECT_FALSE(kernel.pointers);
  EXPECT_TRUE(kernel.same_strides);
  EXPECT_EQ(kernel.tile_m, 64u);
  EXPECT_EQ(kernel.tile_n, 32u);
  EXPECT_EQ(kernel.depth, 8u);
  EXPECT_EQ(kernel.splits, 3u);
  EXPECT_EQ(kernel.split, Split::kAtomic);
  EXPECT_EQ(kernel.group_mapping, -5);
}

TEST(TensileName, OfSeveralFormats)
{
  const Kernel mixed = kernel_of("Cijk_Alik_Bljk_F8B8HS_BH_GB_MT64x32x8_SN_GSU2_GSUASB");
  EXPECT_STREQ(mixed.a->name, "F8");
  EXPECT_STREQ(mixed.b->name, "B8");
  EXPECT_STREQ(mixed.d->name, "H");
  EXPECT_STREQ(mixed.sum->name, "S");
  EXPECT_TRUE(mixed.a_transposed);
  EXPECT_FALSE(mixed.b_transposed);
  EXPECT_TRUE(mixed.pointers);
  EXPECT_EQ(mixed.split, Split::kSingle);
  const Kernel half = kernel_of("Cijk_Alik_Bljk_HHS_BH_MT64x32x8_SN_GSU2_GSUAMB");
  EXPECT_STREQ(half.b->name, "H");
  EXPECT_STREQ(half.d->name, "H");
  EXPECT_EQ(half.split, Split::kMultiple);
  EXPECT_STREQ(kernel_of("Cijk_Alik_Bljk_B8B8S_BH_MT8x8x8").d->name, "B8");
  EXPECT_STREQ(kernel_of("Cijk_Alik_Bljk_I8II_BH_MT8x8x8").a->name, "I8");
}

TEST(TensileName, OfHipblaslt)
{
  const Kernel kernel = kernel_of("Cijk_Ailk_Bjlk_S_MX_B_Bias_HAS_SAV_UserArgs_MT16x32x8_SN_AFEM8_"
                                  "AFEM2_ASEM1_GRVWA4_GRVWB3_GSUAMB");
  EXPECT_EQ(kernel.problem, "Ailk_Bjlk_S");
  EXPECT_STREQ(kernel.d->name, "S");
  EXPECT_EQ(kernel.splits, 1u);
  EXPECT_EQ(kernel.split, Split::kNone);
  EXPECT_EQ(kernel.if_split, Split::kMultiple);
  EXPECT_EQ(kernel.sizes[0].made(1), 8u);
  EXPECT_EQ(kernel.sizes[1].made(1), 4u);
  const Kernel last = kernel_of("Cijk_Ailk_Bjlk_HHS_BH_UserArgs_MT16x32x8_GSUAMBSK");
  EXPECT_EQ(last.if_split, Split::kLast);
}

TEST(TensileName, Sizes)
{
  const Kernel kernel =
      kernel_of("Cijk_Ailk_Bjlk_SB_MT8x8x8_SN_AF0EM2_AF1EM1_ASE_ASGT3256_ASLT164_3900_ASM_ASEM8_"
                "GLVWA4_GLVWB3");
  const auto &[m, n, batch, k] = kernel.sizes;
  EXPECT_EQ(m.made(1), 4u);
  EXPECT_EQ(m.made(5), 6u);
  EXPECT_EQ(n.made(1), 3u);
  EXPECT_EQ(n.made(64), 63u);
  EXPECT_EQ(batch.made(2), 2u);
  EXPECT_EQ(k.made(0), 264u);
  const Kernel equal = kernel_of("Cijk_Alik_Bljk_HHS_BH_MT8x8x8_ASE11_264_ASM032_GSU3_GSUAMB_"
                                 "GLVWA4_GLVWB3_MKFGSU128");
  EXPECT_EQ(equal.sizes[0].made(1), 32u);
  EXPECT_EQ(equal.sizes[1].made(9), 1u);
  EXPECT_EQ(equal.sizes[2].made(1), 64u);
  EXPECT_EQ(equal.sizes[3].made(1), 384u);
  EXPECT_EQ(kernel_of("Cijk_Alik_Bljk_SB_MT8x8x8").sizes[3].made(0), 0u);
}

TEST(TensileName, Others)
{
  std::string why;
  for (const char *name : {"Cij_S", "Cijk_Aik_Bljk_SB_MT8x8x8", "Cijk_Ailk_Bljk_4xi8II_BH_MT8x8x8",
                           "Cijk_Ailk_Bljk_SB_SN_WGM8", "Cijk_Ailk_Bljk_SB_MT8x8x8_SK1",
                           "Cijk_Ailk_Bljk_F8F8S_BH_SR_MT8x8x8"})
    EXPECT_FALSE(parse_kernel(name, &why)) << name;
}

TEST(TensileName, ShortSumsStaggerLess)
{
  // 256 bytes are four steps of 16 floats.
  const Kernel kernel = kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x16_SU32_SUS256");
  EXPECT_EQ(stagger_mask(kernel, 16 * 4 * 32), 31u);
  EXPECT_EQ(stagger_mask(kernel, 16 * 4 * 32 - 1), 15u);
  EXPECT_EQ(stagger_mask(kernel, 16), 0u);
  EXPECT_EQ(stagger_mask(kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x16_SU0"), 1 << 20), 0u);
}

TEST(TensileName, Blocks)
{
  using Blocks = std::array<uint32_t, 3>;
  const Kernel columns = kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x16_WGM4");
  EXPECT_EQ(group_blocks(columns, 3, 10), (Blocks{2, 2, (1u << 30) + 1}));
  EXPECT_EQ(group_blocks(columns, 3, 8), (Blocks{2, 4, (1u << 29) + 1}));
  const Kernel rows = kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x16_WGMn4");
  EXPECT_EQ(group_blocks(rows, 3, 10), (Blocks{0, 3, 0x80000000u / 3 + 1}));
}

TEST(TensileName, ForOneBeta)
{
  const Kernel kernel = kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x8_AAVn1_ABV1_ACED1");
  EXPECT_TRUE(kernel.in_place);
  EXPECT_EQ(kernel.alpha, -1);
  EXPECT_EQ(kernel.beta, 1);
  EXPECT_EQ(kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x8_AAV0_ABV0").beta, 0);
}

TEST(TensileName, Stays)
{
  const Kernel kernel = kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x8_PKn1_PKAB1");
  EXPECT_TRUE(kernel.stays);
  EXPECT_TRUE(kernel.stays_in_batch);
  EXPECT_FALSE(kernel_of("Cijk_Ailk_Bljk_SB_MT8x8x8_PK0_PKAB0").stays);
}

TEST(TensileName, Divides)
{
  for (uint32_t divisor = 1; divisor < 1000; ++divisor) {
    const auto [magic, shift] = magic_and_shift(divisor);
    for (uint32_t number = 0; number < 0x10000; number += number < 2000 ? 1 : 61) {
      const uint32_t product = static_cast<uint32_t>(uint64_t{number} * magic >> 32);
      ASSERT_EQ((product + number * (shift >> 31)) >> (shift & 0x7fffffff), number / divisor);
    }
  }
}

TEST(TensileNumber, Rounds)
{
  const Kernel half = kernel_of("Cijk_Ailk_Bljk_HHS_BH_MT8x8x8");
  EXPECT_EQ(encode(*half.d, 1), 0x3c00u);
  EXPECT_EQ(encode(*half.d, -2049), 0xe800u); // to 2048, which is even
  EXPECT_EQ(encode(*half.d, 2051), 0x6802u);
  EXPECT_EQ(encode(*half.sum, 1), 0x3f800000u);
  const Kernel small = kernel_of("Cijk_Ailk_Bljk_F8F8S_BH_MT8x8x8");
  EXPECT_EQ(encode(*small.d, 1), 0x40u);
  EXPECT_EQ(encode(*small.d, 15.5), 0x60u); // carries: 16
  EXPECT_EQ(encode(*small.d, 0), 0u);
  const Kernel whole = kernel_of("Cijk_Ailk_Bljk_I8II_BH_MT8x8x8");
  EXPECT_EQ(encode(*whole.a, -3), 0xfdu);
  EXPECT_EQ(encode(*whole.d, -3), 0xfffffffdu);
}

TEST(TensileNumber, ComesBack)
{
  for (const char *types : {"SB", "DB", "CB", "ZB", "HB", "I8II_BH", "F8F8S_BH", "B8B8S_BH"}) {
    const Kernel kernel = kernel_of(std::string("Cijk_Ailk_Bljk_") + types + "_MT8x8x8");
    for (const Format *format : {kernel.a, kernel.d, kernel.sum})
      for (int value = -16; value <= 16; ++value) {
        const double rounded = decode(*format, encode(*format, value));
        EXPECT_LE(std::fabs(rounded - value), format->bytes == 1 && abs(value) > 8 ? 1 : 0)
            << types << ' ' << format->name << ' ' << value;
      }
  }
}

} // namespace
