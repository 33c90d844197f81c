// What `rawhal run` writes and reports: files looked at before anything runs, repeated launches, JSON.
#include "tests/tools/command.h"

#include <cstring>

#include <sys/stat.h>
#include <sys/statvfs.h>

namespace {

const std::string vector_add = fixtures + "vector_add-gfx90a-v5.co";

// The kernel faults when it runs: a file that is refused was looked at before.
class Outputs : public testing::Test {
protected:
  Outcome write_to(const std::string &argument, const std::string &device = "softgpu",
                   const std::string &object = fixtures + "fault-gfx90a-v5.co")
  {
    return run({tool, "run", object, "--kernel", "fault_store", "--grid", "1", "--block", "1",
                argument, "i64:268435456", "u32:1"},
               {"RAWHAL_DEVICE=" + device});
  }
  Scratch scratch;
};

} // namespace

TEST_F(Outputs, AreLookedAtBeforeAnythingRuns)
{
  expect_refusal(write_to("out:" + (scratch / "c.bin") + ":4K"), 3,
                 "FAULT"); // as nothing holds it back
  struct stat facts;
  EXPECT_NE(0, stat((scratch / "c.bin").c_str(), &facts)); // and nothing is made
  expect_refusal(write_to("out:" + (scratch / "none/c.bin") + ":4K"), 3,
                 "NOT_FOUND: cannot write '" + (scratch / "none/c.bin") + "': its folder");
  expect_refusal(write_to("out:" + scratch.root + ":4K"), 3, "it is a directory");
  spit(scratch / "file", std::string("x"));
  expect_refusal(write_to("out:" + (scratch / "file/c.bin") + ":4K"), 3, "Not a directory");
  expect_refusal(write_to("out:" + (scratch / std::string(300, 'n')) + ":4K"), 3,
                 "File name too long");
  struct statvfs room;
  ASSERT_EQ(0, statvfs(scratch.root.c_str(), &room));
  if (room.f_bavail * room.f_frsize < 1ull << 40)
    expect_refusal(write_to("out:" + (scratch / "c.bin") + ":1024G"), 3,
                   " bytes are free, but it needs 1099511627776");
  const unsigned long long most =
      (room.f_bfree * room.f_frsize >> 10) / 3 * 2; // of which there is room for one
  if (most < 1ull << 30)
    expect_refusal(
        run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "1",
             "out:" + (scratch / "a") + ":" + std::to_string(most) + "K",
             "out:" + (scratch / "b") + ":" + std::to_string(most) + "K", "ptr:null", "u32:0"}),
        3, "but it and the files before it need " + std::to_string(most * 2048));
}

TEST_F(Outputs, AreLookedAtBeforeTheDevice)
{
  expect_refusal(write_to("out:" + (scratch / "c.bin") + ":4K", "abacus"), 3, "abacus");
  expect_refusal(write_to("out:" + (scratch / "none/c.bin") + ":4K", "abacus"), 3, "its folder");
}

TEST_F(Outputs, WhoMayNotWriteIsToldSo)
{
  ASSERT_EQ(0, mkdir((scratch / "closed").c_str(), 0555));
  spit(scratch / "theirs", std::string("x"));
  ASSERT_EQ(0, chmod((scratch / "theirs").c_str(), 0444));
  if (geteuid() == 0) { // may write anywhere but where nobody can
    expect_refusal(write_to("out:/proc/self/c.bin:4K"), 3, "/proc/self/c.bin");
    return;
  }
  expect_refusal(write_to("out:" + (scratch / "closed/c.bin") + ":4K"), 3, "Permission denied");
  expect_refusal(write_to("out:" + (scratch / "theirs") + ":4K"), 3, "Permission denied");
}

