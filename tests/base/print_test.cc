// Text printed piece by piece: as snprintf would print the whole.
extern "C" {
#include "base/print.h"
}

#include <cstring>
#include <string>

#include <gtest/gtest.h>

namespace {

TEST(Print, IsAsTheWholeHoweverMuchFits)
{
  const std::string whole = "one 2 three";
  for (size_t size = 0; size <= whole.size() + 2; ++size) {
    std::string bytes(whole.size() + 3, '#');
    print_t to = print_into(&bytes[0], size);
    print(&to, "%s ", "one");
    print(&to, "%d", 2);
    print(&to, " three");
    EXPECT_EQ(to.length, whole.size());
    std::string expected = size ? whole.substr(0, size - 1) + std::string(1, '\0') : "";
    EXPECT_EQ(bytes.substr(0, expected.size()), expected) << size;
    EXPECT_EQ(bytes.find_first_not_of('#', size), std::string::npos) << size;
  }
}

TEST(Print, IsEmptyAtFirstAndCountsWithoutMemory)
{
  char bytes[4] = "abc";
  print_into(bytes, sizeof(bytes));
  EXPECT_STREQ(bytes, "");
  print_t to = print_into(nullptr, 100);
  print(&to, "%s", "four");
  EXPECT_EQ(to.length, 4u);
}

} // namespace
