// Labels, as they are kept.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

extern "C" {
#include "debug/label.h"
}

namespace {

std::string kept(const std::string &given)
{
  char label[RAWHAL_LABEL_BYTES];
  memset(label, 0x5a, sizeof(label));
  label_copy(label, {given.data(), given.size()});
  const rawhal_string_t text = label_text(label);
  for (size_t i = text.size; i < sizeof(label); ++i)
    EXPECT_EQ(label[i], 0) << given;
  return std::string(text.data, text.size);
}

TEST(Label, IsKeptAsItIsGiven)
{
  EXPECT_EQ(kept(""), "");
  EXPECT_EQ(kept("layer 3"), "layer 3");
  EXPECT_EQ(kept(std::string(31, 'x')), std::string(31, 'x'));
  EXPECT_EQ(kept("\x1b[31m\n\xff\xc3"), "\x1b[31m\n\xff\xc3"); // escaped by whoever shows it
  EXPECT_EQ(kept(std::string("before\0behind", 13)), "before");
  char label[RAWHAL_LABEL_BYTES] = "something";
  label_copy(label, rawhal_string(nullptr));
  EXPECT_EQ(label_text(label).size, 0u);
}

TEST(Label, IsCutBetweenCharacters)
{
  EXPECT_EQ(kept(std::string(32, 'x')), std::string(31, 'x'));
  EXPECT_EQ(kept(std::string(100000, 'x')), std::string(31, 'x'));
  const std::string euro = "\xe2\x82\xac";
  for (size_t before = 26; before < 32; ++before) {
    const std::string start(before, 'x');
    EXPECT_EQ(kept(start + euro + "behind"),
              before + 3 <= 31 ? (start + euro + "behind").substr(0, 31) : start)
        << before;
  }
}

TEST(Label, MayFillItsPlace)
{
  char label[RAWHAL_LABEL_BYTES];
  memset(label, 'y', sizeof(label)); // of a file that lies
  EXPECT_EQ(label_text(label).size, sizeof(label));
}

} // namespace