TEST_F(Outputs, GoToFilesOfTheirOwn)
{
  const std::string words[] = {"out:" + (scratch / "c.bin") + ":4K",
                               "out:" + (scratch / "c.bin") + ":8K"};
  expect_refusal(run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block",
                      "1", words[0], words[1], "ptr:null", "u32:0"}),
                 3, "are the same file");
  spit(scratch / "old", std::string("x"));
  ASSERT_EQ(0, symlink((scratch / "old").c_str(), (scratch / "other").c_str()));
  expect_refusal(run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block",
                      "1", "out:" + (scratch / "old") + ":4K", "out:" + (scratch / "other") + ":4K",
                      "ptr:null", "u32:0"}),
                 3, "are the same file");
  const std::string there = scratch.root, twice = there + "/./new";
  ASSERT_EQ(0, symlink("new", (scratch / "link").c_str())); // leads to what is not there yet
  for (const std::string &second : {twice, scratch / "link"})
    expect_refusal(
        run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "1",
             "out:" + (scratch / "new") + ":4K", "out:" + second + ":4K", "ptr:null", "u32:0"}),
        3, "are the same file");
  ASSERT_EQ(0, symlink("/nonexistent/new", (scratch / "astray").c_str()));
  ASSERT_EQ(0, symlink("round", (scratch / "round").c_str()));
  expect_refusal(write_to("out:" + (scratch / "astray") + ":4K"), 3,
                 "its folder '/nonexistent': No such file");
  expect_refusal(write_to("out:" + (scratch / "round") + ":4K"), 3,
                 "Too many levels of symbolic links");
  const std::string object = scratch / "k.co", bytes = slurp(fixtures + "fault-gfx90a-v5.co");
  spit(object, bytes);
  expect_refusal(write_to("out:" + object + ":4K", "softgpu", object), 3,
                 "would overwrite the file of the kernel");
  EXPECT_EQ(bytes, slurp(object));
}

TEST_F(Outputs, DevicesTakeWhatTheyAreGiven)
{
  EXPECT_EQ(0, run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block",
                    "1", "out:/dev/null:4K", "out:/dev/null:4K", "ptr:zero:64", "u32:1"},
                   {"RAWHAL_DEVICE=softgpu"})
                   .status);
  for (const char *place : {"/dev/null", "/dev/full"}) {
    const Outcome got =
        run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "1",
             std::string("out:") + place + ":4K", "ptr:zero:64", "ptr:zero:64", "u32:1"},
            {"RAWHAL_DEVICE=softgpu"});
    EXPECT_EQ(place == std::string("/dev/null") ? 0 : 3, got.status) << got.err;
  }
}

TEST_F(Outputs, BuffersFitTheDevice)
{
  const Outcome got =
      run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "1",
           "ptr:zero:200M", "ptr:zero:200M", "ptr:zero:200M", "u32:1"},
          {"RAWHAL_DEVICE=softgpu", "SOFTGPU_VRAM_MIB=512"});
  expect_refusal(got, 3,
                 "OUT_OF_MEMORY: the buffers of the arguments need 629145600 bytes, but only ");
}

// ---- Launches ----

namespace {

// One work-item adds to the first dword of the buffer.
std::vector<std::string> add_once(const std::string &from, const std::string &to,
                                  const std::vector<std::string> &options)
{
  std::vector<std::string> words = {tool,       "run",          fixtures + "fault-gfx90a-v5.co",
                                    "--kernel", "fault_atomic", "--grid",
                                    "1",        "--block",      "1",
                                    "--device", "softgpu"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"inout:" + from + ":" + to, "u64:0"});
  return words;
}

uint32_t first_word(const std::string &path)
{
  uint32_t value = 0;
  const std::string bytes = slurp(path);
  EXPECT_EQ(64u, bytes.size());
  memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

} // namespace

TEST(Repeat, LeavesWhatOneLaunchDoes)
{
  Scratch scratch;
  unsigned char bytes[64] = {41};
  spit(scratch / "in", bytes, sizeof(bytes));
  Outcome got = run(add_once(scratch / "in", scratch / "once", {}));
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, " ms from submit to completion, ")) << got.out;
  EXPECT_FALSE(contains(got.out, "launches"));
  EXPECT_NE(41u, first_word(scratch / "once")); // the kernel adds something
  got = run(add_once(scratch / "in", scratch / "often", {"--repeat", "5"}));
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_EQ(first_word(scratch / "once"), first_word(scratch / "often"));
  EXPECT_TRUE(contains(got.out, "\nlaunches  5\ntime      least ")) << got.out;
  EXPECT_TRUE(contains(got.out, " ms on the device\n")) << got.out;
}

