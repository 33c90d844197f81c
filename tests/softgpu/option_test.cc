// Options, from calls and from the environment.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>

#include "softgpu/softgpu.h"

namespace {

uint64_t value(const char *name)
{
  uint64_t found = 0;
  EXPECT_TRUE(softgpu_option_get(name, &found)) << name;
  return found;
}

// What the environment of the tests says, or the default.
uint64_t unless_set(const char *variable, uint64_t otherwise)
{
  const char *text = getenv(variable);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

TEST(Options, documented_defaults)
{
  EXPECT_EQ(value("chip"), 0x90au);
  EXPECT_EQ(value("chips"), 0u);
  EXPECT_EQ(value("sramecc"), 1u);
  EXPECT_EQ(value("gpus"), 1u);
  EXPECT_EQ(value("vram_mib"), 8192u);
  EXPECT_EQ(value("timeout_ms"), 120000u);
  EXPECT_EQ(value("spin"), unless_set("SOFTGPU_SPIN", 2000));
  EXPECT_EQ(value("userfaultfd"), 1u);
  EXPECT_EQ(value("threads"), 0u);
  EXPECT_EQ(value("guard_kib"), 1024u);
  EXPECT_EQ(value("compute_units"), unless_set("SOFTGPU_COMPUTE_UNITS", 0));
  EXPECT_EQ(value("slowdown"), 1u);
  for (const char *check :
       {"check_lds", "check_races", "check_kernarg", "check_stores", "check_memory", "check_freed",
        "reference", "hardware_faults", "same_address", "order"})
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
  EXPECT_FALSE(softgpu_option_set("compute_units", 65536));
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

// By node, as the runtime numbers them.
TEST(Options, chips_of_devices)
{
  uint32_t chip = 0, listed = 0;
  EXPECT_TRUE(softgpu_device_chip(1, &chip, &listed));
  EXPECT_EQ(chip, 0x90au);
  EXPECT_EQ(listed, 0x90au);
  EXPECT_FALSE(softgpu_device_chip(0, &chip, &listed));
  EXPECT_FALSE(softgpu_device_chip(2, &chip, &listed));
  EXPECT_TRUE(softgpu_option_set_text("chips", "gfx950,gfx1030,gfx942"));
  EXPECT_TRUE(softgpu_option_set_text("listed", "gfx90a"));
  for (uint32_t node = 1; node <= 3; ++node) {
    static const uint32_t chips[] = {0x950, 0x1030, 0x942};
    EXPECT_TRUE(softgpu_device_chip(node, &chip, &listed));
    EXPECT_EQ(chip, chips[node - 1]);
    EXPECT_EQ(listed, 0x90au);
  }
  EXPECT_FALSE(softgpu_device_chip(4, &chip, &listed));
  EXPECT_TRUE(softgpu_option_set_text("listed", "gfx942,gfx900,gfx942"));
  for (uint32_t node = 1; node <= 3; ++node) {
    static const uint32_t names[] = {0x942, 0x900, 0x942};
    EXPECT_TRUE(softgpu_device_chip(node, &chip, &listed));
    EXPECT_EQ(listed, names[node - 1]);
  }
  for (const char *wrong : {"gfx942,gfx942", "gfx942,gfx942,gfx942,gfx942", "0x942", "gfx90b"})
    EXPECT_FALSE(softgpu_option_set_text("listed", wrong)) << wrong;
  EXPECT_TRUE(softgpu_option_set_text("listed", "0"));
  const uint64_t list = value("chips");
  EXPECT_TRUE(softgpu_option_set("chips", 0x210842108421084)); // the most: 12 of gfx90a
  EXPECT_TRUE(softgpu_device_chip(12, &chip, &listed));
  for (uint64_t wrong : {uint64_t{0x80}, uint64_t{0x1004}})
    EXPECT_FALSE(softgpu_option_set("chips", wrong)) << wrong;
  for (const char *wrong : {"", "gfx", "gfx90a,", ",gfx90a", "gfx90a,gfx90b", "gfx90a;gfx942",
                            "0x90a", "gfx 90a", "gfx-90a", "gfx00090a"})
    EXPECT_FALSE(softgpu_option_set_text("chips", wrong)) << wrong;
  std::string many = "gfx942";
  for (int i = 1; i < 13; ++i)
    many += ",gfx942";
  EXPECT_FALSE(softgpu_option_set_text("chips", many.c_str()));
  EXPECT_TRUE(softgpu_option_set_text("chips", many.substr(7).c_str()));
  EXPECT_FALSE(softgpu_option_set_text("gpus", "2")) << "there are 12";
  EXPECT_FALSE(softgpu_option_set_text("chip", "gfx950"));
  EXPECT_TRUE(softgpu_option_set("chips", list));
  EXPECT_TRUE(softgpu_option_set_text("chips", "0"));
  EXPECT_TRUE(softgpu_option_set("listed", 0));
  EXPECT_TRUE(softgpu_device_chip(1, &chip, &listed));
  EXPECT_EQ(chip, 0x90au);
}

// All or none, whatever their order.
TEST(Options, of_a_list)
{
  using said_t = std::map<std::string, uint64_t>;
  const uint64_t spin = unless_set("SOFTGPU_SPIN", 2000);
  char why[160];
  said_t said;
  const auto note = [](void *context, const char *name, uint64_t before) {
    (*static_cast<said_t *>(context))[name] = before;
    return std::string(name) != "slowdown";
  };
  const auto set = [&](const char *list) {
    said.clear();
    return softgpu_options_set_text(list, note, &said, why, sizeof(why));
  };
  EXPECT_TRUE(set(""));
  EXPECT_TRUE(said.empty());
  EXPECT_TRUE(set("gpus=2,spin=7,chips=gfx90a,gfx942,listed=gfx90a,gfx942,spin=8")) << why;
  EXPECT_EQ(said, (said_t{{"chips", 0}, {"gpus", 1}, {"listed", 0}, {"spin", spin}}));
  EXPECT_EQ(value("chips"), 0xa4u);
  EXPECT_EQ(value("listed"), 0xa4u);
  EXPECT_EQ(value("spin"), 8u);
  const struct {
    const char *list, *why;
  } wrong[] = {
      {"spin=9,gpus=3", "contradicts"},
      {"chip=gfx942,spin=9", "contradicts"},
      {"spin=9,chips=gfx90a", "contradicts"},
      {"listed=gfx90a,gfx90a,gfx90a", "for 2 devices"},
      {"spin=9,speed=1", "no option speed"},
      {"spin=9,gpus=17", "gpus takes 0 to 16; using 2"},
      {"spin=9,slowdown=2", "no room"},
      {"spin=9,gpus", "spin takes"},
      {"spin=9,,", "NAME=VALUE"},
      {"spin", "NAME=VALUE"},
  };
  for (const auto &each : wrong) {
    EXPECT_FALSE(set(each.list)) << each.list;
    EXPECT_NE(std::string(why).find(each.why), std::string::npos) << each.list << ": " << why;
    EXPECT_EQ(value("spin"), 8u) << each.list;
    EXPECT_EQ(value("slowdown"), 1u);
  }
  EXPECT_FALSE(softgpu_options_set_text(nullptr, nullptr, nullptr, nullptr, 0));
  EXPECT_TRUE(
      softgpu_options_set_text(("gpus=1,chips=0,listed=0,spin=" + std::to_string(spin)).c_str(),
                               nullptr, nullptr, nullptr, 0));
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
  setenv("SOFTGPU_CHIPS", "gfx942,gfx95", 1);
  EXPECT_EQ(in_new_process("InEnvironment.*"), "");
  unsetenv("SOFTGPU_CHIP");
  unsetenv("SOFTGPU_CHIPS");
  unsetenv("SOFTGPU_GPUS");
  unsetenv("SOFTGPU_CHECK_LDS");
  unsetenv("SOFTGPU_CHECK_RACES");
  unsetenv("SOFTGPU_TIMEOUT_MS");
  setenv("SOFTGPU_CHIPS", "gfx942,gfx950", 1);
  setenv("SOFTGPU_GPUS", "3", 1);
  setenv("SOFTGPU_LISTED", "gfx90a,gfx90a", 1); // of which there are as many, or one
  EXPECT_EQ(in_new_process("InContradiction.*"), "");
  unsetenv("SOFTGPU_CHIPS");
  unsetenv("SOFTGPU_GPUS");
  unsetenv("SOFTGPU_LISTED");
}

TEST(InEnvironment, values_and_messages)
{
  if (!getenv("SOFTGPU_CHIP"))
    GTEST_SKIP() << "run by Environment.is_read_and_checked";
  EXPECT_EQ(value("chip"), 0x906u);
  EXPECT_EQ(value("gpus"), 1u);
  EXPECT_EQ(value("timeout_ms"), 250u);
  char text[512];
  size_t length = softgpu_option_messages(text, sizeof(text));
  EXPECT_EQ(length, strlen(text));
  EXPECT_STREQ(text,
               "SOFTGPU_CHIPS=gfx942,gfx95 is ignored: chips takes a chip for each device, as "
               "gfx942,gfx950\n"
               "SOFTGPU_GPUS=many is ignored: gpus takes 0 to 16; using 1\n"
               "SOFTGPU_CHECK_LDS=1 is ignored: check_lds takes off or refuse; using off\n");
  EXPECT_EQ(value("check_lds"), 0u);
  EXPECT_EQ(value("check_races"), 1u);
  EXPECT_EQ(softgpu_option_messages(text, 8), length);
  EXPECT_STREQ(text, "SOFTGPU");
  EXPECT_STREQ(getenv("HSA_DISABLE_FRAGMENT_ALLOCATOR"), "1");
}

TEST(InContradiction, is_said)
{
  const char *gpus = getenv("SOFTGPU_GPUS");
  if (!gpus || strcmp(gpus, "3") != 0)
    GTEST_SKIP() << "run by Environment.is_read_and_checked";
  char text[512];
  softgpu_option_messages(text, sizeof(text));
  EXPECT_STREQ(text, "SOFTGPU_GPUS=3 is ignored: it contradicts another: what chip, gpus and chips "
                     "say of all devices must be the same\n");
  uint32_t chip, listed;
  EXPECT_TRUE(softgpu_device_chip(2, &chip, &listed));
  EXPECT_FALSE(softgpu_device_chip(3, &chip, &listed));
}

} // namespace
