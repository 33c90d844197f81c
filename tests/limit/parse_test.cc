// Text of limits: what is understood, what is refused, and how it reads back.
#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "queue/limit/parse.h"
}

namespace {

constexpr uint64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;
constexpr uint64_t kDevice = 64 * kGi;

uint64_t Value(const char *text, rawhal_limit_unit_t unit)
{
  uint64_t value = 12345;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, limit_parse(text, unit, kDevice, &value, &error))
      << text << ": " << error.message;
  return value;
}

void Refused(const char *text, rawhal_limit_unit_t unit,
             rawhal_status_t status = RAWHAL_INVALID_ARGUMENT)
{
  uint64_t value = 12345;
  rawhal_error_t error = {};
  EXPECT_EQ(status, limit_parse(text, unit, kDevice, &value, &error)) << "'" << text << "'";
  EXPECT_EQ(0u, value) << "'" << text << "'";
  EXPECT_NE(nullptr, strstr(error.message, "'")) << error.message;
  EXPECT_EQ(status, limit_parse(text, unit, kDevice, &value, nullptr)) << text;
}

TEST(Parse, BytesMeanWhatTheySay)
{
  const struct {
    const char *text;
    uint64_t value;
  } cases[] = {{"0", 0},
               {"1", 1},
               {"4096", 4096},
               {"4Gi", 4 * kGi},
               {"4GB", 4 * kGi},
               {"4G", 4 * kGi},
               {"4GiB", 4 * kGi},
               {"4g", 4 * kGi},
               {"512m", 512 * kMi},
               {"512 m", 512 * kMi},
               {"1.5G", kGi * 3 / 2},
               {"2T", 2 * kTi},
               {"16k", 16 * kKi},
               {"0.5K", 512},
               {"50%", kDevice / 2},
               {"12.5%", kDevice / 8},
               {"100%", kDevice},
               {"0%", 0},
               {"0m", 0},
               {"007K", 7 * kKi},
               {"1.0009765625K", 1025},
               {"unlimited", RAWHAL_UNLIMITED},
               {"Unlimited", RAWHAL_UNLIMITED}};
  for (const auto &c : cases)
    EXPECT_EQ(c.value, Value(c.text, RAWHAL_UNIT_BYTES)) << c.text;
}

TEST(Parse, GarbageIsRefused)
{
  for (const char *text :
       {"",    " ",   "4X",  "4Gx",  "4 Gi ",      " 4G",    "4G ",  "-1",   "+1",   "0x10",
        "1e9", ".5G", "5.G", "..%",  "1..2G",      "1.2.3",  "%",    "50%%", "50 %", "G",
        "iB",  "4iB", "4B",  "four", "unlimited ", "4Gib b", "1,5G", "\n",   "4\tQ"})
    Refused(text, RAWHAL_UNIT_BYTES);
}

TEST(Parse, TooLargeIsOutOfRange)
{
  Refused("16777216T", RAWHAL_UNIT_BYTES, RAWHAL_OUT_OF_RANGE); // 2^24 * 2^40 = 2^64
  EXPECT_EQ(16777215 * kTi, Value("16777215T", RAWHAL_UNIT_BYTES));
  Refused("18446744073709551616", RAWHAL_UNIT_COUNT, RAWHAL_OUT_OF_RANGE);
  Refused("18446744073709551615", RAWHAL_UNIT_COUNT, RAWHAL_OUT_OF_RANGE); // would be "unlimited"
  EXPECT_EQ(18446744073709551614u, Value("18446744073709551614", RAWHAL_UNIT_COUNT));
  Refused("99999999999999999999", RAWHAL_UNIT_BYTES); // more digits than are read exactly
}

TEST(Parse, PercentOfAnUnknownDeviceIsRefused)
{
  uint64_t value;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, limit_parse("50%", RAWHAL_UNIT_BYTES, 0, &value, &error));
  EXPECT_NE(nullptr, strstr(error.message, "not known")) << error.message;
}

