// rawhal inspect of files and folders: a line for each code object.
#include "tests/tools/command.h"

#include "tests/extended.h"
#include "tests/hsaco/archive.h"
#include "tests/hsaco/carriers.h"
#include "tests/hsaco/host.h"

#include <climits>
#include <cstdlib>
#include <unistd.h>

#include <sys/stat.h>

namespace {

const std::string v5 = fixtures + "vector_add-gfx90a-v5.co",
                  v6 = fixtures + "vector_add-gfx942-v6.co",
                  externals = fixtures + "externals-gfx90a-v5.co";

class List : public testing::Test {
protected:
  void SetUp() override
  {
    mkdir((scratch / "lib").c_str(), 0755);
    mkdir((scratch / "lib/more #1").c_str(), 0755);
    spit(scratch / "lib/a.co", slurp(v5));
    spit(scratch / "lib/b.txt", "no code object");
    spit(scratch / "lib/c.kpack", build::archive({{"lib#0", "gfx90a", slurp(v5)}}, true));
    const std::string packed = build::archive({{"lib#0", "gfx942", slurp(v6)}}, false);
    spit(scratch / "lib/more #1/d.a",
         build::ar_archive({{"x.o", packed}, {"e.co", slurp(externals)}}));
    spit(scratch / "lib/more #1/f.bundle",
         build::bundle({{"hip-spirv64-amd-amdhsa--amdgcnspirv", "\x03\x02\x23\x07"},
                        {"hipv4-amdgcn-amd-amdhsa--gfx942", slurp(v6)}}));
  }

  Json list(std::vector<std::string> words, int status = 0)
  {
    words.insert(words.begin(), {tool, "inspect", "--json"});
    Outcome got = run(words);
    EXPECT_EQ(status, got.status) << got.err;
    return parse(got.out);
  }

  static json_t *objects(const Json &document)
  {
    return json_object_get(document.get(), "objects");
  }

