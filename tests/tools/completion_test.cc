// Completions: bash asks them for every command and option; zsh and fish read them where they are installed.
#include "tests/tools/command.h"

#include <set>
#include <sstream>

namespace {

std::set<std::string> lines_of(const std::string &text)
{
  std::istringstream stream(text);
  std::set<std::string> all;
  for (std::string line; std::getline(stream, line);)
    if (!line.empty())
      all.insert(line);
  return all;
}

// The words behind `before` in a command's own help.
std::set<std::string> words_of(const std::string &text, const std::string &before)
{
  std::set<std::string> found;
  for (size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (end > at)
      found.insert(text.substr(at, end - at));
  }
  return found;
}

std::set<std::string> commands()
{
  const std::string help = run({tool, "--help"}).out;
  const size_t from = help.find("commands:\n"), to = help.find("\n\n", from);
  return words_of(help.substr(from, to - from), "\n  ");
}

class Completion : public testing::Test {
protected:
  void SetUp() override
  {
    const Outcome got = run({tool, "completion", "bash"});
    ASSERT_EQ(0, got.status) << got.err;
    spit(scratch / "rawhal", got.out);
    spit(scratch / "a file", std::string("x"));
    ASSERT_EQ(0, system(("mkdir '" + (scratch / "folder") + "'").c_str()));
  }

  // What bash offers for the last of these words, which stand behind "rawhal".
  std::set<std::string> offered(const std::vector<std::string> &words)
  {
    std::string line = "cd '" + scratch.root + "' && source ./rawhal && COMP_WORDS=(rawhal";
    for (const std::string &word : words)
      line += " '" + word + "'";
    line += ") COMP_CWORD=" + std::to_string(words.size()) +
            " && { _rawhal || true; } && printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Outcome got = run({"/usr/bin/env", "bash", "-u", "-c", line});
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_EQ("", got.err);
    return lines_of(got.out);
  }

  bool offers(const std::vector<std::string> &words, const std::string &word)
  {
    return offered(words).count(word) == 1;
  }

  Scratch scratch;
};

} // namespace

TEST_F(Completion, BashKnowsEveryCommand)
{
  std::set<std::string> expected = commands();
  EXPECT_GE(expected.size(), 16u);
  expected.insert({"help", "--help", "--version"});
  EXPECT_EQ(expected, offered({""}));
  EXPECT_EQ(std::set<std::string>({"record", "replay"}), offered({"re"}));
  EXPECT_EQ(commands(), offered({"help", ""}));
}

TEST_F(Completion, BashKnowsEveryOption)
{
  for (const std::string &command : commands()) {
    SCOPED_TRACE(command);
    std::set<std::string> expected, got;
    for (const std::string &name : words_of(run({tool, command, "--help"}).out, " --"))
      expected.insert("--" + name);
    for (const std::string &option : offered({command, "--"}))
      got.insert(option.substr(0, option.find('=')));
    EXPECT_EQ(expected, got);
  }
  EXPECT_TRUE(offers({"record", "-"}, "-o"));
  EXPECT_TRUE(offers({"inspect", "-"}, "-o"));
}

TEST_F(Completion, BashKnowsValues)
{
  EXPECT_EQ(std::set<std::string>({"softgpu", "hsa"}), offered({"run", "--device", ""}));
  EXPECT_EQ(std::set<std::string>({"softgpu"}), offered({"doctor", "--device", "s"}));
  EXPECT_EQ(std::set<std::string>(), offered({"limits", "--index", ""}));
  EXPECT_EQ(std::set<std::string>(), offered({"check", "--kernel", ""}));
  EXPECT_EQ(std::set<std::string>({"--check", "--check="}), offered({"exec", "--check"}));
  EXPECT_EQ(std::set<std::string>({"off", "warn", "report", "refuse"}),
            offered({"exec", "--check", "="})); // as bash cuts --check=
  EXPECT_EQ(std::set<std::string>({"warn"}), offered({"exec", "--check", "=", "w"}));
  EXPECT_EQ(std::set<std::string>({"a file"}), offered({"check", "--blob", "a"}));
  EXPECT_EQ(std::set<std::string>({"folder"}), offered({"unpack", "x", "--output", ""}));
}

TEST_F(Completion, BashKnowsFilesAndWords)
{
  EXPECT_EQ(std::set<std::string>({"a file", "folder", "rawhal"}), offered({"inspect", ""}));
  EXPECT_EQ(std::set<std::string>({"a file"}),
            offered({"run", "k.co", "ptr", ":", "a"})); // as bash cuts ptr:a
  spit(scratch / "k*", std::string("x"));
  spit(scratch / "k1", std::string("x"));
  EXPECT_EQ(std::set<std::string>({"k*"}), offered({"inspect", "k*"})); // a name, no pattern
  EXPECT_EQ(std::set<std::string>({"suspend", "set"}), offered({"limits", "s"}));
  EXPECT_TRUE(offers({"completion", ""}, "fish"));
  EXPECT_TRUE(offers({"exec", "--", "tru"}, "true"));            // a program of PATH
  EXPECT_TRUE(offers({"exec", "--", "true", "a"}, "a file"));    // its arguments
  EXPECT_FALSE(offers({"exec", "--", "true", "--"}, "--check")); // which are not ours
}

