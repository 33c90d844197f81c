// `rawhal run` on the software GPU: results, and every way to get it wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/hsaco/builder.h"
#include "tests/tools/process.h"

static const std::string tool = RAWHAL_TOOL;
static const std::string fixtures = RAWHAL_SOURCE_DIR "/tests/fixtures/";
static const std::string vector_add = fixtures + "vector_add-gfx90a-v5.co";

static Outcome rawhal_run(std::vector<std::string> words,
                          const std::vector<std::string> &environment = {"RAWHAL_DEVICE=softgpu"})
{
  std::vector<std::string> line = {tool, "run"};
  line.insert(line.end(), words.begin(), words.end());
  return run(line, environment);
}

static void expect_refusal(const Outcome &got, const std::vector<std::string> &words,
                           int status = 3)
{
  EXPECT_EQ(status, got.status) << got.err;
  for (const std::string &word : words)
    EXPECT_NE(std::string::npos, got.err.find(word)) << "'" << word << "' is not in: " << got.err;
  EXPECT_EQ(status == 2 ? 2 : 1, std::count(got.err.begin(), got.err.end(), '\n')) << got.err;
}

class Sums : public ::testing::Test {
protected:
  void SetUp() override
  {
    for (int i = 0; i < count; ++i) {
      a[i] = 0.25f * static_cast<float>(i);
      b[i] = 100.0f - static_cast<float>(i);
    }
    spit(scratch / "a.bin", a, sizeof(a));
    spit(scratch / "b.bin", b, sizeof(b));
  }

  void expect_sums(const std::string &path)
  {
    std::string bytes = slurp(path);
    ASSERT_EQ(sizeof(float) * count, bytes.size());
    float c[count];
    memcpy(c, bytes.data(), sizeof(c));
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(a[i] + b[i], c[i]) << i;
  }

  static const int count = 1000; // the last work-group is partial
  float a[count], b[count];
  Scratch scratch;
};

// ---- What kernels ask of the host ----

TEST(Services, WhatKernelsPrintIsPrinted)
{
  const std::string printf = fixtures + "printf-gfx90a-v5.co";
  Outcome text = rawhal_run({printf, "--kernel", "printf_ids", "--grid", "1", "--block", "2"});
  EXPECT_EQ(0, text.status) << text.err;
  Outcome json =
      rawhal_run({printf, "--kernel", "printf_ids", "--grid", "1", "--block", "2", "--json"});
  EXPECT_EQ(0, json.status) << json.err;
  EXPECT_EQ('{', json.out[0]) << "what is printed stands before the document";
  EXPECT_FALSE(json.err.empty());
  EXPECT_EQ(0u, text.out.find(json.err.substr(0, json.err.find('\n')))) << text.out << json.err;
}