  Scratch scratch;
};

TEST_F(List, EveryObjectOfEveryFileInOrder)
{
  Json document = list({scratch / "lib"});
  const struct {
    const char *file, *target, *member, *id;
    long long index;
    std::string bytes; // empty: unpacked
  } expected[] = {
      {"a.co", "gfx90a", "", "", 0, slurp(v5)},
      {"c.kpack", "gfx90a", "", "gfx90a", 0, ""},
      {"more #1/d.a", "gfx942", "x.o", "gfx942", 0, slurp(v6)},
      {"more #1/d.a", "gfx90a", "e.co", "", 1, slurp(externals)},
      {"more #1/f.bundle", "", "", "hip-spirv64-amd-amdhsa--amdgcnspirv", 0, "\x03\x02\x23\x07"},
      {"more #1/f.bundle", "gfx942", "", "hipv4-amdgcn-amd-amdhsa--gfx942", 1, slurp(v6)},
  };
  ASSERT_EQ(std::size(expected), json_array_size(objects(document)));
  for (size_t i = 0; i < std::size(expected); ++i) {
    json_t *one = json_array_get(objects(document), i);
    SCOPED_TRACE(expected[i].file);
    EXPECT_EQ(scratch / (std::string("lib/") + expected[i].file), text_of(one, "file"));
    EXPECT_EQ(expected[i].target, text_of(one, "target"));
    EXPECT_EQ(expected[i].member, text_of(one, "member"));
    EXPECT_EQ(expected[i].id, text_of(one, "bundle_id"));
    EXPECT_EQ(expected[i].index, number_of(one, "object"));
    EXPECT_EQ(expected[i].bytes.empty(), json_is_true(json_object_get(one, "unpacked")));
    if (expected[i].bytes.empty())
      EXPECT_TRUE(json_is_null(json_object_get(one, "uri")));
    else
      EXPECT_EQ(expected[i].bytes, behind(text_of(one, "uri")));
  }
  EXPECT_EQ(4, number_of(document.get(), "files"));
  EXPECT_EQ(0, number_of(document.get(), "refused"));
  json_t *spirv = json_array_get(objects(document), 4);
  EXPECT_TRUE(contains(text_of(spirv, "reason"), "SPIR-V"));
  EXPECT_TRUE(json_is_false(json_object_get(spirv, "opened")));
}

// A file by itself has the same places.
TEST_F(List, OfOneFileTheyAreTheSame)
{
  for (const char *name : {"a.co", "c.kpack", "more #1/d.a"}) {
    SCOPED_TRACE(name);
    Json one = list({scratch / "lib/" + name}), listed = list({"--list", scratch / "lib/" + name});
    ASSERT_EQ(json_array_size(objects(listed)), json_array_size(objects(one)));
    for (size_t i = 0; i < json_array_size(objects(one)); ++i)
      for (const char *key : {"offset", "size", "unpacked", "uri"})
        EXPECT_TRUE(json_equal(json_object_get(json_array_get(objects(one), i), key),
                               json_object_get(json_array_get(objects(listed), i), key)))
            << key;
  }
  Json bare = list({scratch / "lib/a.co"});
  EXPECT_EQ(slurp(v5), behind(text_of(json_array_get(objects(bare), 0), "uri")));
}

TEST_F(List, LinesSayTheSame)
{
  Outcome got = run({tool, "inspect", scratch / "lib"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(6u, lines(got.out)) << got.out;
  EXPECT_TRUE(contains(got.out, "lib/a.co: object 0, offset 0, " +
                                    std::to_string(slurp(v5).size()) +
                                    " bytes, gfx90a, 1 kernel, loadable\n"))
      << got.out;
  EXPECT_TRUE(contains(got.out, "not read: SPIR-V, not machine code\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "c.kpack: object 0, offset ")) << got.out;
}

// Two files, one file with --list, and what a selection leaves.
TEST_F(List, WhatIsAskedFor)
{
  EXPECT_EQ(2u, json_array_size(objects(list({v5, v6}))));
  EXPECT_EQ(1u, json_array_size(objects(list({"--list", v5}))));
  EXPECT_EQ(2u, json_array_size(objects(list({scratch / "lib", "--target", "gfx942"}))));
  EXPECT_EQ(4u, json_array_size(objects(list({scratch / "lib", "--kernel", "vector"}))));
  EXPECT_EQ(0u, json_array_size(objects(list({scratch / "lib", "--kernel", "nobody"}, 3))));
  expect_refusal(run({tool, "inspect", scratch / "lib", "--brief"}), 2, "--brief takes one FILE");
}

TEST_F(List, WhatIsRefusedIsSaidAndTheRestIsListed)
{
  std::string damaged = slurp(v5);
  damaged.resize(damaged.size() / 2);
  spit(scratch / "lib/damaged.co", damaged);
  Json document = list({scratch / "lib", scratch / "missing"}, 3);
  EXPECT_EQ(2, number_of(document.get(), "refused"));
  ASSERT_EQ(7u, json_array_size(objects(document)));
  json_t *one = json_array_get(objects(document), 2);
  EXPECT_EQ(scratch / "lib/damaged.co", text_of(one, "file"));
  EXPECT_TRUE(json_is_false(json_object_get(one, "opened")));
  EXPECT_FALSE(text_of(one, "reason").empty());
  Outcome got = run({tool, "inspect", scratch / "lib", scratch / "missing"});
  EXPECT_EQ(1u, lines(got.err)) << got.err;
  EXPECT_TRUE(contains(got.err, "missing: No such file or directory")) << got.err;
  mkdir((scratch / "empty").c_str(), 0755);
  expect_refusal(run({tool, "inspect", scratch / "empty"}), 3,
                 "no matching code object in 0 files");
}

// A library of many compressed bundles, as XLA and hipBLASLt have them: extended, 2.2 GiB and 4,500 objects. Memory is
// for one bundle and what is known of the objects.
TEST_F(List, LargeLibrariesTakeTheMemoryOfOneBundle)
{
  if (is_sanitized)
    GTEST_SKIP() << "sanitizers need more memory than is given here";
  const size_t bundles = is_lengthened() ? 45 : 5;
  const std::string object = slurp(v5) + std::string(500000, '\0');
  std::vector<build::BundleEntry> entries;
  for (size_t i = 0; i < 100; ++i)
    entries.push_back({"hipv4-amdgcn-amd-amdhsa--gfx90a", object});
  const std::string packed = build::ccob(2, 1, build::bundle(entries));
  std::string section;
  for (size_t i = 0; i < bundles; ++i) {
    section += packed;
    section.resize((section.size() + 4095) / 4096 * 4096);
  }
  spit(scratch / "large.so", host_file(section));
  // In KiB, libraries included: five bundles come to 256,000.
  Outcome got = run({"/bin/sh", "-c", "ulimit -v 220000 && exec \"$0\" inspect --list \"$1\"", tool,
                     scratch / "large.so"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(static_cast<long>(100 * bundles), std::count(got.out.begin(), got.out.end(), '\n'));
}

TEST_F(List, TheSchemaHoldsEveryKey)
{
  Json document = list({scratch / "lib", fixtures + "many_args-gfx90a-v5.co"});
  Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/list.schema.json"));
  expect_described(document.get(), schema.get());
  for (size_t i = 0; i < json_array_size(objects(document)); ++i)
    expect_described(json_array_get(objects(document), i),
                     json_object_get(json_object_get(schema.get(), "$defs"), "object"));
  EXPECT_EQ("rawhal-list-1", text_of(document.get(), "schema"));
}

} // namespace