TEST_F(Completion, ZshAndFishHaveTheSame)
{
  const std::string zsh = run({tool, "completion", "zsh"}).out,
                    fish = run({tool, "completion", "fish"}).out;
  EXPECT_EQ(0u, zsh.find("#compdef rawhal\n"));
  for (const std::string &command : commands()) {
    EXPECT_TRUE(contains(zsh, "\n    '" + command + ":")) << command;
    EXPECT_TRUE(contains(fish, "__fish_use_subcommand -a " + command + " ")) << command;
    const size_t from = zsh.find("\n    " + command + ")\n"), to = zsh.find(";;", from);
    ASSERT_NE(std::string::npos, from);
    const std::string part = zsh.substr(from, to - from);
    for (const std::string &name : words_of(run({tool, command, "--help"}).out, " --")) {
      EXPECT_TRUE(contains(part, "--" + name + "[") || contains(part, "--" + name + "="))
          << command << " " << name;
      EXPECT_TRUE(contains(fish, "__rawhal_is " + command + "' -l " + name + " "))
          << command << " " << name;
    }
  }
  EXPECT_TRUE(contains(zsh, "compadd -- --help --version;"));
  EXPECT_TRUE(contains(zsh, "    exec)\n      if (( program < CURRENT )); then\n        shift "
                            "$program words\n")); // a command line of its own
  EXPECT_TRUE(contains(zsh, "'--kernel=[the kernel'\\''s exact name or symbol]:value: '"));
}

// What fish offers for a line, without what it says of each.
TEST_F(Completion, FishOffersWhatBashDoes)
{
  if (run({"/bin/sh", "-c", "command -v fish"}).status)
    GTEST_SKIP() << "fish is not installed";
  spit(scratch / "rawhal.fish", run({tool, "completion", "fish"}).out);
  auto fish = [this](const std::string &line) {
    std::set<std::string> found;
    const std::string all =
        run({"/usr/bin/env", "HOME=" + scratch.root, "fish", "-c",
             "cd " + scratch.root + "; source rawhal.fish; complete -C '" + line + "'"})
            .out;
    for (const std::string &offer : lines_of(all))
      found.insert(offer.substr(0, offer.find('\t')));
    return found;
  };
  std::set<std::string> expected = commands();
  EXPECT_EQ(expected, fish("rawhal help "));
  expected.insert("help");
  EXPECT_EQ(expected, fish("rawhal "));
  for (const std::string &command : commands()) {
    std::set<std::string> options = fish("rawhal " + command + " --"), bash;
    options.erase("--"); // of an option with or without a value
    for (const std::string &option : offered({command, "--"}))
      bash.insert(option);
    EXPECT_EQ(bash, options) << command;
  }
  EXPECT_EQ(0u, fish("rawhal inspect find --").count("--once"));
  EXPECT_EQ(fish("rawhal inspect --"), fish("rawhal inspect top --")); // a file of that name
  EXPECT_EQ(1u, fish("rawhal limits ").count("suspend"));
  EXPECT_EQ(0u, fish("rawhal limits set ").count("suspend"));
  EXPECT_EQ(1u, fish("rawhal exec -- tru").count("true"));
  EXPECT_EQ(1u, fish("rawhal record -o x -- true a").count("a file"));
  EXPECT_EQ(0u, fish("rawhal exec -- true --").count("--check"));
}

TEST_F(Completion, ShellsReadThem)
{
  bool any = false;
  for (const auto &[shell, option] : {std::pair<std::string, std::string>("bash", "-n"),
                                      {"zsh", "-n"},
                                      {"fish", "--no-execute"}}) {
    spit(scratch / shell, run({tool, "completion", shell}).out);
    if (run({"/bin/sh", "-c", "command -v " + shell}).status)
      continue;
    const Outcome got = run({"/usr/bin/env", shell, option, scratch / shell});
    EXPECT_EQ(0, got.status) << shell << ": " << got.err;
    EXPECT_EQ("", got.err) << shell;
    any |= shell != "bash";
  }
  if (!any)
    GTEST_SKIP() << "neither zsh nor fish is installed";
}

TEST_F(Completion, WhatIsInstalledIsWhatThisCommandSays)
{
  for (const auto &[shell, name] : {std::pair<std::string, std::string>("bash", "rawhal"),
                                    {"zsh", "_rawhal"},
                                    {"fish", "rawhal.fish"}})
    EXPECT_EQ(slurp(RAWHAL_BUILD_DIR "/tools/completions/" + name),
              run({tool, "completion", shell}).out);
}

TEST_F(Completion, WrongWords)
{
  expect_refusal(run({tool, "completion"}), 2, "expected one SHELL");
  expect_refusal(run({tool, "completion", "csh"}), 2, "'csh' is not one of");
  expect_refusal(run({tool, "completion", "--all"}), 2, "--all");
}
