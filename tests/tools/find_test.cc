// rawhal find: a kernel's code objects in files and folders.
#include "tests/tools/command.h"

#include "tests/hsaco/archive.h"
#include "tests/hsaco/carriers.h"

#include <sys/stat.h>
#include <unistd.h>

namespace {

const std::string v4 = fixtures + "vector_add-gfx90a-v4.co",
                  v5 = fixtures + "vector_add-gfx90a-v5.co",
                  v6 = fixtures + "vector_add-gfx942-v6.co",
                  ids = fixtures + "write_ids-gfx90a-v5.co";

class Find : public testing::Test {
protected:
  // A folder with a folder in it.
  void SetUp() override
  {
    mkdir((scratch / "lib").c_str(), 0755);
    mkdir((scratch / "lib/more").c_str(), 0755);
    spit(scratch / "lib/a.co", slurp(v5));
    spit(scratch / "lib/b.txt", "no code object");
    spit(scratch / "lib/more/c.a", build::ar_archive({{"d.co", slurp(v6)}, {"e.co", slurp(ids)}}));
    spit(scratch / "lib/more/f.co", slurp(v4));
  }

  // file:object of each line or element, without the folder.
  std::vector<std::string> found(const std::string &kernel, std::vector<std::string> more = {},
                                 int status = 0)
  {
    std::vector<std::string> words = {tool, "find", kernel, scratch / "lib", "--json"}, all;
    words.insert(words.end(), more.begin(), more.end());
    Outcome got = run(words);
    EXPECT_EQ(status, got.status) << got.err;
    document = parse(got.out);
    json_t *kernels = json_object_get(document.get(), "kernels");
    for (size_t i = 0; i < json_array_size(kernels); ++i) {
      json_t *one = json_array_get(kernels, i);
      all.push_back(text_of(one, "file").substr((scratch / "lib/").size()) + ":" +
                    std::to_string(number_of(one, "object")));
    }
    return all;
  }