TEST(Repeat, WrongNumbers)
{
  for (const char *number : {"0", "-1", "1000001", "x", ""})
    expect_refusal(run(add_once("/dev/null", "/dev/null", {"--repeat", number})), 2, "--repeat");
}

// The times that are reported are those of all launches: the first, which loads, is the slowest or not.
TEST(RunJson, IsAsItsSchemaHasIt)
{
  Scratch scratch;
  unsigned char bytes[64] = {};
  spit(scratch / "in", bytes, sizeof(bytes));
  const Outcome got = run(add_once(scratch / "in", scratch / "out", {"--repeat", "7", "--json"}));
  ASSERT_EQ(0, got.status) << got.err;
  Json document = parse(got.out), schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/run.schema.json"));
  ASSERT_TRUE(document && schema) << got.out;
  const json_t *parts = json_object_get(schema.get(), "$defs");
  expect_described(document.get(), schema.get());
  EXPECT_EQ("rawhal-run-1", text_of(document.get(), "schema"));
  EXPECT_EQ("fault_atomic", text_of(document.get(), "kernel"));
  EXPECT_EQ(7, number_of(document.get(), "launches"));
  EXPECT_TRUE(json_is_true(json_object_get(document.get(), "software")));
  EXPECT_TRUE(json_is_null(json_object_get(document.get(), "loaded_as")));
  EXPECT_LT(4, number_of(document.get(), "instructions"));
  for (const char *key : {"wall_ns", "device_ns"}) {
    const json_t *times = json_object_get(document.get(), key);
    ASSERT_TRUE(json_is_object(times)) << key;
    expect_described(times, json_object_get(parts, "spread"));
    EXPECT_LT(0, number_of(times, "least"));
    EXPECT_LE(number_of(times, "least"), number_of(times, "median"));
    EXPECT_LE(number_of(times, "median"), number_of(times, "most"));
  }
  const json_t *written = json_object_get(document.get(), "written");
  ASSERT_EQ(1u, json_array_size(written));
  expect_described(json_array_get(written, 0), json_object_get(parts, "written"));
  EXPECT_EQ(scratch / "out", text_of(json_array_get(written, 0), "path"));
  EXPECT_EQ(64, number_of(json_array_get(written, 0), "bytes"));
  EXPECT_EQ(64u, slurp(scratch / "out").size());
}

TEST(RunJson, SaysNothingOfWhatFailed)
{
  const Outcome got = run({tool, "run", fixtures + "fault-gfx90a-v5.co", "--kernel", "fault_trap",
                           "--grid", "1", "--block", "1", "--json", "--repeat", "3", "u32:1"},
                          {"RAWHAL_DEVICE=softgpu"});
  expect_refusal(got, 3, "FAULT");
  EXPECT_EQ("", got.out);
}

// ---- Numbers ----

TEST(RunArguments, AreWhatTheTypeCanHold)
{
  auto with = [](const std::string &argument) {
    return run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "1",
                "--device", "softgpu", "ptr:zero:64", "ptr:zero:64", "ptr:zero:64", argument});
  };
  expect_refusal(with("u64: -1"), 2, "not an unsigned integer of 64 bits");
  expect_refusal(with("f32:1e39"), 2, "does not fit a number of 32 bits");
  expect_refusal(with("f64:-1e309"), 2, "does not fit a number of 64 bits");
  for (const char *number : {"f32:inf", "f32:1e-60"})
    EXPECT_EQ(0, with(number).status) << number;
  expect_refusal(
      run({tool, "run", vector_add, "--kernel", "vector_add", "--grid", " -1", "--block", "1"}), 2,
      "--grid: expected X[,Y,Z], got ' -1'");
}
