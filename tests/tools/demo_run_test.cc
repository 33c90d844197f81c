// rawhal-demo from end to end: the real library's kernels on whatever device there is, and how it
// fails when what it needs is not there.
#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/wait.h>

#include "tests/tools/demo_rocrand.h"

namespace {

struct Outcome {
  int status = -1;  // exit status; -1: a signal
  std::string text; // standard output and error, as they came
};

Outcome run_demo(const std::string &arguments)
{
  Outcome outcome;
  std::string command = RAWHAL_BUILD_DIR "/tools/demo/rawhal-demo " + arguments + " 2>&1";
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return outcome;
  std::array<char, 4096> buffer;
  for (size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.text.append(buffer.data(), got);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

size_t occurrences(const std::string &text, const std::string &word)
{
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

// Fewer numbers than the million of ./dev demo, because the sanitizers' builds run this as well.
TEST(DemoRun, TheLibrarysKernelsGiveTheReferencesNumbers)
{
  std::string library = demo_rocrand();
  if (library.empty())
    GTEST_SKIP() << "no librocrand under " RAWHAL_BUILD_DIR "/rocrand";
  Outcome outcome = run_demo("--numbers 20003 '" + library + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(occurrences(outcome.text, "WRONG"), 0u) << outcome.text;
  EXPECT_EQ(occurrences(outcome.text, "CORRECT: 20,003 of 20,003"), 3u) << outcome.text;

  std::istringstream lines(outcome.text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 100u) << line;

  // Of each job in this order: device, kernarg layout, geometry, verdict, time.
  size_t at = 0;
  for (int job = 0; job < 3; ++job)
    for (const char *label :
         {"\n== ", "\ndevice ", "\nkernarg ", "\ndispatch ", "\nverdict ", "\ntime "}) {
      at = outcome.text.find(label, at);
      ASSERT_NE(at, std::string::npos) << label << " of job " << job << "\n" << outcome.text;
    }
}

TEST(DemoRun, RunsOnAnRdnaChip)
{
  std::string library = demo_rocrand();
  if (library.empty())
    GTEST_SKIP() << "no librocrand under " RAWHAL_BUILD_DIR "/rocrand";
  setenv("RAWHAL_DEVICE", "softgpu", 1);
  setenv("SOFTGPU_CHIP", "gfx1030", 1);
  Outcome outcome = run_demo("--numbers 20003 '" + library + "'");
  unsetenv("SOFTGPU_CHIP");
  unsetenv("RAWHAL_DEVICE");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(occurrences(outcome.text, "a gfx1030 in software"), 3u) << outcome.text;
  EXPECT_EQ(occurrences(outcome.text, "CORRECT: 20,003 of 20,003"), 3u) << outcome.text;
}

TEST(DemoRun, SaysPlainlyThatTheDeviceIsSoftware)
{
  std::string library = demo_rocrand();
  if (library.empty())
    GTEST_SKIP() << "no librocrand under " RAWHAL_BUILD_DIR "/rocrand";
  if (access("/dev/kfd", F_OK) == 0)
    GTEST_SKIP() << "there is a GPU here";
  Outcome outcome = run_demo("--numbers 5 '" + library + "'");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(occurrences(outcome.text, "SOFTWARE"), 3u) << outcome.text;
}

TEST(DemoRun, OneLineSaysWhyItCannotRun)
{
  const struct {
    const char *arguments;
    int status;
    const char *reason;
  } cases[] = {
      {"/nonexistent/librocrand.so", 3, "NOT_FOUND"},
      {"/dev/null", 3, "rawhal-demo: "},
      {"'" RAWHAL_SOURCE_DIR "/CMakeLists.txt'", 3, "rawhal-demo: "},
      {"", 2, "PATH-TO-LIBROCRAND"},
      {"--numbers 0 x", 2, "--numbers"},
      {"--numbers 12z x", 2, "--numbers"},
      {"--numbers", 2, "--numbers"},
      {"--unknown x", 2, "--unknown"},
      {"x y", 2, "'y'"},
  };
  for (const auto &each : cases) {
    Outcome outcome = run_demo(each.arguments);
    EXPECT_EQ(outcome.status, each.status) << each.arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find(each.reason), std::string::npos) << outcome.text;
    EXPECT_LE(occurrences(outcome.text, "\n"), 2u) << outcome.text;
  }
}

TEST(DemoRun, HelpIsHelp)
{
  Outcome outcome = run_demo("--help");
  EXPECT_EQ(outcome.status, 0);
  for (const char *option : {"--numbers", "--vector-add", "--help", "Exit status"})
    EXPECT_NE(outcome.text.find(option), std::string::npos) << option;
}

} // namespace
