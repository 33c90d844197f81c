// The command line of `rawhal exec`; tests/front has what it does to programs.
#include "tests/tools/command.h"

TEST(Exec, WhatIsOfARecordingWantsOne)
{
  Scratch scratch;
  const std::string file = scratch / "recording";
  for (const std::vector<std::string> &option :
       {std::vector<std::string>{"--record-bytes", "1M"}, {"--record-buffers"}}) {
    std::vector<std::string> words = {tool, "exec"};
    words.insert(words.end(), option.begin(), option.end());
    const auto with = [&words](std::vector<std::string> more) {
      more.insert(more.begin(), words.begin(), words.end());
      return more;
    };
    expect_refusal(run(with({"--", "/bin/true"})), 2,
                   option[0] + " is of a recording, and there is none");
    EXPECT_EQ(0, run(with({"--record", file, "--", "/bin/true"})).status); // in whichever order
    EXPECT_EQ(0, run(with({"--", "/bin/true"}), {"RAWHAL_RECORD=" + file}).status);
    expect_refusal(run(with({"--", "/bin/true"}), {"RAWHAL_RECORD="}), 2, option[0]);
  }
}

TEST(Exec, EndsAsTheProgramDoes)
{
  EXPECT_EQ(7, run({tool, "exec", "--", "/bin/sh", "-c", "exit 7"}).status);
  EXPECT_EQ(127, run({tool, "exec", "--", "/nonexistent/program"}).status);
  expect_refusal(run({tool, "exec"}), 2, "no program is named");
}
