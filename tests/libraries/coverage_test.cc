// rawhal coverage: as a user meets it, and what it says about the libraries.
#include <gtest/gtest.h>
#include <jansson.h>

#include <algorithm>
#include <fstream>
#include <glob.h>
#include <iterator>

#include "tests/tools/process.h"

namespace {

const std::string tool = RAWHAL_TOOL;
const std::string fixtures = RAWHAL_SOURCE_DIR "/tests/fixtures/";

std::vector<std::string> matches(const std::string &pattern)
{
  std::vector<std::string> paths;
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return paths;
}

bool contains(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

struct Json {
  explicit Json(const std::string &text) : value(json_loads(text.c_str(), 0, nullptr)) {}
  ~Json() { json_decref(value); }
  json_int_t number(const char *key) const
  {
    return json_integer_value(json_object_get(value, key));
  }
  json_t *value;
};

// Everything of a file that softgpu executes is executed by it.
void expect_covered(const std::string &path, json_int_t least_instructions)
{
  Outcome got = run({tool, "coverage", "--json", path});
  EXPECT_EQ(0, got.status) << path << got.err << got.out;
  Json report(got.out);
  EXPECT_EQ(0, report.number("missing")) << path;
  EXPECT_LE(least_instructions, report.number("instructions")) << path;
}

TEST(Coverage, AKernelThatRuns)
{
  Outcome got = run({tool, "coverage", fixtures + "vector_add-gfx90a-v5.co"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "missing: 0\n")) << got.out;
  EXPECT_EQ("", got.err);
}

TEST(Coverage, BytesThatAreNoInstruction)
{
  const std::string path = fixtures + "illegal-gfx90a-v5.co";
  Outcome got = run({tool, "coverage", path});
  EXPECT_EQ(1, got.status);
  EXPECT_TRUE(contains(got.out, "unknown")) << got.out;
  EXPECT_EQ("", got.err);

  Outcome json = run({tool, "coverage", "--json", path});
  EXPECT_EQ(1, json.status);
  Json report(json.out);
  EXPECT_STREQ("rawhal-coverage-1", json_string_value(json_object_get(report.value, "schema")));
  EXPECT_LE(1, report.number("missing"));
  json_t *row = json_array_get(json_object_get(report.value, "rows"), 0);
  EXPECT_TRUE(json_is_null(json_object_get(row, "mnemonic")));
  EXPECT_TRUE(json_is_false(json_object_get(row, "known")));
  // The row says where, and the file has that word there.
  const std::string bytes = slurp(path);
  size_t offset = static_cast<size_t>(json_integer_value(json_object_get(row, "offset")));
  uint32_t word;
  ASSERT_LE(offset + 4, bytes.size());
  memcpy(&word, &bytes[offset], 4);
  EXPECT_EQ(word, json_integer_value(json_object_get(row, "word")));
}

TEST(Coverage, OnlyObjectsForTheTarget)
{
  Outcome all = run({tool, "coverage", "--json", fixtures + "vector_add.bundle"});
  Outcome one =
      run({tool, "coverage", "--json", "--target", "gfx942", fixtures + "vector_add.bundle"});
  EXPECT_EQ(2, Json(all.out).number("objects"));
  EXPECT_EQ(1, Json(one.out).number("objects"));
}

// A file of a chip that softgpu lists and does not execute: gfx906.
std::string of_another_chip()
{
  constexpr size_t FLAGS = 48; // e_flags, whose lowest byte is the chip
  std::ifstream in(fixtures + "vector_add-gfx90a-v5.co", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bytes.at(FLAGS) = 0x2f;
  const std::string path = testing::TempDir() + "vector_add-gfx906-v5.co";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(Coverage, Refusals)
{
  Outcome other = run({tool, "coverage", of_another_chip()});
  EXPECT_EQ(3, other.status);
  EXPECT_EQ("", other.out);
  EXPECT_TRUE(contains(other.err, "no")) << other.err;
  EXPECT_EQ(3, run({tool, "coverage", "/nonexistent"}).status);
  EXPECT_EQ(2, run({tool, "coverage"}).status);
  EXPECT_EQ(2, run({tool, "coverage", "--frob", "x"}).status);
  Outcome nowhere = run({tool, "coverage", fixtures + "vector_add-gfx90a-v5.co"},
                        {"RAWHAL_SOFTGPU_LIBRARY=/nonexistent"});
  EXPECT_EQ(3, nowhere.status);
  EXPECT_TRUE(contains(nowhere.err, "/nonexistent")) << nowhere.err;
}

TEST(Coverage, AllOfRocrand)
{
  auto paths = matches(RAWHAL_BUILD_DIR "/rocrand/usr/lib/*/librocrand.so.1.*");
  if (paths.empty())
    GTEST_SKIP() << "no librocrand below the build folder (./dev test fetches it)";
  expect_covered(paths[0], 100000);
}

TEST(Coverage, AllOfRocsparse)
{
  auto paths = matches(RAWHAL_BUILD_DIR "/rocsparse/usr/lib/*/librocsparse.so.0.*");
  if (paths.empty())
    GTEST_SKIP() << "no librocsparse below the build folder (./dev test --extended fetches it)";
  expect_covered(paths[0], 10000000);
}

// Kernels written by hand, in assembly.
TEST(Coverage, AiterOnGfx942)
{
  auto paths = matches(RAWHAL_CORPUS "/aiter/gfx942__*.co");
  if (paths.empty())
    GTEST_SKIP() << "no corpus at " RAWHAL_CORPUS;
  for (const std::string &path : paths)
    expect_covered(path, 100);
}

} // namespace