  Scratch scratch;
  Json document;
};

using Names = std::vector<std::string>;

TEST_F(Find, FoldersInOrderAndEveryCarrier)
{
  EXPECT_EQ(Names({"a.co:0", "more/c.a:0", "more/f.co:0"}), found("vector_add"));
  EXPECT_EQ(3, number_of(document.get(), "files"));
  EXPECT_EQ(4, number_of(document.get(), "objects"));
  EXPECT_EQ("d.co",
            text_of(json_array_get(json_object_get(document.get(), "kernels"), 1), "member"));
  EXPECT_EQ(Names({"a.co:0", "more/c.a:0", "more/f.co:0"}), found("vector_add.kd"));
  EXPECT_EQ(Names({"more/c.a:1"}), found("write_ids"));
  EXPECT_EQ(Names({"a.co:0", "more/f.co:0"}), found("vector_add", {"--target", "gfx90a"}));
  Outcome text = run({tool, "find", "write_ids", scratch / "lib"});
  EXPECT_EQ(0, text.status);
  EXPECT_EQ(1u, lines(text.out));
  EXPECT_TRUE(contains(text.out, "more/c.a: object 1, gfx90a, member e.co: write_ids, "))
      << text.out;
}

// Where each object is, as inspect has it; of one that was unpacked, where its compressed bytes are.
TEST_F(Find, PlacesAreThoseOfTheFiles)
{
  spit(scratch / "lib/more/g.kpack", build::archive({{"lib#0", "gfx90a", slurp(v5)}}, true));
  ASSERT_EQ(4u, found("vector_add").size());
  const std::string expected[] = {slurp(v5), slurp(v6), slurp(v4), ""};
  for (size_t i = 0; i < std::size(expected); ++i) {
    json_t *one = json_array_get(json_object_get(document.get(), "kernels"), i);
    const std::string file = slurp(text_of(one, "file"));
    const size_t offset = static_cast<size_t>(number_of(one, "offset"));
    EXPECT_EQ(expected[i].empty(), json_is_true(json_object_get(one, "unpacked")));
    if (expected[i].empty()) {
      EXPECT_TRUE(json_is_null(json_object_get(one, "uri")));
      EXPECT_EQ(static_cast<long long>(slurp(v5).size()), number_of(one, "size"));
      EXPECT_EQ("\x28\xb5\x2f\xfd", file.substr(offset, 4));
      continue;
    }
    EXPECT_EQ(expected[i], file.substr(offset, static_cast<size_t>(number_of(one, "size"))));
    EXPECT_EQ(expected[i], behind(text_of(one, "uri")));
  }
}

TEST_F(Find, Patterns)
{
  EXPECT_EQ(4u, found("*").size());
  EXPECT_EQ(Names({"more/c.a:1"}), found("w?ite_[a-z]*"));
  EXPECT_EQ(3u, found("vector*.kd").size());
  EXPECT_EQ(0u, found("vector", {}, 1).size()); // a name is a name
}

// The signature says which of them take the same blob: those of inspect.
TEST_F(Find, SignaturesAreThoseOfInspect)
{
  Json inspected = parse(run({tool, "inspect", "--json", v4}).out);
  json_t *kernel = json_array_get(
      json_object_get(json_array_get(json_object_get(inspected.get(), "objects"), 0), "kernels"),
      0);
  std::string expected = text_of(json_object_get(kernel, "kernarg"), "signature");
  ASSERT_EQ(16u, expected.size());
  ASSERT_EQ(3u, found("vector_add").size());
  json_t *kernels = json_object_get(document.get(), "kernels");
  EXPECT_EQ(expected, text_of(json_array_get(kernels, 2), "signature"));
  EXPECT_NE(expected,
            text_of(json_array_get(kernels, 0), "signature")); // V5 has other hidden arguments
}

TEST_F(Find, TheSchemaHoldsEveryKey)
{
  found("*");
  Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/find.schema.json"));
  expect_described(document.get(), schema.get());
  json_t *kernels = json_object_get(document.get(), "kernels");
  expect_described(json_array_get(kernels, 0),
                   json_object_get(json_object_get(schema.get(), "$defs"), "kernel"));
  EXPECT_EQ("rawhal-find-1", text_of(document.get(), "schema"));
}

TEST_F(Find, WhatIsRefusedIsSaidAndTheRestIsListed)
{
  std::string damaged = slurp(v5);
  damaged.resize(damaged.size() / 2);
  spit(scratch / "lib/damaged.co", damaged);
  ASSERT_EQ(0, symlink("/etc", (scratch / "lib/etc").c_str())); // not followed
  Outcome got = run({tool, "find", "vector_add", scratch / "lib", scratch / "missing"});
  EXPECT_EQ(3, got.status);
  EXPECT_EQ(3u, lines(got.out)) << got.out;
  EXPECT_EQ(2u, lines(got.err)) << got.err;
  EXPECT_TRUE(contains(got.err, "lib/damaged.co: ")) << got.err;
  EXPECT_TRUE(contains(got.err, "missing: No such file or directory")) << got.err;
}

TEST_F(Find, RefusesInOneLine)
{
  expect_refusal(run({tool, "find", "nobody", scratch / "lib"}), 1,
                 "no kernel 'nobody' in 4 code objects of 3 files");
  expect_refusal(run({tool, "find", "write_id", scratch / "lib"}), 1,
                 "of 3 files; nearest: 'write_ids'");
  expect_refusal(run({tool, "find", "vector_add", scratch / "lib/b.txt"}), 3,
                 "neither a code object nor a known container");
  expect_refusal(run({tool, "find", "vector_add"}), 2, "expected KERNEL and at least one PATH");
  expect_refusal(run({tool, "find", "a", "b", "--target", "gfx"}), 2, "--target");
  expect_refusal(run({tool, "find", "a", "b", "--nope"}), 2, "unknown option '--nope'");
}

TEST_F(Find, SeveralOfOneName)
{
  build::Object object;
  object.kernels = {build::plain_kernel("k"), build::plain_kernel("k")};
  object.kernels[0].symbol = "first.kd";
  object.kernels[1].symbol = "second.kd";
  spit(scratch / "lib/two.co", object.build());
  EXPECT_EQ(2u, found("k").size());
  EXPECT_EQ(1u, found("second.kd").size());
}

} // namespace
