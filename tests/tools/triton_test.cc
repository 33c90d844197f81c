// Entries of Triton's cache through `rawhal inspect` and `rawhal run`: a fixture's object with JSON of the test's own.
#include "tests/tools/command.h"

#include <cstring>

namespace {

const char *const metadata =
    R"({"name": "vector_add", "shared": 96, "num_warps": 4, "warp_size": 64, "hash": "5a",
    "target": {"backend": "hip", "arch": "gfx90a", "warp_size": 64}, "triton_version": "3.2.0"})";

class TritonEntry : public testing::Test {
protected:
  void SetUp() override
  {
    spit(hsaco, slurp(fixtures + "vector_add-gfx90a-v5.co"));
    spit(json, metadata);
    std::string ones, twos;
    for (int i = 0; i < count; ++i) {
      ones.append(bytes_of(static_cast<float>(i)));
      twos.append(bytes_of(0.5f * static_cast<float>(i)));
    }
    spit(scratch / "a.bin", ones);
    spit(scratch / "b.bin", twos);
  }

  static std::string bytes_of(float value)
  {
    return {reinterpret_cast<const char *>(&value), sizeof(value)};
  }

  Outcome launch(const std::string &path, const std::vector<std::string> &options)
  {
    std::vector<std::string> words = {tool, "run", path};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string &word :
         {"out:" + (scratch / "c.bin") + ":4000", "ptr:" + (scratch / "a.bin"),
          "ptr:" + (scratch / "b.bin"), std::string("u32:1000")})
      words.push_back(word);
    return run(words, {"RAWHAL_DEVICE=softgpu"});
  }

  void expect_refused(int status, const Outcome &got, const char *words)
  {
    EXPECT_EQ(status, got.status) << got.err;
    EXPECT_NE(std::string::npos, got.err.find(words)) << got.err;
  }

  static const int count = 1000;
  Scratch scratch;
  const std::string hsaco = scratch / "k.hsaco", json = scratch / "k.json";
};

TEST_F(TritonEntry, RunsByEitherFileAsItsJsonSays)
{
  for (const std::string &path : {json, hsaco}) {
    Outcome got = launch(path, {"--grid", "4"});
    ASSERT_EQ(0, got.status) << got.err;
    EXPECT_NE(std::string::npos, got.out.find("1024x1x1 work-items in groups of 256x1x1"))
        << got.out;
    const std::string sums = slurp(scratch / "c.bin");
    ASSERT_EQ(4000u, sums.size());
    for (int i = 0; i < count; ++i) {
      float sum;
      memcpy(&sum, sums.data() + 4 * i, 4);
      ASSERT_EQ(1.5f * static_cast<float>(i), sum) << i;
    }
    spit(scratch / "c.bin", "");
  }
  EXPECT_EQ(0, launch(json, {"--kernel", "vector_add", "--grid", "4"}).status);
}

TEST_F(TritonEntry, WhatItsJsonDecidesIsNotSaidTwice)
{
  const char *const usage = "an entry of Triton's cache requires --grid";
  expect_refused(2, launch(json, {}), usage);
  expect_refused(2, launch(json, {"--grid", "4", "--block", "64"}), usage);
  expect_refused(2, launch(json, {"--items", "4"}), usage);
  expect_refused(2, launch(json, {"--grid", "4", "--dynamic-lds", "0"}), usage);
  expect_refused(2, launch(hsaco, {"--grid", "4", "--dynamic-lds", "0"}), usage);
  expect_refused(3, launch(json, {"--grid", "4", "--kernel", "other"}),
                 "describes kernel 'vector_add', not 'other'");
  expect_refused(3, launch(json, {"--grid", "4294967296"}), "--grid is 4294967296 in dimension x");
  expect_refused(3, launch(json, {"--grid", "0"}), "no programs in dimension x");
  // With a block, it is an object like others.
  EXPECT_EQ(0, launch(hsaco, {"--grid", "16", "--block", "64", "--kernel", "vector_add"}).status);
  std::remove(json.c_str());
  expect_refused(2, launch(hsaco, {"--grid", "4"}), "--block are required");
  expect_refused(3, launch(json, {"--grid", "4"}), "there is no '");
  spit(json, "{}");
  expect_refused(3, launch(json, {"--grid", "4"}), "k.json: there is no 'name'");
}

TEST_F(TritonEntry, IsListedWithWhatItsJsonSays)
{
  for (const std::string &path : {json, std::string(scratch / "")}) {
    Outcome text = run({tool, "inspect", path});
    EXPECT_EQ(0, text.status) << text.err;
    EXPECT_NE(std::string::npos,
              text.out.find("Triton: vector_add, 4 warps of 64, 96 bytes of dynamic LDS\n"))
        << text.out;
    Json document = parse(run({tool, "inspect", "--json", path}).out);
    json_t *entry =
        json_object_get(json_array_get(json_object_get(document.get(), "objects"), 0), "triton");
    const struct {
      const char *key;
      long long value;
    } numbers[] = {
        {"shared", 96},          {"num_warps", 4},           {"warp_size", 64},
        {"workgroup", 256},      {"num_stages", 0},          {"num_ctas", 1},
        {"scratch_pointers", 0}, {"global_scratch_size", 0}, {"profile_scratch_align", 0}};
    for (const auto &[key, value] : numbers)
      EXPECT_EQ(value, json_integer_value(json_object_get(entry, key))) << key;
    for (const auto &[key, value] : {std::pair<const char *, const char *>{"status", "OK"},
                                     {"name", "vector_add"},
                                     {"backend", "hip"},
                                     {"arch", "gfx90a"},
                                     {"hash", "5a"},
                                     {"triton_version", "3.2.0"}})
      EXPECT_STREQ(value, json_string_value(json_object_get(entry, key))) << key;
    EXPECT_EQ(std::string(json), json_string_value(json_object_get(entry, "json")));
    EXPECT_TRUE(json_is_false(json_object_get(entry, "launch_cooperative_grid")));
  }
}

TEST_F(TritonEntry, WhatContradictsTheObjectIsListedWithTheReason)
{
  spit(json, R"({"name": "vector_add", "shared": 0, "num_warps": 8})");
  Outcome text = run({tool, "inspect", scratch / ""});
  EXPECT_EQ(0, text.status) << text.err;
  EXPECT_NE(std::string::npos,
            text.out.find("Triton: " + json +
                          ": 'num_warps' is 8: 512 work-items, the kernel is for at most 256\n"))
      << text.out;
  Json document = parse(run({tool, "inspect", "--json", scratch / ""}).out);
  json_t *entry =
      json_object_get(json_array_get(json_object_get(document.get(), "objects"), 0), "triton");
  EXPECT_STREQ("MALFORMED", json_string_value(json_object_get(entry, "status")));
  EXPECT_NE(nullptr, json_object_get(entry, "message"));
  Outcome named = run({tool, "inspect", json});
  expect_refused(3, named, "'num_warps' is 8");
  std::remove(json.c_str());
  EXPECT_EQ(std::string::npos, run({tool, "inspect", scratch / ""}).out.find("Triton"));
}

} // namespace
