// Masks of compute units.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

extern "C" {
#include "queue/cu_mask.h"
}

namespace {

rawhal_status_t Parse(const char *text, cu_mask_device_t device, cu_mask_t *mask,
                      rawhal_error_t *error = nullptr)
{
  return cu_mask_parse(text, &device, mask, error);
}

TEST(CuMask, SelectsBitsFromTheRight)
{
  cu_mask_t mask;
  ASSERT_EQ(RAWHAL_OK, Parse("0xf", {104, 1, false}, &mask));
  EXPECT_EQ(128u, mask.bits);
  EXPECT_EQ(0xfu, mask.words[0]);
  EXPECT_EQ(0u, mask.words[1]);
  ASSERT_EQ(RAWHAL_OK, Parse("80000000000000000000000001", {104, 1, false}, &mask));
  EXPECT_EQ(1u, mask.words[0]);
  EXPECT_EQ(0x80u, mask.words[3]); // 26 digits: bit 103
  ASSERT_EQ(RAWHAL_OK, Parse("0XAbC", {32, 1, false}, &mask));
  EXPECT_EQ(32u, mask.bits);
  EXPECT_EQ(0xabcu, mask.words[0]);
}

TEST(CuMask, WhatADeviceCannotDoIsRefused)
{
  cu_mask_t mask;
  rawhal_error_t error = {};
  for (const char *text : {"", "0x", "f f", "0y1", "-1", "xyz", "1,2"}) {
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Parse(text, {32, 1, false}, &mask, &error)) << text;
    EXPECT_EQ(0u, mask.bits);
  }
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Parse("0", {32, 1, false}, &mask, &error));
  EXPECT_STREQ("the mask selects no compute unit", error.message);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, Parse("10", {4, 1, false}, &mask, &error));
  EXPECT_STREQ("the mask selects compute unit 4, the device has 4", error.message);
  EXPECT_EQ(RAWHAL_OK, Parse("000000000000f", {4, 1, false}, &mask, &error));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            Parse(std::string(10000, 'f').c_str(), {304, 1, false}, &mask, &error));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Parse("1", {2000, 1, false}, &mask, &error));
}

TEST(CuMask, PairsGoTogetherAndEveryDieHasSome)
{
  cu_mask_t mask;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, Parse("c", {40, 1, true}, &mask, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Parse("6", {40, 1, true}, &mask, &error));
  EXPECT_STREQ("the mask splits compute units 0 and 1, which belong together", error.message);
  EXPECT_EQ(RAWHAL_OK, Parse("ff", {304, 8, false}, &mask, &error));
  EXPECT_EQ(320u, mask.bits);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Parse("7f", {304, 8, false}, &mask, &error));
  EXPECT_STREQ("the mask selects no compute unit of die 7 (every 8th is on it)", error.message);
}

TEST(CuMask, MasksOfTheWidestDevice)
{
  cu_mask_t mask;
  const uint32_t most = 32 * CU_MASK_WORDS;
  cu_mask_device_t widest = {most, 1, false}, wider = {most + 1, 1, false};
  EXPECT_EQ(RAWHAL_OK, cu_mask_parse("1", &widest, &mask, nullptr));
  EXPECT_EQ(most, mask.bits);
  EXPECT_EQ(RAWHAL_OK,
            cu_mask_parse(("8" + std::string(most / 4 - 1, '0')).c_str(), &widest, &mask, nullptr));
  EXPECT_EQ(1u << 31, mask.words[CU_MASK_WORDS - 1]);
  EXPECT_EQ(RAWHAL_UNSUPPORTED, cu_mask_parse("1", &wider, &mask, nullptr));
}

TEST(CuMask, EveryPairGoesTogether)
{
  cu_mask_device_t device = {40, 1, true};
  for (unsigned unit = 0; unit < 12; ++unit) {
    cu_mask_t mask;
    char text[16];
    snprintf(text, sizeof(text), "%x", 1u << unit);
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, cu_mask_parse(text, &device, &mask, nullptr)) << unit;
    snprintf(text, sizeof(text), "%x", 3u << (unit & ~1u));
    EXPECT_EQ(RAWHAL_OK, cu_mask_parse(text, &device, &mask, nullptr)) << unit;
  }
}

TEST(CuMask, ARefusedMaskIsEmpty)
{
  const std::pair<const char *, cu_mask_device_t> refused[] = {
      {"ff1", {8, 1, false}}, {"7f", {304, 8, false}}, {"6", {40, 1, true}}, {"0", {40, 1, false}}};
  for (const auto &[text, device] : refused) {
    cu_mask_t mask, empty;
    memset(&mask, 0xee, sizeof(mask));
    memset(&empty, 0, sizeof(empty));
    EXPECT_NE(RAWHAL_OK, cu_mask_parse(text, &device, &mask, nullptr)) << text;
    EXPECT_EQ(0u, mask.bits);
    EXPECT_EQ(0, memcmp(mask.words, empty.words, sizeof(mask.words))) << text;
  }
}

} // namespace
