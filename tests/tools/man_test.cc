// The man pages say what --help says: the same commands, options and exit statuses.
#include "tests/tools/command.h"

#include <set>

static const std::string man = RAWHAL_SOURCE_DIR "/docs/man/";

static const char letters[] = "abcdefghijklmnopqrstuvwxyz-", digits[] = "0123456789";

// The words made of `characters` between `before` and `after`.
static std::set<std::string> words(const std::string &text, const std::string &before,
                                   const char *characters, const std::string &after)
{
  std::set<std::string> found;
  for (size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    size_t end = std::min(text.find_first_not_of(characters, at), text.size());
    if (end > at && text.compare(end, after.size(), after) == 0)
      found.insert(text.substr(at, end - at));
  }
  return found;
}

static std::set<std::string> commands()
{
  std::string help = run({tool, "--help"}).out;
  size_t from = help.find("commands:\n"), to = help.find("\n\n", from);
  return words(help.substr(from, to - from), "\n  ", letters, " ");
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
    EXPECT_EQ(words(help, " --", letters, ""), words(page, "Fl -", letters, ""));
    std::string statuses = help.substr(help.find("exit status"));
    EXPECT_EQ(words(statuses, "\n  ", digits, " "), words(page, "\n.It ", digits, "\n"));
  }
  std::string help = run({tool, "--help"}).out, statuses = help.substr(help.find("exit status"));
  EXPECT_EQ(words(statuses, "\n  ", digits, " "), words(top, "\n.It ", digits, "\n"));
}

TEST(Man, MandocFindsNothingToSay)
{
  if (run({"/bin/sh", "-c", "command -v mandoc"}).status)
    GTEST_SKIP() << "mandoc is not installed";
  std::vector<std::string> command_line = {"/usr/bin/env", "mandoc", "-Tlint", "-Wwarning",
                                           man + "rawhal.1"};
  for (const std::string &command : commands())
    command_line.push_back(man + "rawhal-" + command + ".1");
  Outcome got = run(command_line);
  EXPECT_EQ(0, got.status) << got.out << got.err;
}
