// The names that are nearest to one that is not there.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

extern "C" {
#include "tools/shared/near.h"
}

namespace {

std::string nearest(const char *wanted, const std::vector<std::string> &names)
{
  near_names_t near = {};
  char text[NEAR_TEXT];
  near.wanted = wanted;
  for (const std::string &name : names)
    near_look(&near, {name.data(), name.size()});
  near_text(&near, text);
  return text;
}

TEST(Near, MistypedOrAPart)
{
  const std::vector<std::string> names = {"vector_add", "vector_sub", "matmul", "reduce",
                                          "_Z10vector_addPfPKfS1_j"};
  EXPECT_EQ("; nearest: 'vector_add'", nearest("vectoradd", {"vector_add", "matmul"}));
  EXPECT_EQ("; nearest: '_Z10vector_addPfPKfS1_j', 'vector_add', 'vector_sub'",
            nearest("vector_a", {names[4], names[0], names[1]}));
  EXPECT_EQ("; nearest: 'vector_add', '_Z10vector_addPfPKfS1_j', 'vector_sub'",
            nearest("VECTOR_ADD", names));
  EXPECT_EQ("; nearest: 'matmul'", nearest("matmlu", names));
  EXPECT_EQ("", nearest("softmax", names));
  EXPECT_EQ("", nearest("x", {"y"})); // everything would be as near
  EXPECT_EQ("", nearest("", names));
}

TEST(Near, EachOnceAndTheNearestFirst)
{
  EXPECT_EQ("; nearest: 'abcdef', 'abcdeg', 'abcdxg'",
            nearest("abcdef", {"abcdxg", "abcdeg", "abcdef", "abcdeg", "abcxyz", "abcdxh"}));
}

TEST(Near, NamesThatAreNone)
{
  const std::string cut("vec\0tor", 7), longest(NEAR_BYTES - 1, 'v'), longer(NEAR_BYTES, 'v');
  EXPECT_EQ("", nearest("vector", {cut, "", longer}));
  EXPECT_EQ("; nearest: '" + longest + "'", nearest(longest.c_str(), {longer, longest}));
  EXPECT_EQ("", nearest(longer.c_str(), {longest, longer}));
}

// By the definition, without a table.
unsigned distance(const std::string &a, const std::string &b)
{
  std::vector<std::vector<unsigned>> table(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t k = 0; k <= b.size(); ++k)
      table[i][k] = static_cast<unsigned>(
          i == 0   ? k
          : k == 0 ? i
                   : std::min({table[i - 1][k] + 1, table[i][k - 1] + 1,
                               table[i - 1][k - 1] + (a[i - 1] != b[k - 1])}));
  return table[a.size()][b.size()];
}

TEST(Near, RandomNamesByTheDefinition)
{
  std::mt19937 random(3);
  unsigned near = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string a, b;
    for (unsigned k = random() % 12 + 3; k--;)
      a += static_cast<char>('a' + random() % 3);
    b = a;
    for (unsigned k = random() % 8; k--;) {
      const size_t at = random() % (b.size() + 1);
      if (random() % 2)
        b.insert(at, 1, static_cast<char>('a' + random() % 3));
      else if (at < b.size())
        b.erase(at, 1);
    }
    const unsigned far = distance(a, b);
    const bool part = b.find(a) != std::string::npos,
               wanted = !b.empty() && (part || (far <= a.size() / 3 + 1 && far < a.size()));
    ASSERT_EQ(wanted ? "; nearest: '" + b + "'" : "", nearest(a.c_str(), {b})) << a;
    near += wanted;
  }
  EXPECT_GT(near, 5000u);
  EXPECT_LT(near, 18000u);
}

} // namespace
