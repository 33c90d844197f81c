// The man pages say what --help says: the same commands, options and exit statuses.
#include "tests/tools/command.h"

#include <regex>
#include <set>

static const std::string man = RAWHAL_SOURCE_DIR "/docs/man/";

static std::set<std::string> matches(const std::string &text, const char *pattern)
{
  std::set<std::string> found;
  std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.insert((*match)[1]);
  return found;
}

static std::set<std::string> commands()
{
  std::string help = run({tool, "--help"}).out;
  size_t from = help.find("commands:\n"), to = help.find("\n\n", from);
  return matches(help.substr(from, to - from), "\n  ([a-z]+) ");
}

TEST(Man, EveryCommandHasItsPage)
{
  std::string top = slurp(man + "rawhal.1");
  EXPECT_GE(commands().size(), 5u);
  for (const std::string &command : commands()) {
    SCOPED_TRACE(command);
    EXPECT_TRUE(contains(top, ".It Cm " + command + "\n"));
    std::string page = slurp(man + "rawhal-" + command + ".1");
    std::string help = run({tool, command, "--help"}).out;
    ASSERT_TRUE(contains(page, ".Nm rawhal-" + command + "\n"));
    EXPECT_EQ(matches(help, "--([a-z][a-z-]*)"), matches(page, "Fl -([a-z][a-z-]*)"));
    std::string statuses = help.substr(help.find("exit status"));
    EXPECT_EQ(matches(statuses, "\n  ([0-9]) "), matches(page, "\n.It ([0-9])\n"));
  }
  std::string help = run({tool, "--help"}).out;
  EXPECT_EQ(matches(help, "\n  ([0-9]) "), matches(top, "\n.It ([0-9])\n"));
}

TEST(Man, MandocFindsNothingToSay)
{
  if (run({"/bin/sh", "-c", "command -v mandoc"}).status)
    GTEST_SKIP() << "mandoc is not installed";
  std::vector<std::string> words = {"/usr/bin/env", "mandoc", "-Tlint", "-Wwarning",
                                    man + "rawhal.1"};
  for (const std::string &command : commands())
    words.push_back(man + "rawhal-" + command + ".1");
  Outcome got = run(words);
  EXPECT_EQ(0, got.status) << got.out << got.err;
}
