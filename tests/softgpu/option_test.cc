// Options, from calls and from the environment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "softgpu/softgpu.h"

namespace {

uint64_t value(const char *name)
{
  uint64_t found = 0;
  EXPECT_TRUE(softgpu_option_get(name, &found)) << name;
  return found;
}

TEST(Options, documented_defaults)
{
  EXPECT_EQ(value("chip"), 0x90au);
  EXPECT_EQ(value("sramecc"), 1u);
  EXPECT_EQ(value("gpus"), 1u);
  EXPECT_EQ(value("vram_mib"), 8192u);
  EXPECT_EQ(value("timeout_ms"), 120000u);
  EXPECT_EQ(value("spin"), 2000u);
  EXPECT_EQ(value("userfaultfd"), 1u);
  EXPECT_EQ(value("threads"), 0u);
  EXPECT_EQ(value("guard_kib"), 1024u);
  EXPECT_EQ(value("slowdown"), 1u);
  for (const char *check : {"check_lds", "check_races", "check_kernarg", "check_stores",
                            "check_memory", "reference", "hardware_faults", "same_address"})
    EXPECT_EQ(value(check), 0u) << check;
  EXPECT_EQ(softgpu_option_messages(nullptr, 0), 0u);
}

TEST(Options, refuse_what_makes_no_sense)
{
  EXPECT_FALSE(softgpu_option_set("speed", 1));
  EXPECT_FALSE(softgpu_option_set(nullptr, 1));
  EXPECT_FALSE(softgpu_option_set("gpus", 17));
  EXPECT_FALSE(softgpu_option_set("sramecc", 2));
  EXPECT_FALSE(softgpu_option_set("vram_mib", 7));
  EXPECT_FALSE(softgpu_option_set("chip", 0x90b));
  EXPECT_FALSE(softgpu_option_set_text("gpus", nullptr));
  for (const char *text : {"", " 1", "-1", "+1", "1x", "0x", "one", "99999999999999999999"})
    EXPECT_FALSE(softgpu_option_set_text("gpus", text)) << text;
  uint64_t found;
  EXPECT_FALSE(softgpu_option_get("speed", &found));
  EXPECT_FALSE(softgpu_option_get("gpus", nullptr));
  EXPECT_EQ(value("gpus"), 1u);
}

TEST(Options, text_forms)
{
  EXPECT_TRUE(softgpu_option_set_text("chip", "gfx942"));
  EXPECT_EQ(value("chip"), 0x942u);
  EXPECT_TRUE(softgpu_option_set_text("chip", "0x90a"));
  EXPECT_TRUE(softgpu_option_set_text("timeout_ms", "5000"));
  EXPECT_EQ(value("timeout_ms"), 5000u);
  EXPECT_TRUE(softgpu_option_set("timeout_ms", 120000));
  for (const char *text : {"1", "0", "on", "warn", "report", "Refuse", ""})
    EXPECT_FALSE(softgpu_option_set_text("check_stores", text)) << text;
  EXPECT_TRUE(softgpu_option_set_text("check_stores", "refuse"));
  EXPECT_EQ(value("check_stores"), 1u);
  EXPECT_TRUE(softgpu_option_set_text("check_stores", "off"));
}

// The library reads its environment when it is loaded, so another process has to do that.
std::string in_new_process(const char *filter)
{
  char self[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0)
    return "readlink";
  self[length] = '\0';
  std::string command = std::string(self) + " --gtest_filter=" + filter + " >/dev/null 2>&1";
  int status = system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "failed";
}

TEST(Environment, is_read_and_checked)
{
  setenv("SOFTGPU_CHIP", "gfx906", 1);
  setenv("SOFTGPU_GPUS", "many", 1);
  setenv("SOFTGPU_CHECK_LDS", "1", 1);
  setenv("SOFTGPU_CHECK_RACES", "refuse", 1);
  setenv("SOFTGPU_TIMEOUT_MS", "250", 1);
  EXPECT_EQ(in_new_process("InEnvironment.*"), "");
  unsetenv("SOFTGPU_CHIP");
  unsetenv("SOFTGPU_GPUS");
  unsetenv("SOFTGPU_CHECK_LDS");
  unsetenv("SOFTGPU_CHECK_RACES");
  unsetenv("SOFTGPU_TIMEOUT_MS");
}

TEST(InEnvironment, values_and_messages)
{
  if (!getenv("SOFTGPU_CHIP"))
    GTEST_SKIP() << "run by Environment.is_read_and_checked";
  EXPECT_EQ(value("chip"), 0x906u);
  EXPECT_EQ(value("gpus"), 1u);
  EXPECT_EQ(value("timeout_ms"), 250u);
  char text[256];
  size_t length = softgpu_option_messages(text, sizeof(text));
  EXPECT_EQ(length, strlen(text));
  EXPECT_STREQ(text, "SOFTGPU_GPUS=many is ignored: gpus takes 0 to 16; using 1\n"
                     "SOFTGPU_CHECK_LDS=1 is ignored: check_lds takes off or refuse; using off\n");
  EXPECT_EQ(value("check_lds"), 0u);
  EXPECT_EQ(value("check_races"), 1u);
  EXPECT_EQ(softgpu_option_messages(text, 8), length);
  EXPECT_STREQ(text, "SOFTGPU");
  EXPECT_STREQ(getenv("HSA_DISABLE_FRAGMENT_ALLOCATOR"), "1");
}

} // namespace
