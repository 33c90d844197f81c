// rawhal core: what was put into a file is shown, taken out, merged, and converted; and files of anybody are read.
#include "tests/debug/scene.h"
#include "tests/limit/schema.h"
#include "tests/tools/command.h"

#include <sys/stat.h>

namespace {

class CoreFile : public testing::Test {
protected:
  void write(uint64_t budget = 0)
  {
    core_written_t written;
    rawhal_error_t error = {};
    made.options.budget = budget;
    ASSERT_EQ(scene::write(made, &bytes, &written, &error), RAWHAL_OK) << error.message;
    spit(scratch / "core", bytes);
  }
  void SetUp() override { write(); }
  Outcome core(std::vector<std::string> words)
  {
    words.insert(words.begin(), {tool, "core"});
    return run(words);
  }
  Scratch scratch;
  scene::Scene made{scene::chips[0], 1, 2};
  std::string bytes;
};

// These words, in this order.
void expect_in_order(const std::string &text, std::initializer_list<const char *> words)
{
  size_t at = 0;
  for (const char *word : words) {
    const size_t found = text.find(word, at);
    EXPECT_NE(std::string::npos, found) << word << "\nin:\n" << text;
    at = found == std::string::npos ? at : found;
  }
}

} // namespace

TEST_F(CoreFile, TheCauseIsOnTopAndAllElseFollows)
{
  const Outcome got = core({"show", scratch / "core"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ("", got.err);
  expect_in_order(got.out, {"process 4242, 'program --option' on host",
                            "2026-11-28 10:00:00 UTC",
                            "memory access fault in kernel 'vector_add'",
                            "one element past the end",
                            "dispatches:",
                            "step 3",
                            "allocations around the address:",
                            "weights",
                            "and 32 more: --all",
                            "queues:",
                            "gfx90a",
                            "waves:",
                            "memory violation",
                            "vector_add+0x28",
                            "assert",
                            "registers:",
                            "exec 000000000000ffff",
                            "s0    53000000 53000001",
                            "code objects:",
                            "limits:",
                            "  share 30 %",
                            "debuggers:",
                            "ROCgdb shows it: r_version 10"});
  EXPECT_FALSE(contains(got.out, "left out:"));
  EXPECT_FALSE(contains(got.out, "v0, lane 0"));
  EXPECT_TRUE(contains(core({"show", "--all", scratch / "core"}).out, "v0, lane 0"));
}

TEST_F(CoreFile, WhatIsLeftOutIsListed)
{
  made.add(scene::BUFFER, std::string(1 << 20, 'B'), CORE_BUFFER);
  write(bytes.size());
  expect_in_order(core({"show", scratch / "core"}).out,
                  {"left out:", "buffer", "beyond the budget"});
}

TEST_F(CoreFile, ChipsWithoutWavesAreNamed)
{
  made.agents[0].gfx_target_version = 100300;
  write();
  expect_in_order(core({"show", scratch / "core"}).out,
                  {"left out:", "waves", "cannot be read: gfx1030",
                   "debuggers:", "its queues are not shown: gfx1030"});
}

TEST_F(CoreFile, JsonIsAsItsSchemaSays)
{
  const Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/core.schema.json")),
             fault = parse(slurp(RAWHAL_SOURCE_DIR "/docs/fault.schema.json"));
  made.add(scene::BUFFER, std::string(1 << 20, 'B'), CORE_BUFFER);
  write(bytes.size());
  const Outcome got = core({"show", "--json", "--all", scratch / "core"});
  const Json document = parse(got.out);
  ASSERT_TRUE(document) << got.out << got.err;
  EXPECT_EQ("", Violation(schema.get(), document.get()));
  EXPECT_EQ("", Violation(fault.get(), json_object_get(document.get(), "fault")));
  const json_t *waves = json_object_get(document.get(), "waves"), *wave = json_array_get(waves, 2);
  ASSERT_EQ(made.waves.size(), json_array_size(waves));
  EXPECT_EQ("vector_add", text_of(wave, "symbol"));
  EXPECT_EQ(7, number_of(wave, "queue"));
  EXPECT_EQ(0x53000203, json_integer_value(json_array_get(json_object_get(wave, "sgprs"), 3)));
  const json_t *row = json_array_get(json_object_get(wave, "vgprs"), 1);
  EXPECT_EQ(0x20109, json_integer_value(json_array_get(row, 9)));
}

TEST_F(CoreFile, ObjectsAndMemoryAreTakenOut)
{
  EXPECT_EQ(0, core({"extract", scratch / "core", scratch / "object", "--object", "1"}).status);
  EXPECT_EQ(made.bytes[0], slurp(scratch / "object"));
  struct stat facts;
  EXPECT_EQ(0, stat((scratch / "object").c_str(), &facts));
  EXPECT_EQ(0600u, facts.st_mode & 0777);
  expect_refusal(core({"extract", scratch / "core", scratch / "object", "--object", "1"}), 3,
                 "--force");
  expect_refusal(core({"extract", scratch / "core", scratch / "none", "--object", "2"}), 3,
                 "1 code objects");
  char address[32];
  snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(scene::KERNARG));
  const Outcome got = core({"extract", scratch / "core", "-", "--address", address, "--size", "9"});
  EXPECT_EQ("KKKKKKKKK", got.out) << got.err;
  expect_refusal(
      core({"extract", scratch / "core", scratch / "none", "--address", address, "--size", "8192"}),
      3, "the first 4096");
  EXPECT_NE(0, stat((scratch / "none").c_str(), &facts));
  EXPECT_EQ(0, core({"extract", scratch / "core", scratch / "object", "--force", "--address",
                     address, "--size", "4096"})
                   .status);
  EXPECT_EQ(std::string(4096, 'K'), slurp(scratch / "object"));
}

TEST_F(CoreFile, AnotherAbi)
{
  EXPECT_EQ(0, core({"--abi", "12", scratch / "core", scratch / "new"}).status);
  EXPECT_TRUE(contains(core({"show", scratch / "new"}).out, "r_version 12, for ROCm of 2026"));
  EXPECT_EQ(bytes, slurp(scratch / "core"));
  expect_refusal(core({"--abi", "13", scratch / "core", scratch / "other"}), 2, "8 to 12");
  spit(scratch / "text", std::string("text"));
  expect_refusal(core({"--abi", "12", scratch / "text", scratch / "other"}), 3, "not an ELF file");
}

// A file of a host alone is a core file of anybody; with that of its GPUs it is whole.
TEST_F(CoreFile, OfAHostAloneAndMerged)
{
  std::string host = bytes;
  const size_t note = host.find("AMDGPU");
  host[note] = 'X';
  for (size_t at; (at = host.find("RAWHAL")) != std::string::npos;)
    host[at] = 'X';
  spit(scratch / "host", host);
  const Outcome got = core({"show", scratch / "host"});
  EXPECT_EQ(0, got.status);
  expect_in_order(got.out, {"process 4242, not written by rawhal", "it does not say what failed",
                            "ROCgdb refuses the GPUs' part: there is no AMDGPU note"});
  EXPECT_EQ(0, core({"merge", scratch / "host", scratch / "core", scratch / "both"}).status);
  EXPECT_TRUE(contains(core({"show", scratch / "both"}).out, "vector_add+0x28"));
  for (size_t at; (at = bytes.find(std::string("CORE\0", 5))) != std::string::npos;)
    bytes[at] = 'X'; // its threads
  spit(scratch / "gpus", bytes);
  expect_in_order(core({"show", scratch / "gpus"}).out,
                  {"vector_add+0x28", "shows it once it is merged", "of GPUs alone"});
  EXPECT_EQ(
      0, core({"merge", scratch / "host", scratch / "gpus", scratch / "both", "--force"}).status);
  expect_refusal(core({"merge", scratch / "core", scratch / "core", scratch / "x"}), 3, "already");
  expect_refusal(core({"merge", scratch / "host", scratch / "host", scratch / "x"}), 3,
                 "no core file of GPUs");
}

TEST_F(CoreFile, TheCommandLine)
{
  for (const std::vector<std::string> &words :
       {std::vector<std::string>{},
        {"show"},
        {"show", "a", "b"},
        {"extract", "a", "b"},
        {"extract", "a", "b", "--object", "1", "--size", "2"},
        {"merge", "a", "b"},
        {"frob", "a"},
        {"--abi", "12", "a"},
        {"show", "--abi", "12", "a"},
        {"show", "--size", "x", "a"}}) {
    const Outcome got = core(words);
    EXPECT_EQ(2, got.status) << testing::PrintToString(words) << got.err;
  }
  expect_refusal(core({"show", scratch / "none"}), 3, "No such file");
}

TEST_F(CoreFile, NamesAreEscapedAndDamageIsNeverFatal)
{
  for (size_t at; (at = bytes.find("step 3")) != std::string::npos;)
    bytes.replace(at, 6, "\x1b[2J\x07\xff");
  spit(scratch / "core", bytes);
  const Outcome shown = core({"show", scratch / "core"});
  EXPECT_EQ(0, shown.status);
  EXPECT_EQ(std::string::npos, shown.out.find_first_of("\x1b\x07"));
  size_t turn = 0;
  for (size_t at = 60; at < bytes.size(); at += 1 + bytes.size() / 30, ++turn) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    spit(scratch / "core", turn % 4 ? damaged : damaged.substr(0, at));
    const Outcome got = core({"show", "--json", scratch / "core"});
    EXPECT_TRUE(got.status == 0 || got.status == 3) << at << got.err;
    EXPECT_TRUE(got.status == 3 || parse(got.out)) << at;
  }
}