TEST(Parse, SharesDurationsNames)
{
  EXPECT_EQ(300000u, Value("30%", RAWHAL_UNIT_SHARE));
  EXPECT_EQ(125000u, Value("12.5%", RAWHAL_UNIT_SHARE));
  EXPECT_EQ(1u, Value("0.0001%", RAWHAL_UNIT_SHARE));
  EXPECT_EQ(0u, Value("0%", RAWHAL_UNIT_SHARE));
  EXPECT_EQ(RAWHAL_UNLIMITED, Value("unlimited", RAWHAL_UNIT_SHARE));
  for (const char *text : {"30", "30K", "", "%", "-1%", "thirty%"})
    Refused(text, RAWHAL_UNIT_SHARE);
  EXPECT_EQ(20000000u, Value("20ms", RAWHAL_UNIT_DURATION));
  EXPECT_EQ(1500u, Value("1.5us", RAWHAL_UNIT_DURATION));
  EXPECT_EQ(7u, Value("7 ns", RAWHAL_UNIT_DURATION));
  EXPECT_EQ(1000000000u, Value("1s", RAWHAL_UNIT_DURATION));
  for (const char *text : {"20", "unlimited", "1m", "ms"})
    Refused(text, RAWHAL_UNIT_DURATION);
  EXPECT_EQ(unsigned{RAWHAL_CHARGING_WALL}, Value("WALL", RAWHAL_UNIT_CHARGING));
  EXPECT_EQ(unsigned{RAWHAL_PRIORITY_HIGH}, Value("high", RAWHAL_UNIT_PRIORITY));
  Refused("urgent", RAWHAL_UNIT_PRIORITY);
  Refused("", RAWHAL_UNIT_CHARGING);
}

TEST(Parse, WhatIsPrintedReadsBack)
{
  const uint64_t values[] = {
      0, 1, 1023, 1024, 3 * kMi, 4 * kGi, kGi + 1, 5 * kTi, RAWHAL_UNLIMITED};
  for (uint64_t value : values) {
    char text[32];
    rawhal_limit_format(RAWHAL_LIMIT_MEMORY, value, text, sizeof(text));
    EXPECT_EQ(value, Value(text, RAWHAL_UNIT_BYTES)) << text;
  }
  for (uint64_t ppm = 0; ppm <= 1000000; ppm += 997) {
    char text[32];
    rawhal_limit_format(RAWHAL_LIMIT_GPU_SHARE, ppm, text, sizeof(text));
    EXPECT_EQ(ppm, Value(text, RAWHAL_UNIT_SHARE)) << text;
  }
  char text[32];
  rawhal_limit_format(RAWHAL_LIMIT_GPU_SHARE, 300000, text, sizeof(text));
  EXPECT_STREQ("30%", text);
  rawhal_limit_format(RAWHAL_LIMIT_BURST, 20000000, text, sizeof(text));
  EXPECT_STREQ("20ms", text);
  rawhal_limit_format(RAWHAL_LIMIT_MEMORY, 4 * kGi, text, sizeof(text));
  EXPECT_STREQ("4GiB", text);
  rawhal_limit_format(RAWHAL_LIMIT_PRIORITY, RAWHAL_PRIORITY_LOW, text, sizeof(text));
  EXPECT_STREQ("low", text);
  rawhal_limit_format(RAWHAL_LIMIT_MEMORY, 4 * kGi, text, 3);
  EXPECT_STREQ("4G", text);
}

// Every text of up to four characters of the grammar's alphabet, against a second implementation.
bool Matches(const std::string &text)
{
  size_t i = 0;
  auto digits = [&] {
    size_t from = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9')
      ++i;
    return i > from;
  };
  if (!digits())
    return false;
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits())
      return false;
  }
  if (text.substr(i) == "%" || i == text.size())
    return true;
  while (i < text.size() && text[i] == ' ')
    ++i;
  if (i == text.size() || !strchr("KkMmGgTt", text[i]))
    return false;
  ++i;
  if (i < text.size() && (text[i] == 'i' || text[i] == 'I'))
    ++i;
  if (i < text.size() && (text[i] == 'B' || text[i] == 'b'))
    ++i;
  return i == text.size();
}

TEST(Parse, GrammarExhaustively)
{
  const std::string alphabet = "01.% KgiB-x";
  std::vector<std::string> texts = {""};
  for (size_t at = 0; at < texts.size(); ++at) {
    const std::string text = texts[at];
    uint64_t value;
    bool accepted =
        limit_parse(text.c_str(), RAWHAL_UNIT_BYTES, kDevice, &value, nullptr) == RAWHAL_OK;
    ASSERT_EQ(Matches(text), accepted) << "'" << text << "'";
    if (text.size() < 4)
      for (char c : alphabet)
        texts.push_back(text + c);
  }
}

} // namespace
