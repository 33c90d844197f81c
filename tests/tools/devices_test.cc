// `rawhal devices` as its users meet it.
#include "tests/tools/command.h"

#include <unistd.h>

namespace {

const std::vector<std::string> two_gpus = {"RAWHAL_DEVICE=softgpu", "SOFTGPU_GPUS=2",
                                           "SOFTGPU_VRAM_MIB=512", "SOFTGPU_COMPUTE_UNITS=0"};

TEST(Devices, Text)
{
  const std::string expected =
      "DEVICE  TARGET                    MEMORY       CUS  CLOCK      PCI           NUMA  UUID\n"
      "0       gfx90a:sramecc+:xnack-    512 MiB      104  1700 MHz   0000:01:00.0  0     "
      "GPU-736f667467707501\n"
      "        softgpu: a gfx90a in software, executed by this machine's processor; not a GPU\n"
      "        reaches the memory of 1\n"
      "1       gfx90a:sramecc+:xnack-    512 MiB      104  1700 MHz   0000:02:00.0  0     "
      "GPU-736f667467707502\n"
      "        softgpu: a gfx90a in software, executed by this machine's processor; not a GPU\n"
      "        reaches the memory of 0\n";
  Outcome got = run({tool, "devices"}, two_gpus);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(expected, got.out);
  got = run({tool, "devices", "--device", "softgpu"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(3u, lines(got.out)) << got.out; // nobody else's memory
}

TEST(Devices, AChipThatIsOnlyListed)
{
  const std::vector<std::string> other = {"RAWHAL_DEVICE=softgpu", "SOFTGPU_CHIP=gfx906"};
  const std::string file = RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx1030-v5.co";
  const std::vector<std::vector<std::string>> commands = {
      {tool, "devices"},
      {tool, "run", file, "--kernel", "vector_add", "--grid", "1", "--block", "64"}};
  for (const auto &command : commands) {
    Outcome got = run(command, other);
    EXPECT_EQ(3, got.status) << got.err;
    EXPECT_EQ("", got.out);
    EXPECT_EQ(1u, lines(got.err)) << got.err;
    EXPECT_NE(std::string::npos, got.err.find("lists the chip gfx906")) << got.err;
  }
}

// Nor is another device given its number.
TEST(Devices, AChipThatTheRuntimeDoesNotKnow)
{
  const struct {
    const char *chip, *listed;
  } cases[] = {{"gfx950", "gfx90a"}, {"gfx1153", "gfx1030"}};
  for (const auto &each : cases)
    for (const char *beside : {"", ",gfx90a", "gfx90a,"}) {
      const std::string chip = each.chip, listed = each.listed, other = beside;
      const bool is_last = !other.empty() && other.back() == ',';
      const std::string variable = other.empty() ? "SOFTGPU_CHIP=" : "SOFTGPU_CHIPS=";
      std::vector<std::string> chips = {"RAWHAL_DEVICE=softgpu",
                                        variable + (is_last ? other + chip : chip + other)};
      Outcome got = run({tool, "devices"}, chips);
      EXPECT_EQ(3, got.status) << got.out;
      EXPECT_NE(std::string::npos, got.err.find("does not know " + chip)) << got.err;
      EXPECT_NE(std::string::npos, got.err.find("SOFTGPU_LISTED=" + listed)) << got.err;
      chips.push_back("SOFTGPU_LISTED=" + listed);
      got = run({tool, "devices"}, chips);
      EXPECT_EQ(0, got.status) << got.err;
      EXPECT_NE(std::string::npos, got.out.find("a " + chip + " in software, listed as " + listed))
          << got.out;
    }
}

// Every key the schema has is there, and no other.
void hold_against_schema(const json_t *object, const json_t *schema)
{
  const json_t *properties = json_object_get(schema, "properties");
  EXPECT_EQ(json_object_size(properties), json_object_size(object));
  EXPECT_EQ(json_object_size(properties), json_array_size(json_object_get(schema, "required")));
  const char *key;
  json_t *value;
  json_object_foreach(const_cast<json_t *>(object), key, value)
          EXPECT_NE(nullptr, json_object_get(properties, key))
      << key;
}

TEST(Devices, Json)
{
  Outcome got = run({tool, "devices", "--json"}, two_gpus);
  EXPECT_EQ(0, got.status) << got.err;
  Json document = parse(got.out),
       schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/devices.schema.json"));
  ASSERT_TRUE(document);
  ASSERT_TRUE(schema);
  hold_against_schema(document.get(), schema.get());
  EXPECT_EQ("rawhal-devices-1", text_of(document.get(), "schema"));
  const json_t *devices = json_object_get(document.get(), "devices");
  ASSERT_EQ(2u, json_array_size(devices));
  for (size_t i = 0; i < 2; ++i) {
    const json_t *device = json_array_get(devices, i);
    hold_against_schema(device, json_object_get(json_object_get(schema.get(), "$defs"), "device"));
    EXPECT_EQ(static_cast<long long>(i), number_of(device, "device"));
    EXPECT_EQ("gfx90a:sramecc+:xnack-", text_of(device, "target"));
    EXPECT_EQ("GPU-73 6f667467707501"[0], text_of(device, "uuid")[0]);
    EXPECT_EQ(i ? "0000:02:00.0" : "0000:01:00.0", text_of(device, "pci"));
    EXPECT_EQ(512ll << 20, number_of(device, "memory_bytes"));
    EXPECT_EQ(4096, number_of(device, "memory_bus_bits"));
    const json_t *caches = json_object_get(device, "cache_bytes"),
                 *peers = json_object_get(device, "peers");
    ASSERT_EQ(4u, json_array_size(caches));
    EXPECT_EQ(8 << 20, json_integer_value(json_array_get(caches, 1)));
    EXPECT_TRUE(json_is_null(json_array_get(caches, 3)));
    ASSERT_EQ(1u, json_array_size(peers));
    EXPECT_EQ(i ? 0 : 1, json_integer_value(json_array_get(peers, 0)));
    EXPECT_TRUE(json_is_true(json_object_get(device, "software")));
  }
}

TEST(Devices, WhatIsNotThereIsSaid)
{
  if (access("/dev/kfd", F_OK))
    expect_refusal(run({tool, "devices", "--device", "hsa"}), 3, "/dev/kfd");
  expect_refusal(run({tool, "devices"}, {"RAWHAL_DEVICE=abacus"}), 3, "abacus");
  for (const char *verb : {"devices", "doctor", "replay", "run"})
    for (const char *kind : {"abacus", "1", "HSA", ""})
      expect_refusal(run({tool, verb, "a", std::string("--device=") + kind}), 2,
                     std::string("--device: expected softgpu or hsa, got '") + kind +
                         "' (ROCR_VISIBLE_DEVICES selects devices by number)");
  expect_refusal(run({tool, "devices", "all"}), 2, "unexpected argument");
  expect_refusal(run({tool, "devices", "--all"}), 2, "--all");
}

} // namespace
