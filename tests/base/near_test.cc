// The names that are nearest to one that is not there.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

extern "C" {
#include "base/edits.h"
#include "base/near.h"
}

namespace {

std::string nearest(const char *wanted, const std::vector<std::string> &names)
{
  near_names_t near = {};
  char text[NEAR_TEXT];
  near.wanted = rawhal_string(wanted);
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
  EXPECT_EQ("; nearest: 'ab'", nearest("ba", {"ab"})); // a swap is one edit
  EXPECT_EQ("", nearest("softmax", names));
  EXPECT_EQ("", nearest("x", {"y"})); // everything would be as near
  EXPECT_EQ("", nearest("", names));
}

TEST(Near, AsAPhraseOfAnError)
{
  // Those without a name count as none: the one that is near stands behind more than are compared.
  const auto name = [](const void *there, size_t number) {
    return number == 5000 ? rawhal_string(static_cast<const char *>(there)) : rawhal_string_t{};
  };
  const rawhal_string_t wanted = RAWHAL_STRING("ab");
  EXPECT_STREQ("; nearest: 'abc'", near_phrase(wanted, name, "abc", 5001, "an error").text);
  EXPECT_STREQ("", near_phrase(wanted, name, "abc", 5000, "an error").text);
  EXPECT_STREQ("", near_phrase(wanted, name, "abc", 5001, nullptr).text);
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

// By the definition, with a whole table.
unsigned distance(const std::string &a, const std::string &b)
{
  std::vector<std::vector<unsigned>> table(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t k = 0; k <= b.size(); ++k) {
      table[i][k] = static_cast<unsigned>(
          i == 0   ? k
          : k == 0 ? i
                   : std::min({table[i - 1][k] + 1, table[i][k - 1] + 1,
                               table[i - 1][k - 1] + (a[i - 1] != b[k - 1])}));
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        table[i][k] = std::min(table[i][k], table[i - 2][k - 2] + 1);
    }
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

TEST(Near, DistancesUpToAMost)
{
  std::mt19937 random(5);
  size_t less = 0, more = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string a, b;
    for (std::string *one : {&a, &b})
      for (unsigned k = random() % 14; k--;)
        *one += static_cast<char>('a' + random() % 2);
    const unsigned most = static_cast<unsigned>(random() % 8), far = distance(a, b);
    ASSERT_EQ(std::min(far, most + 1), edits_between(a.data(), a.size(), b.data(), b.size(), most))
        << a << " " << b << " " << most;
    ++(far > most ? more : less);
  }
  EXPECT_GT(less, 5000u);
  EXPECT_GT(more, 2000u);
}

TEST(Near, OfManyThoseOfALengthThatMayBeNear)
{
  std::vector<std::string> names(5000, "of_quite_another_length");
  for (size_t i = 0; i < 2000; ++i)
    names.push_back("other_" + std::to_string(i));
  names[4000] = "something"; // before those of its length
  names.push_back("somethinh");
  near_names_t near = {};
  near.wanted = RAWHAL_STRING("somethin");
  near_look_at_most(
      &near,
      [](const void *all, size_t number) {
        const std::string &name = (*static_cast<const std::vector<std::string> *>(all))[number];
        return rawhal_string_t{name.data(), name.size()};
      },
      &names, names.size());
  char text[NEAR_TEXT];
  near_text(&near, text);
  EXPECT_STREQ("; nearest: 'something'", text); // the last was one too many
}

} // namespace