TEST(Services, ManagedVariablesHaveStorage)
{
  Scratch scratch;
  Outcome got = rawhal_run({fixtures + "managed-gfx90a-v5.co", "--kernel", "use_managed", "--grid",
                            "1", "--block", "1", "out:" + (scratch / "o") + ":4"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(std::string("\x2a\0\0\0", 4), slurp(scratch / "o"));
}

TEST(Services, ClustersCannotBeHad)
{
  Scratch scratch;
  build::Object object;
  object.kernels = {build::plain_kernel("k")};
  object.kernels[0].more = {{".cluster_dims", build::Pack().numbers({2, 1, 1}).bytes}};
  object.build();
  spit(scratch / "c.co", object.bytes.data(), object.bytes.size());
  Outcome shown = run({tool, "inspect", scratch / "c.co"});
  EXPECT_NE(std::string::npos, shown.out.find("in clusters of 2x1x1")) << shown.out;
  expect_refusal(rawhal_run({scratch / "c.co", "--kernel", "k", "--grid", "1", "--block", "1",
                             "out:" + (scratch / "o") + ":64", "u32:1"}),
                 {"clusters of 2x1x1"});
}

TEST_F(Sums, FromFilesToFile)
{
  Outcome got = rawhal_run({vector_add, "--kernel", "vector_add", "--grid", "4", "--block", "256",
                            "out:" + (scratch / "c.bin") + ":4000", "ptr:" + (scratch / "a.bin"),
                            "ptr:" + (scratch / "b.bin"), "u32:1000"});
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_NE(std::string::npos, got.out.find("software")) << got.out;
  expect_sums(scratch / "c.bin");
}

TEST_F(Sums, SayWhenNobodyAskedForSoftware)
{
  if (!access("/dev/kfd", F_OK))
    GTEST_SKIP() << "this machine has /dev/kfd";
  std::vector<std::string> command = {vector_add,
                                      "--kernel",
                                      "vector_add",
                                      "--grid",
                                      "4",
                                      "--block",
                                      "256",
                                      "out:" + (scratch / "c.bin") + ":4000",
                                      "ptr:" + (scratch / "a.bin"),
                                      "ptr:" + (scratch / "b.bin"),
                                      "u32:1000"};
  Outcome got = rawhal_run(command, {});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_NE(std::string::npos, got.out.find("warning   there is no /dev/kfd")) << got.out;
  EXPECT_NE(std::string::npos, got.out.find("RAWHAL_DEVICE=hsa")) << got.out;
  command.insert(command.end(), {"--device", "softgpu"});
  got = rawhal_run(command, {});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(std::string::npos, got.out.find("warning")) << got.out;
}

TEST_F(Sums, PartialGroupsOutOfABundle)
{
  Outcome got =
      rawhal_run({fixtures + "vector_add.bundle", "--kernel", "vector_add.kd", "--items", "1000",
                  "--block", "64", "out:" + (scratch / "c.bin") + ":4000",
                  "ptr:" + (scratch / "a.bin"), "ptr:" + (scratch / "b.bin"), "u32:1000"});
  ASSERT_EQ(0, got.status) << got.err;
  expect_sums(scratch / "c.bin");
}

TEST_F(Sums, InPlace)
{
  Outcome got = rawhal_run({vector_add, "--kernel", "vector_add", "--grid", "1", "--block", "4",
                            "inout:" + (scratch / "a.bin") + ":" + (scratch / "c.bin"),
                            "ptr:" + (scratch / "a.bin"), "ptr:" + (scratch / "b.bin"), "u32:2"});
  ASSERT_EQ(0, got.status) << got.err;
  std::string bytes = slurp(scratch / "c.bin");
  float c[3];
  memcpy(c, bytes.data(), sizeof(c));
  EXPECT_EQ(a[0] + b[0], c[0]);
  EXPECT_EQ(a[1] + b[1], c[1]);
  EXPECT_EQ(a[2], c[2]);
}

static std::vector<std::string> launch(const std::string &file, const std::string &kernel,
                                       std::vector<std::string> arguments)
{
  std::vector<std::string> words = {file, "--kernel", kernel, "--grid", "1", "--block", "1"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

TEST(Refusals, Files)
{
  expect_refusal(rawhal_run(launch("/nonexistent.co", "k", {})), {"NOT_FOUND", "/nonexistent.co"});
  expect_refusal(rawhal_run(launch(fixtures + "README.md", "k", {})), {"MALFORMED"});
  expect_refusal(rawhal_run(launch(fixtures + "vector_add-gfx1030-v5.co", "vector_add", {})),
                 {"TARGET_MISMATCH", "gfx1030"});
  expect_refusal(rawhal_run(launch(vector_add, "vector_sub", {})), {"NOT_FOUND", "vector_sub"});
}

TEST(Refusals, Arguments)
{
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"u32:1"})),
                 {"takes 4 arguments, 1 given"});
  expect_refusal(rawhal_run(launch(vector_add, "vector_add",
                                   {"ptr:zero:64", "ptr:zero:64", "ptr:zero:64", "u64:5"})),
                 {"takes 4 bytes", "u64:5"});
  expect_refusal(rawhal_run(launch(vector_add, "vector_add",
                                   {"ptr:zero:64", "ptr:zero:64", "ptr:zero:64", "ptr:zero:64"})),
                 {"is not a pointer"});
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"q32:1"})), {"q32:1"}, 2);
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"u32:4294967296"})), {"4294967296"},
                 2);
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"i8:-129"})), {"-129"}, 2);
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"f32:one"})), {"one"}, 2);
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"ptr:/nonexistent"})),
                 {"NOT_FOUND", "/nonexistent"});
}

TEST(Refusals, Blobs)
{
  Scratch scratch;
  char blob[400] = {};
  spit(scratch / "short.bin", blob, 27);
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"blob:" + (scratch / "short.bin")})),
                 {"OUT_OF_RANGE", "27", "24..28"});
  spit(scratch / "long.bin", blob, sizeof(blob));
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {"blob:" + (scratch / "long.bin")})),
                 {"OUT_OF_RANGE", "400"});
}

TEST(Refusals, Geometry)
{
  auto with = [](const char *grid, const char *block) {
    return rawhal_run({vector_add, "--kernel", "vector_add", "--grid", grid, "--block", block,
                       "ptr:null", "ptr:null", "ptr:null", "u32:0"});
  };
  expect_refusal(with("0", "64"), {"--grid is 0"});
  expect_refusal(with("1", "64,0"), {"--block is 0"});
  expect_refusal(with("4294967295", "64"), {"overflows"});
  expect_refusal(with("18446744073709551615", "64"), {"overflows"});
  expect_refusal(with("1", "70000"), {"70000"});
  expect_refusal(with("1", "2048"), {"2048"});
  expect_refusal(rawhal_run({fixtures + "reduce-gfx90a-v5.co", "--kernel", "reduce", "--grid", "1",
                             "--block", "128", "ptr:zero:64", "ptr:zero:4096"}),
                 {"256"});
}

