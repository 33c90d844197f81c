// Patterns of names, held against fnmatch() and against work that grows.
#include <gtest/gtest.h>

#include <fnmatch.h>

#include <random>
#include <string>

extern "C" {
#include "base/glob.h"
}

namespace {

bool fits(const std::string &pattern, const std::string &text)
{
  return glob_fits({pattern.data(), pattern.size()}, {text.data(), text.size()});
}

TEST(Glob, StarsBytesAndSets)
{
  EXPECT_TRUE(fits("", ""));
  EXPECT_FALSE(fits("", "a"));
  EXPECT_TRUE(fits("*", ""));
  EXPECT_TRUE(fits("Cijk_*_SB_*x64", "Cijk_Ailk_SB_MT64x64"));
  EXPECT_FALSE(fits("Cijk_*_SB_*x64", "Cijk_Ailk_SB_MT64x64x8"));
  EXPECT_TRUE(fits("a?c", "abc"));
  EXPECT_FALSE(fits("a?c", "ac"));
  EXPECT_TRUE(fits("MT[0-9][!a-z]", "MT6X"));
  EXPECT_FALSE(fits("MT[0-9][^a-z]", "MT6x"));
  EXPECT_TRUE(fits("[]a]", "]"));
  EXPECT_TRUE(fits("[a-]x", "-x"));
  EXPECT_TRUE(fits("a\\*b", "a*b"));
  EXPECT_FALSE(fits("a\\*b", "axb"));
  EXPECT_TRUE(fits("a[b", "a[b")); // no set ends there
  EXPECT_TRUE(fits("x[[:digit:]_]*", "x_1"));
  EXPECT_TRUE(fits("x[[:digit:]_]*", "x7"));
  EXPECT_FALSE(fits("x[[:digit:]_]*", "xa"));
}

TEST(Glob, AnyBytes)
{
  const std::string cut("a\0b", 3);
  EXPECT_TRUE(fits("a?b", cut));
  EXPECT_TRUE(fits("a*", cut));
  EXPECT_TRUE(fits(cut, cut));
  EXPECT_FALSE(fits("a", cut));
  EXPECT_TRUE(fits("\xff[\x80-\xfe]", "\xff\x90"));
}

// A name may have in it what is not itself in a pattern.
TEST(Glob, ItselfOrAPattern)
{
  const std::string cut("a\0b", 3), other("a\0c", 3);
  const auto names = [](const std::string &wanted, const std::string &text) {
    return glob_names({wanted.data(), wanted.size()}, {text.data(), text.size()});
  };
  EXPECT_FALSE(fits("f[0]", "f[0]"));
  EXPECT_TRUE(names("f[0]", "f[0]"));
  EXPECT_TRUE(names("f[0]", "f0"));
  EXPECT_TRUE(names("f*", "f0"));
  EXPECT_FALSE(names("f*x", "f0"));
  EXPECT_FALSE(names("f", "f0"));
  EXPECT_TRUE(names(cut, cut));
  EXPECT_FALSE(names(other, cut));
  EXPECT_TRUE(glob_names({}, {}));
}

TEST(Glob, IsAPattern)
{
  for (const char *pattern : {"*", "a?", "a[b"})
    EXPECT_TRUE(glob_is_pattern(rawhal_string(pattern))) << pattern;
  for (const std::string &name : {std::string(), std::string("_Z3addPf"), std::string("a\0b", 3)})
    EXPECT_FALSE(glob_is_pattern({name.data(), name.size()}));
}

// In the C locale, which tests run in.
TEST(Glob, AsFnmatch)
{
  std::mt19937 random(7);
  const std::string pieces[] = {"a",  "b",    "c",    "*",           "?",           "[ab]", "[!a]",
                                "[",  "]",    "-",    "\\a",         "[a-c]",       "[]b]", "[b-]",
                                "^a", "[\\]", "[^b-", "[[:alpha:]]", "[x[:digit:]", "!"};
  size_t fit = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string pattern, text;
    for (unsigned k = random() % 7; k--;)
      pattern += pieces[random() % std::size(pieces)];
    for (unsigned k = random() % 7; k--;)
      text += "abc[]-x1!"[random() % 9];
    const bool wanted = fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
    ASSERT_EQ(wanted, fits(pattern, text)) << pattern << " " << text;
    fit += wanted;
  }
  EXPECT_GT(fit, 5000u);
}

// By steps that double with each star this would not end.
TEST(Glob, ManyStarsAreNotExponential)
{
  std::string stars, sets(2000, '[');
  for (int i = 0; i < 1000; ++i)
    stars += "*a";
  EXPECT_FALSE(fits(stars + "b", std::string(2000, 'a')));
  EXPECT_TRUE(fits(stars, std::string(2000, 'a')));
  EXPECT_FALSE(fits("*" + sets + "x", std::string(4000, '['))); // nor is any set looked for twice
}

} // namespace
