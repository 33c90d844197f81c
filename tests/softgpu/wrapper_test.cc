// softgpu-run, from the build tree and as installed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

struct Outcome {
  int code;
  std::string output;
};

Outcome run(const std::string &command)
{
  Outcome outcome{-1, ""};
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char bytes[4096];
  while (pipe && fgets(bytes, sizeof(bytes), pipe))
    outcome.output += bytes;
  int status = pipe ? pclose(pipe) : -1;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool contains(const Outcome &outcome, const char *text)
{
  return outcome.output.find(text) != std::string::npos;
}

const std::string runner = SOFTGPU_RUN, discover = DISCOVER;

TEST(Wrapper, the_runtime_finds_the_device)
{
  Outcome outcome = run(runner + " " + discover);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "gpu gfx90a AMD\n")) << outcome.output;
}

TEST(Wrapper, the_environment_is_obeyed)
{
  Outcome outcome = run("SOFTGPU_CHIP=gfx906 SOFTGPU_GPUS=2 " + runner + " -- " + discover);
  EXPECT_TRUE(contains(outcome, "gpu gfx906 AMD\ngpu gfx906 AMD\n")) << outcome.output;
}

TEST(Wrapper, exit_codes_pass_through)
{
  EXPECT_EQ(run(runner + " " + discover + " 42").code, 42);
  EXPECT_EQ(run(runner + " true").code, 0);
  EXPECT_EQ(run(runner + " /nonexistent/program").code, 127);
  EXPECT_EQ(run(runner + " sh -c 'exit \"$1\"' sh 7").code, 7); // arguments stay apart
}

TEST(Wrapper, says_how_to_use_it)
{
  Outcome help = run(runner + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(contains(help, "usage: softgpu-run PROGRAM"));
  EXPECT_TRUE(contains(help, "SOFTGPU_CHIP"));
  EXPECT_EQ(run(runner).code, 2);
  EXPECT_EQ(run(runner + " --speed").code, 2);
}

TEST(Wrapper, queues_that_stop_are_reported)
{
  const std::string failing = " " TEST_PROGRAM " --gtest_filter=Kernels.illegal_instruction";
  const char *expected = "softgpu: kernel illegal, packet 0, kernel object 0x";
  Outcome outcome = run(runner + failing);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, expected)) << outcome.output;
  EXPECT_FALSE(contains(run("SOFTGPU_REPORT= " + runner + failing), expected));
  std::string file = ::testing::TempDir() + "softgpu-report-" + std::to_string(getpid());
  EXPECT_FALSE(contains(run("SOFTGPU_REPORT=" + file + " " + runner + failing), expected));
  outcome = run("cat " + file + "; rm " + file);
  EXPECT_EQ(outcome.output.rfind(expected, 0), 0u) << outcome.output;
  EXPECT_TRUE(contains(outcome, "illegal instruction")) << outcome.output;
}

TEST(Wrapper, works_where_it_is_installed)
{
  std::string prefix = ::testing::TempDir() + "softgpu-run-" + std::to_string(getpid());
  std::string bin = prefix + "/bin", library = prefix + "/bin/" SOFTGPU_FROM_BINDIR;
  ASSERT_EQ(run("mkdir -p " + bin + " && mkdir -p " + library).code, 0);
  ASSERT_EQ(run("cp " + runner + " " + bin + " && cp " SOFTGPU_LIBRARY " " + library +
                "/libhsakmt.so.1 && ln -s " + bin + "/softgpu-run " + prefix + "/link")
                .code,
            0);
  Outcome outcome = run(prefix + "/link " + discover);
  EXPECT_TRUE(contains(outcome, "gpu gfx90a AMD\n")) << outcome.output;
  ASSERT_EQ(run("rm " + library + "/libhsakmt.so.1").code, 0);
  outcome = run(prefix + "/link " + discover);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome, "no libhsakmt.so.1 in ")) << outcome.output;
  EXPECT_EQ(run("rm -r " + prefix).code, 0);
}

} // namespace
