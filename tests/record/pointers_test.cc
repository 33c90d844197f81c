// Which bytes are pointers: of kernargs, of buffers that come in pieces; and what code does that is not the same twice.
#include <algorithm>
#include <map>
#include <random>

#include "tests/record/reading.h"

extern "C" {
#include "record/code.h"
#include "record/pointers.h"
#include "record/scan.h"
}

namespace {

constexpr uint64_t kBase = 0x7f1234560000, kSize = 0x10000;

using Found = std::map<uint64_t, uint64_t>;

bool leads(uint64_t word)
{
  return word - kBase < kSize;
}

bool take(void *found, size_t offset, uint64_t word)
{
  if (leads(word))
    (*static_cast<Found *>(found))[offset] = word;
  return leads(word);
}

bool take_scanned(void *found, uint64_t offset, uint64_t word)
{
  return take(found, offset, word);
}

void put(std::string &bytes, size_t at, uint64_t word)
{
  memcpy(&bytes[at], &word, sizeof(word));
}

Found find(const std::string &segment, const std::string &what)
{
  Found found;
  std::vector<unsigned char> bytes(what.begin(), what.end());
  for (unsigned char &byte : bytes)
    byte = byte == 'p' ? RECORD_BYTE_POINTER : byte == 'h' ? RECORD_BYTE_HIDDEN : RECORD_BYTE_VALUE;
  record_find_pointers(segment.data(), bytes.data(), segment.size(), take, &found);
  return found;
}

TEST(Words, AtAnyOffsetOfEveryByteThatIsTheProgrammes)
{
  for (size_t at = 0; at <= 24; ++at) {
    std::string segment(32, 0);
    put(segment, at, kBase + 0x100);
    EXPECT_EQ((Found{{at, kBase + 0x100}}), find(segment, std::string(32, 'v'))) << at;
    std::string what(32, 'v');
    what[at + 7] = 'h';
    EXPECT_EQ(Found(), find(segment, what)) << at;
    what[at + 7] = 'p';
    EXPECT_EQ(Found(), find(segment, what)) << at;
  }
  EXPECT_EQ(Found(), find("1234567", "vvvvvvv"));
  EXPECT_EQ(Found(), find("", ""));
}

TEST(Words, NoByteIsOfTwo)
{
  std::string segment(40, 0);
  put(segment, 4, kBase); // which at 3 is none, and at 5 neither
  put(segment, 12, kBase + 1);
  put(segment, 24, kBase + 2);
  EXPECT_EQ((Found{{4, kBase}, {12, kBase + 1}, {24, kBase + 2}}),
            find(segment, std::string(40, 'v')));
  // One at a multiple of 8 comes before one that lies across it.
  struct {
    Found found;
    static bool any(void *self, size_t offset, uint64_t word)
    {
      return (*static_cast<Found *>(self))[offset] = word, true;
    }
  } all;
  std::vector<unsigned char> bytes(24);
  record_find_pointers(std::string(24, 'x').data(), bytes.data(), 24, all.any, &all.found);
  EXPECT_EQ(3u, all.found.size());
  EXPECT_TRUE(all.found.count(0) && all.found.count(8) && all.found.count(16));
}

TEST(Words, Arguments)
{
  EXPECT_EQ(RECORD_ARGUMENT_POINTER, record_argument_of(RAWHAL_VALUE_GLOBAL_BUFFER, 8, false));
  EXPECT_EQ(RECORD_ARGUMENT_VALUE, record_argument_of(RAWHAL_VALUE_GLOBAL_BUFFER, 4, false));
  EXPECT_EQ(RECORD_ARGUMENT_VALUE, record_argument_of(RAWHAL_VALUE_BY_VALUE, 8, false));
  EXPECT_EQ(RECORD_ARGUMENT_IMAGE, record_argument_of(RAWHAL_VALUE_IMAGE, 8, false));
  EXPECT_EQ(RECORD_ARGUMENT_SERVICE,
            record_argument_of(RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, 8, true));
  EXPECT_EQ(RECORD_ARGUMENT_HIDDEN, record_argument_of(RAWHAL_VALUE_HIDDEN_NONE, 8, true));
}

// However a buffer is cut into pieces, the same words are found.
TEST(Scan, PiecesOfAnySize)
{
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint64_t address = 0x10000 + random() % 8;
    std::string bytes(64 + random() % 200, 0);
    Found expected, found;
    for (size_t at = -address & 3; at + 8 <= bytes.size(); at += 8 + 4 * (random() % 4))
      put(bytes, at, expected[at] = kBase + random() % kSize);
    record_scan_t scan = {};
    scan.address = address;
    scan.least = kBase;
    scan.end = kBase + kSize;
    scan.is = take_scanned;
    scan.context = &found;
    for (size_t at = 0, size; at < bytes.size(); at += size) {
      size = std::min(bytes.size() - at, 1 + random() % (round % 2 ? 7 : 40));
      record_scan_piece(&scan, at, bytes.data() + at, size);
    }
    ASSERT_EQ(expected, found) << round;
  }
}

uint32_t code_of(const std::string &fixture, const char *name)
{
  rawhal_error_t error;
  rawhal_hsaco_t *hsaco = nullptr;
  const std::string bytes = slurp(RAWHAL_SOURCE_DIR "/tests/fixtures/" + fixture);
  EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  const rawhal_kernel_t *kernel = rawhal_hsaco_find_kernel(hsaco, rawhal_string(name));
  EXPECT_TRUE(kernel) << name;
  const uint32_t code = kernel ? record_code_of(kernel, {bytes.data(), bytes.size()}) : 0;
  rawhal_hsaco_close(hsaco);
  return code;
}

TEST(Code, AtomicsAndClocks)
{
  EXPECT_EQ(0u, code_of("vector_add-gfx90a-v5.co", "vector_add"));
  EXPECT_EQ(0u, code_of("reduce-gfx942-v5.co", "reduce"));
  EXPECT_EQ(0u, code_of("tensile-gfx90a-v5.co", "tensile_f32") & RECORD_CODE_CLOCK);
  EXPECT_EQ(uint32_t{RECORD_CODE_CLOCK}, code_of("recorded-gfx90a-v5.co", "clock_of"));
  EXPECT_EQ(uint32_t{RECORD_CODE_ATOMICS}, code_of("recorded-gfx90a-v5.co", "order_of"));
  EXPECT_EQ(uint32_t{RECORD_CODE_SYNC}, code_of("recorded-gfx90a-v5.co", "sync_of"));
  EXPECT_EQ(0u, code_of("recorded-gfx90a-v5.co", "sum_of"));        // of integers
  EXPECT_EQ(0u, code_of("vector_add-gfx1030-v5.co", "vector_add")); // not looked at
}

} // namespace
