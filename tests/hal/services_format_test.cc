// What kernels leave to be printed, read from bytes: formats, records, messages. No device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/assert_ok.h"

extern "C" {
#include "hal/services/hostcall.h"
#include "hal/services/printf.h"
}

namespace {

using Bytes = std::vector<unsigned char>;

Bytes operator+(Bytes a, const Bytes &b)
{
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <typename T> Bytes raw(T value)
{
  const auto *at = reinterpret_cast<const unsigned char *>(&value);
  return Bytes(at, at + sizeof(value));
}

Bytes text(const std::string &characters)
{
  Bytes bytes(characters.begin(), characters.end());
  bytes.resize((bytes.size() + 8) / 8 * 8);
  return bytes;
}

std::string formatted(const std::string &format, const Bytes &arguments,
                      const std::string &sizes = "", uint32_t count = 0)
{
  std::vector<char> data(SERVICES_TEXT_BYTES);
  services_text_t to = {data.data(), 0, data.size(), false};
  printf_arguments_t given = {arguments.data(),
                              arguments.data() + arguments.size(),
                              count > 0,
                              {sizes.data(), sizes.size()},
                              count};
  format_text(&to, {format.data(), format.size()}, &given);
  return std::string(to.data, to.size);
}

// As HIP has arguments: eight bytes each.
template <typename T> std::string hip(const std::string &format, T value)
{
  Bytes bytes = raw(value);
  bytes.resize(8);
  return formatted(format, bytes);
}

TEST(ServicesFormat, AgreesWithTheCLibrary)
{
  char expected[512];
  for (const char *flags : {"", "-", "+", " ", "0", "#", "-+", "+0", "# ", "0-"})
    for (const char *field : {"", "1", "12", ".0", ".3", "9.4", "3.9"}) {
      auto both = [&](const char *tail, auto value) {
        std::string format = std::string("<%") + flags + field + tail + ">";
        snprintf(expected, sizeof(expected), format.c_str(), value);
        EXPECT_EQ(hip(format, value), expected) << format;
      };
      for (int value : {0, 1, -1, 123456, INT32_MIN})
        for (const char *tail : {"d", "i", "u", "x", "X", "o", "hd", "hhd", "hhu", "hx"})
          both(tail, value);
      for (long long value : {0ll, -1ll, 1234567890123ll})
        for (const char *tail : {"ld", "lld", "lu", "llx", "zu", "jd", "td"})
          both(tail, value);
      for (double value : {0.0, -0.0, 1.0 / 3, -1e300, 1e-300, HUGE_VAL, -HUGE_VAL})
        for (const char *tail : {"f", "F", "e", "E", "g", "G", "a", "A"})
          both(tail, value);
    }
}

TEST(ServicesFormat, TextAndStrings)
{
  EXPECT_EQ(formatted("plain", {}), "plain");
  EXPECT_EQ(formatted("100%%!", {}), "100%!");
  EXPECT_EQ(formatted("%s|%5s|%-5s|%.2s|", text("a") + text("b") + text("c") + text("cut")),
            "a|    b|c    |cu|");
  EXPECT_EQ(formatted("%s%d", text("exactly8") + raw(int64_t{1})), "exactly81");
  EXPECT_EQ(formatted("%c%5c%-3c|", raw(int64_t{'x'}) + raw(int64_t{'y'}) + raw(int64_t{'z'})),
            "x    yz  |");
  EXPECT_EQ(formatted("%p %p", raw(uint64_t{0xabc}) + raw(uint64_t{0})), "0xabc (nil)");
  EXPECT_EQ(formatted("%d%n%d", raw(int64_t{1}) + raw(int64_t{2}) + raw(int64_t{3})), "13");
}

TEST(ServicesFormat, FieldsThatAreArguments)
{
  auto fields = [](const char *format, int64_t width, int64_t precision) {
    return formatted(format, raw(width) + raw(precision) + raw(2.5));
  };
  EXPECT_EQ(fields("<%*.*f>", 8, 2), "<    2.50>");
  EXPECT_EQ(fields("<%*.*f>", -8, 2), "<2.50    >");
  EXPECT_EQ(fields("<%*.*f>", 8, -2), "<2.500000>");
}

TEST(ServicesFormat, WhatIsNoDirectiveIsText)
{
  for (const char *format : {"%", "%y", "%-", "%5", "%.", "%ll", "%v4hlf", "%\x80", "a%!b"})
    EXPECT_EQ(formatted(format, raw(uint64_t{1})), format);
  EXPECT_EQ(formatted("%v5d %v d %*d", raw(uint32_t{1}), "4:", 1), "%v5d %v d %*d");
  EXPECT_EQ(formatted("%d", raw(uint32_t{1}), "3:", 1), "%d") << "no int has three bytes";
  EXPECT_EQ(formatted("%f", raw(uint64_t{1}) + raw(uint64_t{1}), "16:", 1), "%f");
  EXPECT_EQ(formatted("%v2s", raw(uint64_t{1}), "8:", 1), "%v2s");
}

TEST(ServicesFormat, EndsWhereAnArgumentIsMissing)
{
  EXPECT_EQ(formatted("a%db", {}), "a");
  EXPECT_EQ(formatted("%d,%d", raw(uint64_t{1})), "1,");
  EXPECT_EQ(formatted("%*d,", raw(uint64_t{1})), "");
  EXPECT_EQ(formatted("%s,", {}), "");
  EXPECT_EQ(formatted("%s,%d", Bytes{'n', 'o', 'n', 'u', 'l'}), "nonul,");
  EXPECT_EQ(formatted("%d,%d", raw(uint32_t{1}), "4:4:", 2), "1,") << "bytes";
  EXPECT_EQ(formatted("%d,%d", raw(uint64_t{1}), "4:", 1), "1,") << "sizes";
  EXPECT_EQ(formatted("%d", raw(uint64_t{1}), "4294967294:", 1), "");
}

TEST(ServicesFormat, TextIsBounded)
{
  const size_t most = SERVICES_TEXT_BYTES - 1;
  EXPECT_EQ(formatted("%999999999999d|", raw(uint64_t{7})).size(), most);
  EXPECT_EQ(formatted("%.999999999f|", raw(1.0)).size(), most);
  EXPECT_EQ(formatted("%999999999s|", text("x")).size(), most);
  EXPECT_EQ(formatted("%*d|", raw(int64_t{INT32_MIN}) + raw(uint64_t{7})).size(), most);
  EXPECT_EQ(formatted(std::string(100000, 'x'), {}).size(), most);
}

TEST(ServicesFormat, VectorsOfOpencl)
{
  EXPECT_EQ(formatted("%v4hlf", raw(1.0f) + raw(2.0f) + raw(3.0f) + raw(4.0f), "16:", 1),
            "1.000000,2.000000,3.000000,4.000000");
  EXPECT_EQ(formatted("<%4v2hd>", raw(int16_t{-1}) + raw(int16_t{2}), "4:", 1), "<  -1,   2>");
  EXPECT_EQ(formatted("%v2hhd", raw(int32_t{-1}) + raw(int32_t{300}), "8:", 1), "-1,44")
      << "widened by the compiler";
  EXPECT_EQ(formatted("%v3ld %d", raw(1l) + raw(-2l) + raw(3l) + raw(4l) + raw(5), "32:4:", 2),
            "1,-2,3 5");
  EXPECT_EQ(formatted("%v2hf", raw(uint16_t{0x7c00}) + raw(uint16_t{0x0001}), "4:", 1),
            "inf,0.000000");
  EXPECT_EQ(formatted("%.3v2ha", raw(uint16_t{0x8000}) + raw(uint16_t{0x3e00}), "4:", 1),
            "-0x0.000p+0,0x1.800p+0");
}

// ---- Records ----

class Records : public testing::Test {
protected:
  void SetUp() override { ASSERT_OK(output_open(&output, take, &printed, nullptr, &error)); }
  void TearDown() override { output_close(&output); }

  static void take(void *context, rawhal_services_stream_t stream, const char *data, size_t size)
  {
    static_cast<std::string *>(context)->append(stream ? "E:" : "O:").append(data, size);
  }

  rawhal_status_t print(const std::vector<std::string> &formats, const Bytes &records)
  {
    std::vector<rawhal_string_t> views;
    for (const std::string &format : formats)
      views.push_back({format.data(), format.size()});
    printf_table_t table;
    printed.clear();
    EXPECT_OK(printf_table_make(&table, views.data(), views.size(), nullptr, &error));
    rawhal_status_t status =
        printf_records(&table, records.data(), records.size(), &output, &error);
    printf_table_free(&table);
    return status;
  }

  std::string printed;
  services_output_t output;
  rawhal_error_t error = {};
};

TEST_F(Records, OpenclFormats)
{
  EXPECT_OK(print({"2:1:4:b%d\\n", "1:0:a\\72\\t\\x\\7", "9:3:4:only %d"},
                  raw(1u) + raw(2u) + raw(7) + raw(9u) + raw(5) + raw(1u)));
  EXPECT_EQ(printed, "O:a:\\t\\x\\7O:b7\nO:only 5O:a:\\t\\x\\7");
}

// Units that were linked together: the text of one is not the other's.
TEST_F(Records, NumbersOfSeveralFormatsPrintNothing)
{
  const std::vector<std::string> formats = {"1:1:4:a %d", "2:0:sound", "1:1:4:b %f", "1:1:4:a %d"};
  EXPECT_EQ(print(formats, raw(2u) + raw(1u) + raw(7)), RAWHAL_MALFORMED);
  EXPECT_EQ(printed, "O:sound");
  EXPECT_EQ(error.offset, 4u);
  EXPECT_NE(std::string(error.message).find("several formats"), std::string::npos) << error.message;
  EXPECT_EQ(print({"1:1:4:a %d", "1:2:4:4:a %d"}, raw(1u) + raw(7)), RAWHAL_MALFORMED);
  EXPECT_OK(print({"1:1:4:a %d", "1:1:4:a %d"}, raw(1u) + raw(7))); // the same twice
  EXPECT_EQ(printed, "O:a 7");
}

TEST_F(Records, OpenclThatMakeNoSense)
{
  std::vector<std::string> formats = {"1:1:8:%ld|", "", ":", "2", "2:", "2:1", "x:1:4:%d", "3:0:c"};
  EXPECT_EQ(print(formats, raw(3u) + raw(2u)), RAWHAL_MALFORMED);
  EXPECT_EQ(error.offset, 4u);
  EXPECT_EQ(printed, "O:c") << "what came before";
  EXPECT_EQ(print(formats, raw(1u) + raw(0u)), RAWHAL_MALFORMED);
  EXPECT_EQ(print(formats, Bytes(3)), RAWHAL_MALFORMED);
  EXPECT_EQ(print({"1:2:4294967290:4294967290:%d"}, raw(1u) + raw(0u)), RAWHAL_MALFORMED);
}

TEST_F(Records, HipFormats)
{
  std::vector<std::string> formats = {"0:0:ff12345678abcdef,h: %d\n", "0:0:1,%s"};
  Bytes hashed = raw(20u << 2 | 2) + raw(0xff12345678abcdefull) + raw(uint64_t{3});
  Bytes inlined = raw(20u << 2 | 1) + text("i %d") + raw(uint64_t{4});
  EXPECT_OK(print(formats, hashed + inlined + hashed));
  EXPECT_EQ(printed, "O:h: 3\nE:i 4O:h: 3\n");
  EXPECT_OK(print({}, inlined)); // no format is constant
  EXPECT_EQ(printed, "E:i 4");
}

TEST_F(Records, HipThatMakeNoSense)
{
  std::vector<std::string> formats = {"0:0:1,%s", "0:0:", "0:0:,x", "0:0:12345678901234567,x",
                                      "0:0:zz,x"};
  EXPECT_EQ(print(formats, raw(0u)), RAWHAL_MALFORMED) << "no size would go on for ever";
  EXPECT_EQ(print(formats, raw(8u << 2)), RAWHAL_MALFORMED) << "beyond the end";
  EXPECT_EQ(print(formats, raw(8u << 2 | 2) + raw(1u)), RAWHAL_MALFORMED) << "too small for a hash";
  EXPECT_EQ(print(formats, raw(12u << 2 | 2) + raw(uint64_t{2})), RAWHAL_MALFORMED);
  EXPECT_OK(print(formats, raw(12u << 2 | 2) + raw(uint64_t{1}))); // %s without its string
}

// ---- Memory ----

TEST(ServicesHeap, TakesAndGives)
{
  rawhal_error_t error = {};
  services_heap_t heap = {};
  const uint64_t base = 7 * HEAP_SLAB;
  ASSERT_OK(heap_open(&heap, base, 3 * HEAP_SLAB, nullptr, &error));
  EXPECT_EQ(heap_take(&heap, 0), 0u);
  EXPECT_EQ(heap_take(&heap, UINT64_MAX), 0u);
  EXPECT_EQ(heap_take(&heap, 1), base);
  EXPECT_EQ(heap_take(&heap, HEAP_SLAB), base + HEAP_SLAB) << "like a slab";
  EXPECT_EQ(heap_take(&heap, HEAP_SLAB + 1), 0u);
  EXPECT_EQ(heap_take(&heap, 2 * HEAP_PAGE), base + HEAP_PAGE) << "before it";
  EXPECT_EQ(heap.used, HEAP_SLAB + 3 * HEAP_PAGE);
  EXPECT_FALSE(heap_give(&heap, base - HEAP_PAGE));
  EXPECT_FALSE(heap_give(&heap, base + 3 * HEAP_SLAB));
  EXPECT_FALSE(heap_give(&heap, base + 1));
  EXPECT_FALSE(heap_give(&heap, base + 2 * HEAP_PAGE)) << "not a beginning";
  EXPECT_FALSE(heap_give(&heap, base + 3 * HEAP_PAGE)) << "free";
  EXPECT_TRUE(heap_give(&heap, base + HEAP_PAGE));
  EXPECT_FALSE(heap_give(&heap, base + HEAP_PAGE)) << "twice";
  EXPECT_TRUE(heap_give(&heap, base));
  EXPECT_TRUE(heap_give(&heap, base + HEAP_SLAB));
  EXPECT_EQ(heap.used, 0u);
  EXPECT_EQ(heap_take(&heap, 3 * HEAP_SLAB), base) << "one piece again";
  heap_close(&heap);
}

// ---- Packets, in memory that anything can be in ----

TEST(ServicesHostcall, DamagedStacksEnd)
{
  rawhal_error_t error = {};
  services_output_t output;
  ASSERT_OK(output_open(&output, nullptr, nullptr, nullptr, &error));
  std::vector<uint64_t> memory(hostcall_bytes(4) / 8);
  hostcall_t hostcall = {};
  hostcall.memory = reinterpret_cast<unsigned char *>(memory.data());
  hostcall.packets = 4;
  hostcall.output = &output;
  hostcall_layout(&hostcall, 0x1000, 0x2000);
  EXPECT_EQ(memory[0], 0x1000u + 64);
  EXPECT_EQ(memory[2], 0x2000u);
  EXPECT_EQ(memory[3], 3u) << "the first free packet";
  EXPECT_EQ(memory[5], 3u) << "the mask";
  hostcall_serve(&hostcall);
  EXPECT_EQ(hostcall.served, 0u);
  memory[4] = 0xfffffffffffffff2; // ready: packet 2, whose next is itself
  memory[8 + 2 * 3] = 2;
  memory[8 + 2 * 3 + 1] = UINT64_MAX;
  memory[8 + 2 * 3 + 2] = 1ull << 32 | 77;
  hostcall_serve(&hostcall);
  EXPECT_EQ(hostcall.served, 4u);
  EXPECT_EQ(hostcall.refused, 4u * 64);
  EXPECT_EQ(memory[8 + 2 * 3 + 2], 77u) << "not ready any more";
  hostcall_close(&hostcall);
  output_close(&output);
}

TEST(ServicesHostcall, MessagesAreBounded)
{
  rawhal_error_t error = {};
  std::string printed;
  services_output_t output;
  ASSERT_OK(output_open(
      &output,
      [](void *context, rawhal_services_stream_t, const char *data, size_t size) {
        static_cast<std::string *>(context)->append(data, size);
      },
      &printed, nullptr, &error));
  hostcall_t hostcall = {};
  hostcall.packets = 2;
  hostcall.output = &output;
  uint64_t begun[8] = {1 | 1 << 5, 0};
  ASSERT_TRUE(hostcall_message(&hostcall, begun));
  const uint64_t number = begun[0] & ~uint64_t{0xff};
  for (int i = 0; i < 2000; ++i) {
    uint64_t more[8] = {number | 7 << 5, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull};
    ASSERT_TRUE(hostcall_message(&hostcall, more));
    EXPECT_EQ(more[0] & ~uint64_t{0xff}, number);
  }
  uint64_t last[8] = {number | 2};
  EXPECT_FALSE(hostcall_message(&hostcall, last)) << "too long: lost";
  EXPECT_EQ(last[0], UINT64_MAX);
  EXPECT_EQ(hostcall.message_bytes, 0u);
  for (int i = 0; i < 2 * 64; ++i) {
    uint64_t words[8] = {1};
    EXPECT_TRUE(hostcall_message(&hostcall, words));
  }
  uint64_t words[8] = {1};
  EXPECT_FALSE(hostcall_message(&hostcall, words)) << "more than lanes";
  EXPECT_EQ(words[0] & 3, 0u) << "a descriptor that begins and ends nothing";
  words[0] |= 2;
  EXPECT_FALSE(hostcall_message(&hostcall, words));
  EXPECT_EQ(printed, "");
  hostcall_close(&hostcall);
  output_close(&output);
}

} // namespace
