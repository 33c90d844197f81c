// Line tables of the fixtures, whole and damaged.
#include "tests/hal/device_test.h"
#include "tests/tools/command.h"

extern "C" {
#include "tools/shared/lines.h"
}

namespace {

bool find(const std::string &object, uint64_t address, lines_place_t *place)
{
  // On the heap, and no longer than it is.
  const std::vector<char> exact(object.begin(), object.end());
  return lines_find({exact.data(), exact.size()}, address, place);
}

TEST(Lines, FindsALine)
{
  for (const char *fixture : {"lines-gfx90a-v5.co", "lines-gfx942-v5.co"}) {
    const std::string object = slurp(fixtures + fixture);
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_error_t error;
    ASSERT_OK(rawhal_hsaco_open(object.data(), object.size(), nullptr, &hsaco, &error));
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, 0);
    const uint64_t entry = kernel->descriptor->entry;
    rawhal_hsaco_close(hsaco);
    lines_place_t place;
    std::vector<uint32_t> seen;
    for (uint64_t at = 0; at < 256; at += 4)
      if (find(object, entry + at, &place)) {
        EXPECT_STREQ("src/lines.cl", place.file);
        seen.push_back(place.line);
      }
    ASSERT_GT(seen.size(), 20u);
    EXPECT_EQ(6u, seen.front()) << "its first";
    EXPECT_EQ(1, std::count(seen.begin(), seen.end(), 12u)) << "s_endpgm";
    EXPECT_GT(std::count(seen.begin(), seen.end(), 11u), 0) << "the store";
    EXPECT_FALSE(find(object, entry - 0x100, &place));
    EXPECT_FALSE(find(object, entry + 0x10000, &place));
    EXPECT_FALSE(find(object, UINT64_MAX, &place));
  }
  lines_place_t place;
  EXPECT_FALSE(find(slurp(fixtures + "vector_add-gfx90a-v5.co"), 0x1900, &place)) << "without";
}

TEST(Lines, DamageIsNeverFatal)
{
  const std::string object = slurp(fixtures + "lines-gfx90a-v5.co");
  lines_place_t place;
  size_t answers = 0;
  for (size_t size = 0; size < object.size(); size += 7)
    answers += find(object.substr(0, size), 0x1908, &place);
  for (size_t at = 0; at < object.size(); ++at) {
    std::string damaged = object;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 3 ? 0xff : 0x80));
    answers += find(damaged, 0x1908, &place);
  }
  EXPECT_GT(answers, 0u);
}

} // namespace
