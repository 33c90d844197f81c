// softgpu-run, from the build tree and as installed.
#include <gtest/gtest.h>
#define AMD_INTERNAL_BUILD // where the runtime's headers include each other from
#include <hsa/hsa_api_trace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

// What softgpu/system/wait.c and images.c take the runtime's table for.
constexpr size_t functions_before = 43;
static_assert(offsetof(CoreApiTable, hsa_signal_wait_relaxed_fn) ==
              sizeof(ApiTableVersion) + functions_before * sizeof(void *));
static_assert(offsetof(CoreApiTable, hsa_signal_wait_scacquire_fn) ==
              sizeof(ApiTableVersion) + (functions_before + 1) * sizeof(void *));
static_assert(offsetof(CoreApiTable, hsa_agent_get_info_fn) ==
              sizeof(ApiTableVersion) + 6 * sizeof(void *));
static_assert(offsetof(HsaApiTable, core_) == sizeof(ApiTableVersion));
static_assert(offsetof(HsaApiTable, amd_ext_) == sizeof(ApiTableVersion) + sizeof(void *));
static_assert(offsetof(AmdExtTable, hsa_amd_ipc_memory_create_fn) ==
              sizeof(ApiTableVersion) +
                  (HSA_AMD_EXT_API_TABLE_MAJOR_VERSION == 1 ? 28 : 30) * sizeof(void *));

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
  EXPECT_TRUE(contains(outcome, "softgpu lists gfx906 but cannot execute its instructions"))
      << outcome.output;
}

TEST(Wrapper, exit_codes_pass_through)
{
  EXPECT_EQ(run(runner + " " + discover + " 42").code, 42);
  EXPECT_EQ(run(runner + " true").code, 0);
  EXPECT_EQ(run(runner + " /nonexistent/program").code, 127);
  EXPECT_EQ(run(runner + " sh -c 'exit \"$1\"' sh 7").code, 7); // arguments stay apart
}

TEST(Wrapper, runtimes_of_either_kind_take_it)
{
  const std::string show = " sh -c 'echo dtif=$HSA_ENABLE_DTIF in ${LD_LIBRARY_PATH%%:*}'";
  Outcome outcome = run(runner + show);
  EXPECT_TRUE(contains(outcome, "dtif=1 in /")) << outcome.output;
  EXPECT_EQ(
      run("test -e " + outcome.output.substr(10, outcome.output.find('\n') - 10) + "/libdtif.so")
          .code,
      0)
      << outcome.output;
  EXPECT_TRUE(contains(run("HSA_ENABLE_DTIF=0 " + runner + show), "dtif=0 in /"));
}

TEST(Wrapper, says_how_to_use_it)
{
  Outcome help = run(runner + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(contains(help, "usage: softgpu-run [--system] PROGRAM"));
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

// An empty directory for the wrapper's own, which it must leave empty.
class WrapperSystem : public ::testing::Test {
protected:
  void SetUp() override
  {
    directory = ::testing::TempDir() + "softgpu-system-" + std::to_string(getpid());
    ASSERT_EQ(run("mkdir " + directory).code, 0);
  }
  void TearDown() override { EXPECT_EQ(run("rmdir " + directory).code, 0); }

  Outcome system(const std::string &command, const std::string &variables = "")
  {
    return run(variables + " TMPDIR=" + directory + " " + runner + " " + command);
  }

  static bool installed(const char *program)
  {
    return run(std::string("command -v ") + program).code == 0;
  }

  std::string directory;
};

TEST_F(WrapperSystem, shows_the_driver_of_the_devices)
{
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes";
  Outcome outcome = system("--system ls " + nodes, "SOFTGPU_GPUS=2");
  EXPECT_EQ(outcome.output, "0\n1\n2\n");
  outcome = system("--system cat " + nodes + "/0/gpu_id " + nodes + "/2/properties",
                   "SOFTGPU_GPUS=2 SOFTGPU_CHIP=gfx942");
  EXPECT_EQ(outcome.output.rfind("0\n", 0), 0u);
  EXPECT_TRUE(contains(outcome, "\ngfx_target_version 90402\n")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "\nlocation_id 512\n")) << outcome.output;
  outcome = system("--system cat /sys/class/drm/card0/device/vendor "
                   "/sys/class/drm/card0/device/mem_info_vram_total",
                   "SOFTGPU_VRAM_MIB=16");
  EXPECT_EQ(outcome.output, "0x1002\n16777216\n");
  outcome = system("--system sh -c 'grep -c ^amdgpu /proc/modules; test -w /dev/kfd; echo $?'");
  EXPECT_EQ(outcome.output, "1\n0\n");
  EXPECT_EQ(system("--system cat /sys/class/drm/card1/device/vendor").code, 1);
}

TEST_F(WrapperSystem, everything_else_stays_as_it_is)
{
  EXPECT_EQ(system("--system sh -c 'exit \"$1\"' sh 7").code, 7);
  EXPECT_EQ(system("--system sh -c 'kill -TERM $$'").code, 128 + SIGTERM);
  EXPECT_EQ(system("--system /nonexistent/program").code, 127);
  EXPECT_EQ(system("--system cat /proc/self/comm").output, "cat\n");
  EXPECT_TRUE(contains(system("--system " + discover), "gpu gfx90a AMD\n"));
  EXPECT_EQ(system("--system").code, 2);
  // A program that is ended with its wrapper.
  run("TMPDIR=" + directory + " timeout 1 " + runner + " --system sleep 30");
}

TEST_F(WrapperSystem, rocminfo)
{
  if (!installed("rocminfo"))
    GTEST_SKIP() << "rocminfo is not installed";
  Outcome outcome = system("rocminfo");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "ROCk module")) << outcome.output; // newer ones say which version
  EXPECT_TRUE(contains(outcome, " is loaded")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "AMD Instinct MI210 (softgpu)")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-")) << outcome.output;
  outcome = system("rocm_agent_enumerator", "SOFTGPU_GPUS=2");
  EXPECT_EQ(outcome.output, "gfx000\ngfx90a\ngfx90a\n");
  outcome = system("rocm_agent_enumerator -name");
  EXPECT_TRUE(contains(outcome, "gfx90a:sramecc+:xnack-")) << outcome.output;
}

TEST_F(WrapperSystem, rocm_smi)
{
  if (!installed("rocm-smi"))
    GTEST_SKIP() << "rocm-smi is not installed";
  Outcome outcome =
      system("rocm-smi --showid --showuniqueid --showbus --showmeminfo vram", "SOFTGPU_GPUS=2");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "GPU[1]")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "0x740f")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "0000:02:00.0")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "8589934592")) << outcome.output;
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