TEST(Refusals, Devices)
{
  if (access("/dev/kfd", F_OK)) {
    std::vector<std::string> hardware = launch(vector_add, "vector_add", {});
    hardware.insert(hardware.begin() + 1, {"--device", "hsa"});
    expect_refusal(rawhal_run(hardware), {"NOT_FOUND", "/dev/kfd"});
  }
  expect_refusal(rawhal_run(launch(vector_add, "vector_add", {}), {"RAWHAL_DEVICE=abacus"}),
                 {"RAWHAL_DEVICE", "abacus"});
}

struct Fault {
  const char *kernel;
  std::vector<std::string> arguments;
  std::vector<std::string> words; // of the report, beside the kernel's name
};

// Each faulting kernel is one line that names kernel, PC and address or bytes; none crashes or hangs.
TEST(Faults, EachIsReportedOnce)
{
  const std::string file = fixtures + "fault-gfx90a-v5.co";
  const Fault faults[] = {
      {"fault_store", {"ptr:zero:64", "i64:268435456", "u32:1"}, {"pc", "global_store", "0x"}},
      {"fault_load", {"ptr:zero:64", "ptr:zero:64", "i64:268435456"}, {"pc", "global_load", "0x"}},
      {"fault_scalar_load",
       {"ptr:zero:64", "ptr:zero:64", "i64:268435456"},
       {"pc", "s_load", "0x"}},
      {"fault_lds_store", {"ptr:zero:64", "u32:65536"}, {"pc", "ds_write"}},
      {"fault_atomic", {"ptr:zero:64", "u64:2"}, {"pc", "global_atomic_add"}},
      {"fault_scratch", {"ptr:zero:64", "i64:1000000"}, {"pc"}},
      {"fault_trap", {"u32:1"}, {"pc", "s_trap"}},
  };
  for (const Fault &fault : faults) {
    SCOPED_TRACE(fault.kernel);
    std::vector<std::string> words = fault.words;
    words.insert(words.end(), {"FAULT", fault.kernel});
    expect_refusal(rawhal_run(launch(file, fault.kernel, fault.arguments),
                              {"RAWHAL_DEVICE=softgpu", "SOFTGPU_CHECK_LDS=refuse"}),
                   words);
  }
  expect_refusal(rawhal_run(launch(fixtures + "illegal-gfx90a-v5.co", "illegal", {"ptr:zero:64"})),
                 {"FAULT", "illegal", "pc"});
}

TEST(Faults, HarmlessArgumentsDoNotFault)
{
  Outcome got = rawhal_run(
      launch(fixtures + "fault-gfx90a-v5.co", "fault_store", {"ptr:zero:64", "i64:3", "u32:1"}));
  EXPECT_EQ(0, got.status) << got.err;
  got = rawhal_run(
      launch(fixtures + "fault-gfx90a-v5.co", "fault_lds_store", {"ptr:zero:64", "u32:65536"}));
  EXPECT_EQ(0, got.status) << got.err; // beyond LDS, and nobody asked for the check
}

TEST(Faults, AKernelThatNeverEndsIsStopped)
{
  std::vector<std::string> words = launch(fixtures + "spin-gfx90a-v5.co", "spin", {"ptr:zero:64"});
  words.insert(words.end(), {"--timeout", "1"});
  expect_refusal(rawhal_run(words), {"spin", "pc", "1"});
}

TEST(Chips, WhatTheRuntimeDoesNotKnowIsRelabelledAndSaidSo)
{
  const std::string file = fixtures + "vector_add-gfx942-v6.co";
  std::vector<std::string> words =
      launch(file, "vector_add", {"ptr:zero:256", "ptr:zero:256", "ptr:zero:256", "u32:1"});
  expect_refusal(rawhal_run(words), {"TARGET_MISMATCH", "gfx942"});
  setenv("SOFTGPU_CHIP", "gfx942", 1);
  setenv("SOFTGPU_LISTED", "gfx90a", 1);
  Outcome got = rawhal_run(words);
  unsetenv("SOFTGPU_CHIP");
  unsetenv("SOFTGPU_LISTED");
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_NE(got.out.find("a gfx942 in software, listed as gfx90a"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("as gfx90a V5, which the runtime knows; the object is gfx942 V6"),
            std::string::npos)
      << got.out;
}

TEST(Descriptors, KernelsWithoutMetadataNeedTheirSize)
{
  Scratch scratch;
  unsigned char blob[16] = {};
  spit(scratch / "blob.bin", blob, sizeof(blob));
  const std::string file = fixtures + "bare-gfx90a-v5.co";
  expect_refusal(rawhal_run(launch(file, "bare_unsized", {"blob:" + (scratch / "blob.bin")})),
                 {"INVALID_ARGUMENT"});
  // With its size stated it runs, and stores through the null pointer in the blob.
  std::vector<std::string> words = launch(file, "bare_unsized", {"blob:" + (scratch / "blob.bin")});
  words.insert(words.end(), {"--kernarg-size", "12"});
  expect_refusal(rawhal_run(words), {"FAULT", "bare_unsized", "global_store"});
}
